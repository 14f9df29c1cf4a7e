// Batches: answers do not depend on the other sentences of a batch, and beam
// search finds the answers of the transformers library.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "samples/translate/translate_batch.h"
#include "tests/cli/command.h"

#define ETX ETX_BINARY "/etx"
#define TRANSLATE ETX_BINARY "/translate"
#define MODEL ETX_SOURCE "/samples/translate/model"

#ifdef ETX_TEST_SANITIZED
enum { LINES = 20, BEAM_FILE_LINES = 6 };
#else
enum { LINES = 500, BEAM_FILE_LINES = 100 };
#endif
enum { PATH_BYTES = 256, BEAMS = 4 };

static char program[PATH_BYTES];
static char stock_program[PATH_BYTES];
static char small_program[PATH_BYTES];

static int plan_all(void** state) {
  if (command_set_up(state) != 0) return -1;
  snprintf(program, PATH_BYTES, "%s/batch.pte", command_directory);
  snprintf(stock_program, PATH_BYTES, "%s/stock.pte", command_directory);
  command_expect(0, WORDS(ETX, "plan", MODEL "/batch", "-o", program));
  snprintf(small_program, PATH_BYTES, "%s/small.pte", command_directory);
  command_expect(0, WORDS(ETX, "plan", MODEL "/batch", "-o", small_program,
                          "--quantize", "int8"));
  command_expect(0, WORDS(ETX, "plan", MODEL "/batch", "-o", stock_program,
                          "--target", "executorch"));
  return 0;
}

// Recorded sentences and their expected answers.
typedef struct recorded {
  etx_translator translator;
  etx_sentence sentences[LINES];
  char* ids[LINES];
  double scores[LINES];
  size_t count;
} recorded;

// Columns: English, reference, French, ids, and for beam search the score.
static void read_recorded(recorded* r, const char* model, const char* file,
                          size_t limit) {
  char line[4096];
  etx_diag diag;
  etx_diag_init(&diag);
  if (etx_translator_open(&r->translator, model, MODEL "/vocab.txt", NULL,
                          &diag) != ETX_OK) {
    fail_msg("%s: %s", model, diag.text);
  }
  FILE* const in = fopen(file, "rb");
  assert_non_null(in);
  for (r->count = 0; r->count < limit; ++r->count) {
    char* columns[5] = {line, "", "", "", "0"};
    if (fgets(line, sizeof line, in) == NULL) break;
    line[strcspn(line, "\n")] = '\0';
    for (size_t i = 1; i < 5; ++i) {
      char* const tab = strchr(columns[i - 1], '\t');
      if (tab == NULL) break;
      *tab = '\0';
      columns[i] = tab + 1;
    }
    assert_int_equal(etx_sentence_open(&r->sentences[r->count], &r->translator,
                                       etx_text_of(columns[0]), NULL),
                     ETX_OK);
    r->ids[r->count] = strdup(columns[3]);
    r->scores[r->count] = strtod(columns[4], NULL);
  }
  fclose(in);
  assert_int_equal(r->count, limit);
}

static void close_recorded(recorded* r) {
  for (size_t i = 0; i < r->count; ++i) {
    etx_sentence_close(&r->sentences[i]);
    free(r->ids[i]);
  }
  etx_translator_close(&r->translator);
}

static void translate(recorded* r, etx_search* search) {
  etx_diag diag;
  etx_diag_init(&diag);
  for (size_t i = 0; i < r->count; ++i) {
    free(r->sentences[i].target);
    r->sentences[i].target = NULL;
  }
  if (etx_translator_translate_all(&r->translator, r->sentences, r->count,
                                   search, &diag) != ETX_OK) {
    fail_msg("%s", diag.text);
  }
}

static bool has_ids(const recorded* r, size_t line) {
  const char* at = r->ids[line];
  bool is_same = true;
  for (size_t k = 0; k < r->sentences[line].target_count; ++k) {
    char* end;
    is_same &= strtoll(at, &end, 10) == r->sentences[line].target[k];
    is_same &= end != at;
    at = end;
  }
  return is_same && *at == '\0';
}

static void check_ids(const recorded* r) {
  size_t wrong = 0;
  for (size_t i = 0; i < r->count; ++i) {
    if (has_ids(r, i)) continue;
    print_error("line %zu: expected %s\n", i + 1, r->ids[i]);
    ++wrong;
  }
  assert_int_equal(wrong, 0);
}

static void every_line_gives_the_expected_ids(const char* model,
                                              size_t at_once) {
  static recorded r;
  etx_search search = {.beams = 1, .sentences = at_once};
  read_recorded(&r, model, MODEL "/test.tsv", LINES);
  translate(&r, &search);
  check_ids(&r);
  close_recorded(&r);
}

static void a_full_batch_gives_the_expected_ids(void** state) {
  (void)state;
  every_line_gives_the_expected_ids(program, 0);
}

static void a_partial_batch_gives_the_expected_ids(void** state) {
  (void)state;
  every_line_gives_the_expected_ids(program, 1);
  every_line_gives_the_expected_ids(program, 3);
  every_line_gives_the_expected_ids(program, 17);
}

static void a_program_for_executorch_supports_batches(void** state) {
  (void)state;
  every_line_gives_the_expected_ids(stock_program, 0);
}

// At least 99 of 100 tokens must be those of float32.
static void int8_weights_change_few_answers(void** state) {
  (void)state;
  static recorded r;
  size_t equal = 0;
  etx_search search = {.beams = 1};
  read_recorded(&r, small_program, MODEL "/test.tsv", LINES);
  translate(&r, &search);
  for (size_t i = 0; i < r.count; ++i) {
    char* at = r.ids[i];
    for (size_t k = 0; k < r.sentences[i].target_count && *at != '\0'; ++k) {
      equal += strtoll(at, &at, 10) == r.sentences[i].target[k];
    }
  }
  assert_true(equal * 100 >= search.counts.tokens * 99);
  close_recorded(&r);
}

static void beam_search_equals_that_of_transformers(void** state) {
  (void)state;
  static recorded r;
  etx_search search = {.beams = BEAMS};
  read_recorded(&r, program, MODEL "/beam4.tsv", BEAM_FILE_LINES);
  translate(&r, &search);
  check_ids(&r);
  for (size_t i = 0; i < r.count; ++i) {
    if (!(fabs(r.sentences[i].score - r.scores[i]) <= 1e-4)) {
      fail_msg("line %zu: score %.6f, expected %.6f", i + 1,
               r.sentences[i].score, r.scores[i]);
    }
  }
  close_recorded(&r);
}

// If both searches find the same answer, it has the same score.
static void greedy_search_has_scores(void** state) {
  (void)state;
  static recorded r;
  etx_search search = {.beams = 1, .scores = true};
  size_t equal = 0;
  read_recorded(&r, program, MODEL "/beam4.tsv", BEAM_FILE_LINES);
  translate(&r, &search);
  for (size_t i = 0; i < r.count; ++i) {
    if (!has_ids(&r, i)) continue;
    ++equal;
    if (!(fabs(r.sentences[i].score - r.scores[i]) <= 1e-4)) {
      fail_msg("line %zu: score %.6f, expected %.6f", i + 1,
               r.sentences[i].score, r.scores[i]);
    }
    assert_true(r.sentences[i].score < 0);
  }
  assert_true(2 * equal > r.count);
  close_recorded(&r);
}

// Larger matrix products use another reduction order, so scores may differ in
// their last digits; answers may not.
static void an_answer_does_not_depend_on_the_batch(void** state) {
  (void)state;
  static recorded r;
  static const size_t at_once[] = {1, 3, 0};
  double alone[BEAM_FILE_LINES];
  read_recorded(&r, program, MODEL "/beam4.tsv", BEAM_FILE_LINES);
  for (size_t i = 0; i < 3; ++i) {
    etx_search search = {.beams = BEAMS, .sentences = at_once[i]};
    translate(&r, &search);
    check_ids(&r);
    for (size_t k = 0; k < r.count; ++k) {
      if (i == 0) alone[k] = r.sentences[k].score;
      if (!(fabs(alone[k] - r.sentences[k].score) <= 1e-5)) {
        fail_msg("line %zu: score %.9f, alone %.9f", k + 1,
                 r.sentences[k].score, alone[k]);
      }
    }
  }
  close_recorded(&r);
}

// Rows of one call do not influence each other: a sentence has the same bits in
// any row.
static void a_sentence_has_the_same_bits_in_every_row(void** state) {
  (void)state;
  static recorded r;
  etx_search search = {.beams = BEAMS};
  read_recorded(&r, program, MODEL "/beam4.tsv", BEAM_FILE_LINES);
  for (size_t i = 1; i < r.count; ++i) {
    etx_sentence_close(&r.sentences[i]);
    assert_int_equal(
        etx_sentence_open(&r.sentences[i], &r.translator,
                          etx_text_of("it costs twenty-nine euros and "
                                      "twenty-five cents"),
                          NULL),
        ETX_OK);
  }
  translate(&r, &search);
  for (size_t i = 1; i < 8 && i < r.count; ++i) {
    assert_memory_equal(&r.sentences[0].score, &r.sentences[i].score,
                        sizeof(double));
  }
  close_recorded(&r);
}

static void reordered_beams_do_not_copy_their_caches(void** state) {
  (void)state;
  static recorded r;
  etx_search search = {.beams = BEAMS};
  read_recorded(&r, program, MODEL "/beam4.tsv", BEAM_FILE_LINES);
  translate(&r, &search);
  // Keys and values of three layers, 128 floats each.
  const size_t avoided_bytes = search.counts.avoided_copies * 2 * 3 * 128 * 4;
  assert_true(search.counts.moved_bytes > 0);
  assert_true(search.counts.moved_bytes * 100 <= avoided_bytes);
  close_recorded(&r);
}

static void rows_of_finished_sentences_are_reused(void** state) {
  (void)state;
  static recorded r;
  etx_search search = {.beams = 1};
  read_recorded(&r, program, MODEL "/test.tsv", LINES);
  translate(&r, &search);
  // Each token of an answer is one row of one call, and no row is idle.
  assert_int_equal(search.counts.decode_rows, search.counts.tokens);
  if (LINES == 500) {
    assert_true(search.counts.decode_calls * 24 < search.counts.tokens);
  }
  close_recorded(&r);
}

// In the units of etx, whose KB has 1000 bytes.
static void statistics_count_the_bytes_of_arenas(void** state) {
  (void)state;
  static recorded r;
  char expected[64];
  read_recorded(&r, program, MODEL "/test.tsv", 1);
  const size_t bytes = r.translator.shared.memory.block_size +
                       r.translator.module.scratch_size +
                       r.translator.module.temporary_size;
  close_recorded(&r);
  snprintf(expected, sizeof expected, "memory: %.0f KB of arenas, ",
           1e-3 * (double)bytes);
  command_expect_err(
      0, WORDS(TRANSLATE, "--model", program, "--stats", "eight"), expected);
}

static void more_beams_than_rows_are_refused(void** state) {
  (void)state;
  static recorded r;
  etx_diag diag;
  etx_search search = {.beams = 33};
  etx_diag_init(&diag);
  read_recorded(&r, program, MODEL "/test.tsv", 1);
  assert_int_equal(etx_translator_translate_all(&r.translator, r.sentences, 1,
                                                &search, &diag),
                   ETX_BAD_ARGUMENT);
  assert_string_equal(diag.text, "33 beams, the program has 32 rows");
  close_recorded(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_full_batch_gives_the_expected_ids),
      cmocka_unit_test(a_partial_batch_gives_the_expected_ids),
      cmocka_unit_test(a_program_for_executorch_supports_batches),
      cmocka_unit_test(int8_weights_change_few_answers),
      cmocka_unit_test(beam_search_equals_that_of_transformers),
      cmocka_unit_test(greedy_search_has_scores),
      cmocka_unit_test(an_answer_does_not_depend_on_the_batch),
      cmocka_unit_test(a_sentence_has_the_same_bits_in_every_row),
      cmocka_unit_test(reordered_beams_do_not_copy_their_caches),
      cmocka_unit_test(rows_of_finished_sentences_are_reused),
      cmocka_unit_test(statistics_count_the_bytes_of_arenas),
      cmocka_unit_test(more_beams_than_rows_are_refused),
  };
  return cmocka_run_group_tests(tests, plan_all, command_tear_down);
}
