// Damaged tokenizers and texts. A file is refused or gives a tokenizer; either
// way nothing is accessed outside of the blocks, which a sanitizer checks, and
// every span lies in the text.

#include "tests/tokenizer/loaded_tokenizer.h"

static etx_diag diag;
static test_encoding encoding;

static const char* const names[] = {ETX_TOKENIZER_NAMES,
                                    ETX_SENTENCE_PIECE_NAMES};

#ifndef ETX_FUZZ_ROUNDS
enum { ETX_FUZZ_ROUNDS = 40 };  // for each tokenizer
#endif

static uint32_t random_state = 1;

static uint32_t draw(uint32_t below) {
  random_state = random_state * 1664525u + 1013904223u;
  return (uint32_t)((uint64_t)random_state * below >> 32);
}

static void draw_text(char* text, size_t size) {
  static const char* const parts[] = {"a",
                                      " ",
                                      "\n",
                                      "\xC3\xA9",
                                      "\xE2\x96\x81",
                                      "\xFF",
                                      "\xF0\x9F\x98\x80",
                                      "don't",
                                      "[MASK]",
                                      "\xCC\x81",
                                      "<0x41>",
                                      "\xE4\xB8\x96",
                                      "12",
                                      "##"};
  size_t at = 0;
  while (at < size) {
    const char* const part = parts[draw(sizeof parts / sizeof parts[0])];
    const size_t left = size - at, length = strlen(part);
    memcpy(text + at, part, length < left ? length : left);
    at += length < left ? length : left;
  }
}

// Changes some bytes, preferably into ones that JSON and numbers have.
static void damage(uint8_t* bytes, size_t size) {
  static const char likely[] = "0123456789\"[]{}:,\\ -truefalsnull.+*?()|p^$<>";
  for (uint32_t i = 0; i <= draw(4); ++i) {
    const uint32_t near = draw(2) == 0 ? 3000 : (uint32_t)size;
    const size_t at = draw(near < size ? near : (uint32_t)size);
    switch (draw(4)) {
      case 0:
        bytes[at] = (uint8_t)draw(256);
        break;
      case 1:
        bytes[at] ^= (uint8_t)(1u << draw(8));
        break;
      case 2:
        bytes[at] = (uint8_t)likely[draw(sizeof likely - 1)];
        break;
      default: {
        // A part of the file at another place.
        const size_t from = draw((uint32_t)size), length = draw(40);
        if (from + length <= size && at + length <= size) {
          memmove(bytes + at, bytes + from, length);
        }
      }
    }
  }
}

static void use(const loaded_tokenizer* loaded) {
  char text[200];
  const size_t size = draw(sizeof text);
  draw_text(text, size);
  const etx_text input = {text, size};
  const size_t needed = etx_tokenizer_encode_needed(&loaded->tokenizer, size);
  const size_t bytes = needed > (4 << 20) ? 4 << 20 : needed;
  etx_diag_init(&diag);
  const etx_status status =
      encode_for_test(loaded, input, draw(2) == 0, bytes, &encoding, &diag);
  if (status != ETX_OK) return;
  for (size_t i = 0; i < encoding.count; ++i) {
    assert_true(encoding.spans[i].begin <= encoding.spans[i].end);
    assert_true(encoding.spans[i].end <= size);
  }
  const size_t room = 1 << 18;
  const etx_bytes_mut memory = {malloc(room), room};
  const etx_decode_request request = {encoding.ids, encoding.count,
                                      draw(2) == 0};
  etx_text decoded = {NULL, 0};
  if (etx_tokenizer_decode(&loaded->tokenizer, &request, memory, &decoded,
                           &diag) == ETX_OK) {
    assert_true(decoded.size <= room);
  }
  free(memory.data);
}

static void damaged_files_do_no_harm(void** state) {
  (void)state;
  size_t accepted = 0;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
    const etx_bytes_mut file = read_recorded(names[i], recorded_ending(i));
    for (int round = 0; round < ETX_FUZZ_ROUNDS; ++round) {
      loaded_tokenizer loaded;
      const size_t size = draw(50) == 0 ? draw((uint32_t)file.size) : file.size;
      uint8_t* const copy = malloc(size + 1);
      memcpy(copy, file.data, size);
      if (round > 0) damage(copy, size > 0 ? size : 1);
      etx_diag_init(&diag);
      const etx_status status =
          load_tokenizer(&loaded, (etx_bytes){copy, size}, &diag);
      free(copy);
      if (status == ETX_OK && loaded.block != NULL) {
        ++accepted;
        for (int text = 0; text < 10; ++text) use(&loaded);
      } else {
        assert_true(diag.status == status);
      }
      free(loaded.block);
    }
    free(file.data);
  }
  assert_true(accepted > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(damaged_files_do_no_harm)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
