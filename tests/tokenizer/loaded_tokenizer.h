// A tokenizer in memory of its own, for tests. Every block has exactly the
// bytes that were asked for, so that a sanitizer sees each access outside.

#ifndef ETX_TESTS_TOKENIZER_LOADED_TOKENIZER_H
#define ETX_TESTS_TOKENIZER_LOADED_TOKENIZER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/assert_status.h"
#include "tokenizer/tokenizer.h"

typedef struct loaded_tokenizer {
  etx_tokenizer tokenizer;
  void* block;
  size_t bytes;
} loaded_tokenizer;

// Reads tests/data/tokenizers/<name><ending>; the caller frees it.
static inline etx_bytes_mut read_recorded(const char* name,
                                          const char* ending) {
  char path[512];
  snprintf(path, sizeof path, "%s/tokenizers/%s%s", ETX_TEST_DATA, name,
           ending);
  FILE* const file = fopen(path, "rb");
  assert_non_null(file);
  fseek(file, 0, SEEK_END);
  const size_t size = (size_t)ftell(file);
  rewind(file);
  etx_bytes_mut bytes = {malloc(size), size};
  assert_non_null(bytes.data);
  assert_int_equal(fread(bytes.data, 1, size, file), size);
  fclose(file);
  return bytes;
}

// The files of ETX_TOKENIZER_NAMES are in front of those of
// ETX_SENTENCE_PIECE_NAMES.
static inline const char* recorded_ending(size_t index) {
  static const char* const json[] = {ETX_TOKENIZER_NAMES};
  return index < sizeof json / sizeof *json ? ".json" : ".model";
}

// Loads a file; the caller frees `block` in any case.
static inline etx_status load_tokenizer(loaded_tokenizer* loaded,
                                        etx_bytes file, etx_diag* diag) {
  loaded->block = NULL;
  etx_status status = etx_tokenizer_needed(file, &loaded->bytes, diag);
  if (status != ETX_OK || loaded->bytes > (size_t)1 << 28) return status;
  loaded->block = malloc(loaded->bytes);
  assert_non_null(loaded->block);
  const etx_bytes_mut block = {loaded->block, loaded->bytes};
  return etx_tokenizer_init(&loaded->tokenizer, file, block, diag);
}

enum { OUTPUT_MAX = 4096 };

// Ids and spans of a text.
typedef struct test_encoding {
  uint32_t ids[OUTPUT_MAX];
  etx_token_span spans[OUTPUT_MAX];
  uint8_t types[OUTPUT_MAX];
  size_t count;
} test_encoding;

static inline etx_status encode_for_test(const loaded_tokenizer* loaded,
                                         etx_text text, bool special,
                                         size_t memory_bytes,
                                         test_encoding* out, etx_diag* diag) {
  const etx_encode_request request = {.text = text,
                                      .no_special_tokens = !special};
  etx_encode_output output = {out->ids, out->spans, out->types, OUTPUT_MAX, 0};
  etx_bytes_mut memory = {malloc(memory_bytes), memory_bytes};
  assert_non_null(memory.data);
  const etx_status status =
      etx_tokenizer_encode(&loaded->tokenizer, &request, memory, &output, diag);
  free(memory.data);
  out->count = output.count;
  return status;
}

#endif
