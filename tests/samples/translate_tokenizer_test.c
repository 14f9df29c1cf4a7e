#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "samples/translate/translate_tokenizer.h"

#define MODEL ETX_SOURCE "/samples/translate/model"

static int open_tokenizer(void** state) {
  static etx_translate_tokenizer tokenizer;
  etx_diag diag;
  etx_diag_init(&diag);
  if (etx_translate_tokenizer_open(&tokenizer, MODEL "/vocab.txt", &diag) != ETX_OK) {
    print_error("%s\n", diag.text);
    return -1;
  }
  *state = &tokenizer;
  return 0;
}

static int close_tokenizer(void** state) {
  etx_translate_tokenizer_close(*state);
  return 0;
}

// Reads "5 7 0" into `ids`.
static size_t read_ids(const char* text, int64_t* ids, size_t capacity) {
  size_t count = 0;
  char* end = NULL;
  while (count < capacity) {
    const int64_t id = strtoll(text, &end, 10);
    if (end == text) break;
    ids[count++] = id;
    text = end;
  }
  return count;
}

static void every_recorded_text_has_the_expected_ids(void** state) {
  const etx_translate_tokenizer* const tokenizer = *state;
  FILE* const file = fopen(MODEL "/tokens.tsv", "rb");
  char line[4096];
  size_t lines = 0;
  assert_non_null(file);
  while (fgets(line, sizeof line, file) != NULL) {
    char* const tab = strrchr(line, '\t');
    assert_non_null(tab);
    int64_t expected[256];
    int64_t found[256];
    const size_t expected_count = read_ids(tab + 1, expected, 256);
    const etx_text text = {line, (size_t)(tab - line)};
    const size_t count = etx_translate_tokenizer_encode(tokenizer, text, found, 256);
    if (count != expected_count ||
        memcmp(found, expected, count * sizeof *found) != 0) {
      fail_msg("line %zu: '%.*s'", lines + 1, (int)text.size, text.data);
    }
    ++lines;
  }
  fclose(file);
  assert_int_equal(lines, 579);
}

static void every_recorded_answer_decodes_to_its_text(void** state) {
  const etx_translate_tokenizer* const tokenizer = *state;
  FILE* const file = fopen(MODEL "/test.tsv", "rb");
  char line[4096];
  size_t lines = 0;
  assert_non_null(file);
  while (fgets(line, sizeof line, file) != NULL) {
    // English, reference, answer, ids of the answer
    char* const ids_at = strrchr(line, '\t');
    *ids_at = '\0';
    const char* const answer = strrchr(line, '\t') + 1;
    int64_t ids[256];
    char text[1024];
    const size_t count = read_ids(ids_at + 1, ids, 256);
    etx_translate_tokenizer_decode(tokenizer, ids, count, text, sizeof text);
    assert_string_equal(text, answer);
    ++lines;
  }
  fclose(file);
  assert_int_equal(lines, 500);
}

static void ids_beyond_the_capacity_are_counted(void** state) {
  const etx_translate_tokenizer* const tokenizer = *state;
  int64_t ids[2] = {-1, -1};
  const size_t count =
      etx_translate_tokenizer_encode(tokenizer, etx_text_of("l'heure"), ids, 1);
  assert_int_equal(count, 5);
  assert_int_equal(ids[0], 270);
  assert_int_equal(ids[1], -1);
}

static void a_long_word_is_split_completely(void** state) {
  const etx_translate_tokenizer* const tokenizer = *state;
  char word[2000];
  int64_t ids[2001];
  memset(word, 'a', sizeof word);
  const etx_text text = {word, sizeof word};
  const size_t count = etx_translate_tokenizer_encode(tokenizer, text, ids, 2001);
  assert_int_equal(count, 2001);
  assert_int_equal(ids[0], 19);
  assert_int_equal(ids[1], 70);
  assert_int_equal(ids[1999], 70);
  assert_int_equal(ids[2000], 0);
}

static void invalid_utf8_gives_unknown_tokens(void** state) {
  const etx_translate_tokenizer* const tokenizer = *state;
  int64_t ids[8];
  const etx_text text = {"\xff\xfe", 2};
  const size_t count = etx_translate_tokenizer_encode(tokenizer, text, ids, 8);
  assert_int_equal(count, 4);
  assert_int_equal(ids[1], 1);
  assert_int_equal(ids[2], 1);
}

static void decoding_never_writes_past_its_capacity(void** state) {
  const etx_translate_tokenizer* const tokenizer = *state;
  const int64_t ids[] = {270, 77, -5, 463, 1000000, 74, 0};
  char text[8] = "xxxxxxx";
  assert_int_equal(etx_translate_tokenizer_decode(tokenizer, ids, 7, text, 4), 3);
  assert_string_equal(text, "l'h");
  assert_int_equal(text[4], 'x');
}

static void a_missing_vocabulary_is_refused(void** state) {
  (void)state;
  etx_translate_tokenizer tokenizer;
  etx_diag diag;
  etx_diag_init(&diag);
  assert_int_equal(etx_translate_tokenizer_open(&tokenizer, MODEL "/none.txt", &diag),
                   ETX_HOST_FAILED);
  assert_non_null(strstr(diag.text, "none.txt"));
}

static void an_invalid_vocabulary_is_refused(void** state) {
  (void)state;
  etx_translate_tokenizer tokenizer;
  etx_diag diag;
  etx_diag_init(&diag);
  assert_int_equal(etx_translate_tokenizer_open(&tokenizer, MODEL "/test.tsv", &diag),
                   ETX_BAD_FILE);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_recorded_text_has_the_expected_ids),
      cmocka_unit_test(every_recorded_answer_decodes_to_its_text),
      cmocka_unit_test(ids_beyond_the_capacity_are_counted),
      cmocka_unit_test(a_long_word_is_split_completely),
      cmocka_unit_test(invalid_utf8_gives_unknown_tokens),
      cmocka_unit_test(decoding_never_writes_past_its_capacity),
      cmocka_unit_test(a_missing_vocabulary_is_refused),
      cmocka_unit_test(an_invalid_vocabulary_is_refused),
  };
  return cmocka_run_group_tests(tests, open_tokenizer, close_tokenizer);
}
