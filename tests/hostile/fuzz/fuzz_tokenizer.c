// Tokenizers (tokenizer.json and SentencePiece models): loaded in exactly the
// memory that they need; then texts become ids and ids a text.

#include <stdlib.h>

#include "tests/hostile/fuzz/fuzz_target.h"
#include "tests/support/assert_message.h"
#include "tokenizer/tokenizer.h"

enum { MOST_BYTES = 1 << 22, MOST_IDS = 512 };

static void check(bool condition) {
  if (!condition) __builtin_trap();
}

static etx_bytes_mut take(size_t size) {
  const etx_bytes_mut block = {malloc(size == 0 ? 1 : size), size};
  if (block.data == NULL) abort();
  return block;
}

static void decode(const etx_tokenizer* tokenizer, const uint32_t* ids,
                   size_t count) {
  const size_t needed = etx_tokenizer_decode_needed(tokenizer, count);
  if (needed > MOST_BYTES) return;
  etx_diag diag;
  etx_text text = {NULL, 0};
  const etx_bytes_mut memory = take(needed);
  const etx_decode_request request = {ids, count, count % 2 == 0};
  etx_diag_init(&diag);
  if (etx_tokenizer_decode(tokenizer, &request, memory, &text, &diag) ==
      ETX_OK) {
    check(text.size <= memory.size);
  } else {
    check(test_has_message(&diag));
  }
  free(memory.data);
}

static void encode(const etx_tokenizer* tokenizer, etx_text text) {
  static uint32_t ids[MOST_IDS];
  static etx_token_span spans[MOST_IDS];
  static uint8_t types[MOST_IDS];
  const size_t needed = etx_tokenizer_encode_needed(tokenizer, text.size);
  if (needed > MOST_BYTES) return;
  etx_diag diag;
  const etx_bytes_mut memory = take(needed);
  const etx_encode_request request = {.text = text,
                                      .no_special_tokens = text.size % 2 == 0};
  etx_encode_output out = {ids, spans, types, MOST_IDS, 0};
  etx_diag_init(&diag);
  const etx_status status =
      etx_tokenizer_encode(tokenizer, &request, memory, &out, &diag);
  free(memory.data);
  if (status != ETX_OK) {
    check(test_has_message(&diag));
    return;
  }
  check(out.count <= MOST_IDS);
  for (size_t i = 0; i < out.count; ++i) {
    check(spans[i].begin <= spans[i].end && spans[i].end <= text.size);
  }
  decode(tokenizer, ids, out.count);
}

static void use(const etx_tokenizer* tokenizer) {
  static const char* const texts[] = {
      "",
      "Don't  say \xC3\xA9 or e\xCC\x81, 12 345!\n",
      " [MASK]<s>\xF0\x9F\x98\x80\xFF\xE2\x96\x81 \xE4\xB8\x96",
  };
  static const uint32_t numbers[] = {0, 1, 2, 3, 259, UINT32_MAX};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
    encode(tokenizer, etx_text_of(texts[i]));
  }
  decode(tokenizer, numbers, sizeof numbers / sizeof *numbers);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const etx_bytes file = {data, size};
  size_t needed = 0;
  etx_tokenizer tokenizer;
  etx_diag diag;
  etx_diag_init(&diag);
  etx_status status = etx_tokenizer_needed(file, &needed, &diag);
  etx_bytes_mut block = {NULL, needed};
  if (status == ETX_OK && needed > MOST_BYTES) return FUZZ_REFUSED;
  if (status == ETX_OK) {
    block = take(needed);
    status = etx_tokenizer_init(&tokenizer, file, block, &diag);
  }
  if (status == ETX_OK) {
    use(&tokenizer);
  } else {
    check(test_has_message(&diag));
  }
  free(block.data);
  return status == ETX_OK ? 0 : FUZZ_REFUSED;
}
