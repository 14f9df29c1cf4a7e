// The translator on every recorded sentence, and its logits and caches.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/tensors/tensor_file.h"
#include "samples/translate/translate_batch.h"
#include "tests/cli/command.h"

#define ETX ETX_BINARY "/etx"
#define TRANSLATE ETX_BINARY "/translate"
#define MODEL ETX_SOURCE "/samples/translate/model"

enum { PATH_BYTES = 256, FORM_COUNT = 4, STEP_COUNT = 8 };

// Both forms of the archives, for both targets.
typedef struct translate_form {
  const char* methods;
  const char* target;
  char program[PATH_BYTES];
} translate_form;

static translate_form forms[FORM_COUNT] = {
    {MODEL "/pt2", "etx", ""},
    {MODEL "/pt2/core", "etx", ""},
    {MODEL "/pt2", "executorch", ""},
    {MODEL "/pt2/core", "executorch", ""},
};

static int plan_all(void** state) {
  if (command_set_up(state) != 0) return -1;
  for (int i = 0; i < FORM_COUNT; ++i) {
    snprintf(forms[i].program, PATH_BYTES, "%s/translate%d.pte",
             command_directory, i);
    command_expect(0, WORDS(ETX, "plan", forms[i].methods, "-o",
                            forms[i].program, "--target", forms[i].target));
  }
  return 0;
}

// "400 289 0"
static void print_ids(const etx_translation* answer, char* out,
                      size_t capacity) {
  size_t size = 0;
  out[0] = '\0';
  for (size_t i = 0; i < answer->count && size < capacity; ++i) {
    size += (size_t)snprintf(out + size, capacity - size, "%s%" PRId64,
                             i == 0 ? "" : " ", answer->ids[i]);
  }
}

static void translates_every_line(const char* program, size_t limit) {
  etx_translator translator;
  etx_diag diag;
  etx_diag_init(&diag);
  if (etx_translator_open(&translator, program, MODEL "/vocab.txt", NULL,
                          &diag) != ETX_OK) {
    fail_msg("%s: %s", program, diag.text);
  }
  FILE* const file = fopen(MODEL "/test.tsv", "rb");
  char line[4096];
  size_t lines = 0;
  size_t wrong = 0;
  assert_non_null(file);
  while (lines < limit && fgets(line, sizeof line, file) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    const char* const expected = strrchr(line, '\t') + 1;
    const etx_text english = {line, strcspn(line, "\t")};
    etx_translation answer;
    char found[4096];
    if (etx_translator_translate(&translator, english, &answer, &diag) !=
        ETX_OK) {
      fail_msg("line %zu: %s", lines + 1, diag.text);
    }
    print_ids(&answer, found, sizeof found);
    if (strcmp(found, expected) != 0) {
      print_error("line %zu: expected %s, found %s\n", lines + 1, expected,
                  found);
      ++wrong;
    }
    ++lines;
  }
  fclose(file);
  etx_translator_close(&translator);
  assert_int_equal(wrong, 0);
  assert_int_equal(lines, limit);
}

// Sanitizers make each step much slower, and fewer lines are enough for them.
#ifdef ETX_TEST_SANITIZED
enum { LINES = 20 };
#else
enum { LINES = 500 };
#endif

static void every_line_gives_the_expected_ids(void** state) {
  (void)state;
  translates_every_line(forms[0].program, LINES);
}

static void core_aten_programs_give_the_expected_ids(void** state) {
  (void)state;
  translates_every_line(forms[1].program, LINES);
}

static void programs_for_executorch_give_the_expected_ids(void** state) {
  (void)state;
  translates_every_line(forms[2].program, LINES);
  translates_every_line(forms[3].program, LINES);
}

static void the_stock_exporters_program_gives_the_expected_ids(void** state) {
  (void)state;
  translates_every_line(MODEL "/executorch/translate.pte", LINES / 10);
}

// ------------------------------------------------ quantised

typedef struct precision {
  const char* rule;
  double least_tokens;  // share of them that must be equal
  double least_sqnr;    // of the logits, in dB
} precision;

static const precision precisions[] = {
    {"int8", 0.99, 30},
    {"int8w", 0.99, 30},
    {"int4", 0.97, 15},
    {"int4w/128", 0.97, 14},
};

static void plan_quantised(const char* methods, const char* rule, char* out) {
  snprintf(out, PATH_BYTES, "%s/quantised.pte", command_directory);
  command_expect(
      0, WORDS(ETX, "plan", methods, "-o", out, "--quantize", rule, "--quiet"));
}

// The number of leading tokens that are as expected.
static size_t count_equal(const char* expected, const etx_translation* answer,
                          size_t* out_expected) {
  char* rest = NULL;
  size_t equal = 0;
  bool is_equal = true;
  for (size_t i = 0; *expected != '\0'; ++i) {
    const long id = strtol(expected, &rest, 10);
    if (rest == expected) break;
    is_equal = is_equal && i < answer->count && answer->ids[i] == id;
    equal += is_equal;
    ++*out_expected;
    expected = rest;
  }
  return equal;
}

static double equal_tokens(const char* program) {
  etx_translator translator;
  etx_diag diag;
  char line[4096];
  size_t equal = 0, total = 0;
  etx_diag_init(&diag);
  if (etx_translator_open(&translator, program, MODEL "/vocab.txt", NULL,
                          &diag) != ETX_OK) {
    fail_msg("%s: %s", program, diag.text);
  }
  FILE* const file = fopen(MODEL "/test.tsv", "rb");
  assert_non_null(file);
  for (size_t i = 0; i < LINES && fgets(line, sizeof line, file); ++i) {
    const etx_text english = {line, strcspn(line, "\t")};
    etx_translation answer;
    assert_int_equal(
        etx_translator_translate(&translator, english, &answer, &diag), ETX_OK);
    equal += count_equal(strrchr(line, '\t') + 1, &answer, &total);
  }
  fclose(file);
  etx_translator_close(&translator);
  return (double)equal / (double)total;
}

static void quantised_weights_keep_the_answers(void** state) {
  (void)state;
  for (size_t i = 0; i < sizeof precisions / sizeof *precisions; ++i) {
    const precision* const p = &precisions[i];
    char program[PATH_BYTES];
    plan_quantised(MODEL "/pt2", p->rule, program);
    const double share = equal_tokens(program);
    print_message("%s: %.2f %% of the tokens are equal\n", p->rule,
                  100 * share);
    assert_true(share >= p->least_tokens);
  }
}

// The largest difference between expected and found values. Found rows have
// `stride` values, of which the first `width` are compared.
static double largest_error(const float* expected, const float* found,
                            size_t rows, size_t width, size_t stride) {
  double worst = 0;
  for (size_t row = 0; row < rows; ++row) {
    for (size_t i = 0; i < width; ++i) {
      const double error = fabs((double)expected[row * width + i] -
                                (double)found[row * stride + i]);
      if (!(error <= worst)) worst = error;
    }
  }
  return worst;
}

static const etx_host_tensor* value_of(const etx_tensor_set* values, int index,
                                       const char* name) {
  char key[64];
  snprintf(key, sizeof key, "%d.%s", index, name);
  const etx_host_tensor* const tensor =
      etx_tensor_set_find(values, etx_text_of(key));
  if (tensor == NULL) fail_msg("'%s' is not recorded", key);
  return tensor;
}

// Compares the first positions [3, 4, positions, 32] of a cache [3, 4, 64, 32].
static void check_cache(etx_translator* translator,
                        const etx_tensor_set* values, int index,
                        const char* name) {
  char state_name[64];
  etx_tensor state;
  etx_state_hold hold;
  snprintf(state_name, sizeof state_name, "cache.%s", name);
  assert_int_equal(
      etx_shared_memory_find(&translator->shared.memory,
                             etx_text_of(state_name), &state, &hold, NULL),
      ETX_OK);
  const etx_host_tensor* const expected = value_of(values, index, name);
  const size_t width = (size_t)expected->sizes[2] * 32;
  const double error =
      largest_error(expected->data, state.data, 12, width, 64 * 32);
  if (!(error <= 1e-4)) fail_msg("%d.%s is off by %g", index, name, error);
}

static void execute(etx_translator* translator, const char* method,
                    const etx_value* inputs, size_t count) {
  etx_diag diag;
  etx_diag_init(&diag);
  if (etx_module_execute(&translator->module, method, inputs, count, &diag) !=
      ETX_OK) {
    fail_msg("%s: %s", method, diag.text);
  }
}

static void check_sentence(etx_translator* translator,
                           const etx_tensor_set* values, int index) {
  const etx_host_tensor* const source = value_of(values, index, "input_ids");
  const int64_t* const forced =
      value_of(values, index, "decoder_input_ids")->data;
  const etx_host_tensor* const logits = value_of(values, index, "logits");
  const int32_t source_sizes[2] = {1, source->sizes[0]};
  const etx_value ids =
      etx_module_tensor(source->data, ETX_DTYPE_INT64, source_sizes, 2);
  execute(translator, "encode", &ids, 1);
  for (int64_t position = 0; position < STEP_COUNT; ++position) {
    int64_t token = forced[position];
    int64_t place = position;
    const int32_t sizes[2] = {1, 1};
    const etx_value inputs[2] = {
        etx_module_tensor(&token, ETX_DTYPE_INT64, sizes, 2),
        etx_module_tensor(&place, ETX_DTYPE_INT64, sizes, 1)};
    const etx_value* found = NULL;
    execute(translator, "decode", inputs, 2);
    assert_int_equal(
        etx_module_output(&translator->module, "decode", 0, &found, NULL),
        ETX_OK);
    const double error =
        largest_error((const float*)logits->data + 596 * position,
                      found->as.tensor.data, 1, 596, 596);
    if (!(error <= 1e-4)) {
      fail_msg("%d.logits, step %d, are off by %g", index, (int)position,
               error);
    }
  }
  check_cache(translator, values, index, "cross_k");
  check_cache(translator, values, index, "cross_v");
  check_cache(translator, values, index, "self_k");
  check_cache(translator, values, index, "self_v");
}

static void logits_and_caches_equal_those_of_pytorch(void** state) {
  (void)state;
  etx_pool pool;
  etx_tensor_set values;
  etx_pool_init(&pool);
  assert_int_equal(
      etx_tensor_set_read(MODEL "/expected.safetensors", &pool, &values, NULL),
      ETX_OK);
  for (int i = 0; i < FORM_COUNT; ++i) {
    etx_translator translator;
    assert_int_equal(etx_translator_open(&translator, forms[i].program,
                                         MODEL "/vocab.txt", NULL, NULL),
                     ETX_OK);
    for (int index = 0; index < 3; ++index) {
      check_sentence(&translator, &values, index);
    }
    etx_translator_close(&translator);
  }
  etx_pool_close(&pool);
}

// Adds the squares of the recorded logits (signal) and of the errors (noise).
static void add_logits(etx_translator* translator, const etx_tensor_set* values,
                       int index, double* signal, double* noise) {
  const etx_host_tensor* const source = value_of(values, index, "input_ids");
  const int64_t* const forced =
      value_of(values, index, "decoder_input_ids")->data;
  const float* expected = value_of(values, index, "logits")->data;
  const int32_t source_sizes[2] = {1, source->sizes[0]};
  const etx_value ids =
      etx_module_tensor(source->data, ETX_DTYPE_INT64, source_sizes, 2);
  execute(translator, "encode", &ids, 1);
  for (int64_t position = 0; position < STEP_COUNT; ++position) {
    const int32_t sizes[2] = {1, 1};
    int64_t token = forced[position], place = position;
    const etx_value inputs[2] = {
        etx_module_tensor(&token, ETX_DTYPE_INT64, sizes, 2),
        etx_module_tensor(&place, ETX_DTYPE_INT64, sizes, 1)};
    const etx_value* found = NULL;
    execute(translator, "decode", inputs, 2);
    assert_int_equal(
        etx_module_output(&translator->module, "decode", 0, &found, NULL),
        ETX_OK);
    const float* const logits = found->as.tensor.data;
    for (size_t i = 0; i < 596; ++i, ++expected) {
      const double off = (double)*expected - (double)logits[i];
      *signal += (double)*expected * (double)*expected;
      *noise += off * off;
    }
  }
}

static void quantised_logits_are_close(void** state) {
  (void)state;
  etx_pool pool;
  etx_tensor_set values;
  etx_pool_init(&pool);
  assert_int_equal(
      etx_tensor_set_read(MODEL "/expected.safetensors", &pool, &values, NULL),
      ETX_OK);
  for (size_t i = 0; i < sizeof precisions / sizeof *precisions; ++i) {
    char program[PATH_BYTES];
    etx_translator translator;
    double signal = 0, noise = 0;
    plan_quantised(MODEL "/pt2/core", precisions[i].rule, program);
    assert_int_equal(etx_translator_open(&translator, program,
                                         MODEL "/vocab.txt", NULL, NULL),
                     ETX_OK);
    for (int index = 0; index < 3; ++index) {
      add_logits(&translator, &values, index, &signal, &noise);
    }
    const double ratio = 10 * log10(signal / noise);
    print_message("%s: logits at %.1f dB\n", precisions[i].rule, ratio);
    assert_true(ratio >= precisions[i].least_sqnr);
    etx_translator_close(&translator);
  }
  etx_pool_close(&pool);
}

static void a_sentence_that_is_too_long_is_refused(void** state) {
  (void)state;
  etx_translator translator;
  etx_translation answer;
  etx_diag diag;
  char words[400];
  etx_diag_init(&diag);
  for (size_t i = 0; i < sizeof words; ++i) words[i] = i % 2 == 0 ? 'a' : ' ';
  assert_int_equal(etx_translator_open(&translator, forms[0].program,
                                       MODEL "/vocab.txt", NULL, &diag),
                   ETX_OK);
  const etx_text sentence = {words, sizeof words};
  assert_int_equal(
      etx_translator_translate(&translator, sentence, &answer, &diag),
      ETX_OUT_OF_RANGE);
  assert_string_equal(diag.text,
                      "the sentence has 201 tokens, the model takes 64");
  etx_translator_close(&translator);
}

static void sentences_are_arguments_or_lines(void** state) {
  (void)state;
  command_result words =
      command_run(WORDS(TRANSLATE, "--model", forms[0].program,
                        "the train leaves at half past seven", ""));
  assert_int_equal(words.code, 0);
  command_result lines =
      command_run_with(WORDS(TRANSLATE, "--model", forms[0].program),
                       "the train leaves at half past seven\n\n", 0);
  assert_int_equal(lines.code, 0);
  assert_string_equal(words.out, lines.out);
  assert_int_equal(
      strncmp(words.out, "le train part \xc3\xa0 sept heures et demie\n", 38),
      0);
  command_end(&words);
  command_end(&lines);
}

static void ids_and_statistics_are_printed_on_request(void** state) {
  (void)state;
  command_result result =
      command_run(WORDS(TRANSLATE, "--ids", "--stats", "--model",
                        forms[0].program, "eight hundred and forty-three"));
  assert_int_equal(result.code, 0);
  assert_string_equal(result.out, "223 117 226 291 0\n");
  assert_non_null(strstr(result.err, "tokens/s"));
  command_end(&result);
}

static void the_number_of_threads_does_not_change_an_answer(void** state) {
  (void)state;
  char ids[2][256];
  static const char* const threads[] = {"1", "3"};
  for (int i = 0; i < 2; ++i) {
    command_result result = command_run(
        WORDS(TRANSLATE, "--ids", "--threads", threads[i], "--model",
              forms[0].program, "the train leaves at half past seven"));
    assert_int_equal(result.code, 0);
    snprintf(ids[i], sizeof ids[i], "%s", result.out);
    command_end(&result);
  }
  assert_string_equal(ids[0], ids[1]);
  command_expect_err(2, WORDS(TRANSLATE, "--threads", "257", "a"),
                     "a pool of 257 threads, expected 1 to 256");
}

static void a_missing_model_is_reported(void** state) {
  (void)state;
  command_result result =
      command_run(WORDS(TRANSLATE, "--model", "/nowhere.pte", "a"));
  assert_int_equal(result.code, 1);
  assert_non_null(strstr(result.err, "/nowhere.pte"));
  command_end(&result);
  command_expect(2, WORDS(TRANSLATE, "--nothing"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_line_gives_the_expected_ids),
      cmocka_unit_test(core_aten_programs_give_the_expected_ids),
      cmocka_unit_test(programs_for_executorch_give_the_expected_ids),
      cmocka_unit_test(the_stock_exporters_program_gives_the_expected_ids),
      cmocka_unit_test(logits_and_caches_equal_those_of_pytorch),
      cmocka_unit_test(quantised_weights_keep_the_answers),
      cmocka_unit_test(quantised_logits_are_close),
      cmocka_unit_test(a_sentence_that_is_too_long_is_refused),
      cmocka_unit_test(sentences_are_arguments_or_lines),
      cmocka_unit_test(ids_and_statistics_are_printed_on_request),
      cmocka_unit_test(the_number_of_threads_does_not_change_an_answer),
      cmocka_unit_test(a_missing_model_is_reported),
  };
  return cmocka_run_group_tests(tests, plan_all, command_tear_down);
}
