// --specialize: variants of methods for some of their sizes give PyTorch's
// results, run where their sizes are given, and are shown by a profile.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/module/module.h"
#include "runtime/variants.h"
#include "tests/cli/command.h"
#include "tests/support/assert_status.h"
#include "tests/support/test_random.h"

#define ETX ETX_BINARY "/etx"
#define SETS ETX_TEST_DATA "/pt2/"
#define LLAMA SETS "llama"

enum { PATH_BYTES = 256 };

static char program[PATH_BYTES];
static char profile[PATH_BYTES];

static void name_files(void) {
  snprintf(program, sizeof program, "%s/variants.pte", command_directory);
  snprintf(profile, sizeof profile, "%s/profile.json", command_directory);
}

// The recorded calls, which are PyTorch's, have the method's own instructions
// and each of the variants.
static void recorded_calls_agree_with_pytorch(void** state) {
  static const struct {
    const char* set;
    const char* option;
    const char* ran[3];  // ends of names in the profile
  } sets[] = {
      {"llama", "s27=1,2..16", {"prefill\"", "prefill@1\"", "prefill@2\""}},
      {"llama",
       "prefill:tokens[1]=2..16,1",
       {"prefill\"", "prefill@1\"", "prefill@2\""}},
      {"kv", "s1=1;s98=1..4", {"@1\"", NULL, NULL}},
      {"caches", "s46=1,2..3", {"@1\"", "@2\"", NULL}},
      {"recurrent", "s17=1,1..15", {"@2\"", NULL, NULL}},
      {"parts", "heads:s27=1..3", {"@1\"", NULL, NULL}},
      {"loop_sizes", "x[0]=1,2..3", {"@1\"", "@2\"", NULL}},
  };
  (void)state;
  name_files();
  for (size_t i = 0; i < sizeof sets / sizeof *sets; ++i) {
    char set[PATH_BYTES];
    snprintf(set, sizeof set, SETS "%s", sets[i].set);
    command_expect(0, WORDS(ETX, "plan", set, "-q", "-o", program,
                            "--specialize", sets[i].option));
    command_expect(0, WORDS(ETX, "verify", program));
    command_expect(
        0, WORDS(ETX, "run", program, "--case", set, "--profile", profile));
    char* const trace = command_read_file(profile, NULL);
    for (size_t k = 0; k < 3 && sets[i].ran[k] != NULL; ++k) {
      if (strstr(trace, sets[i].ran[k]) == NULL) {
        fail_msg("%s: no call of %s", sets[i].set, sets[i].ran[k]);
      }
    }
    free(trace);
  }
}

// Runs scalar(x, n), which gives x[:, :n] * n and 0 to n - 1.
static void run_scalar(etx_method* method, int64_t n) {
  enum { ROWS = 2, COLUMNS = 8 };
  float x[ROWS * COLUMNS];
  int32_t sizes[] = {ROWS, COLUMNS}, strides[] = {COLUMNS, 1};
  const etx_tensor input = {x, sizes, strides, 2, ETX_DTYPE_FLOAT32};
  const etx_value number = {.kind = ETX_VALUE_INT, .as.integer = n};
  const etx_value *rows = NULL, *steps = NULL;
  etx_diag diag;
  etx_diag_init(&diag);
  for (int i = 0; i < ROWS * COLUMNS; ++i) x[i] = (float)i - 5;
  assert_ok(etx_method_set_input(method, 0, &input, &diag));
  assert_ok(etx_method_set_value(method, 1, &number, &diag));
  assert_ok(etx_method_run(method, &diag));
  assert_ok(etx_method_output(method, 0, &rows));
  assert_ok(etx_method_output(method, 1, &steps));
  assert_int_equal(rows->as.tensor.sizes[1], n);
  assert_int_equal(steps->as.tensor.sizes[0], n);
  for (int64_t i = 0; i < ROWS * n; ++i) {
    const float element = x[i / n * COLUMNS + i % n] * (float)n;
    assert_true(((const float*)rows->as.tensor.data)[i] == element);
  }
  for (int64_t i = 0; i < n; ++i) {
    assert_int_equal(((const int64_t*)steps->as.tensor.data)[i], i);
  }
}

// An integer input from 2 to 6: one variant for 3, one for 5 and 6.
static void integers_choose_variants(void** state) {
  uint64_t runs[3] = {0};
  etx_module module;
  etx_diag diag;
  (void)state;
  name_files();
  command_expect(0, WORDS(ETX, "plan", SETS "shapes/scalar.pt2", "-q", "-o",
                          program, "--specialize", "s86=3,5..6"));
  etx_diag_init(&diag);
  assert_ok(etx_module_open(&module, program, NULL, &diag));
  assert_ok(etx_module_load_method(&module, "scalar", NULL, &diag));
  etx_method* const method = etx_module_method(&module, "scalar");
  test_random_start();
  for (int i = 0; i < 500; ++i) {
    const int64_t n = test_random_integer(2, 6);
    run_scalar(method, n);
    ++runs[n == 3 ? 0 : n >= 5 ? 1 : 2];
  }
  assert_int_equal(etx_method_variant_count(method), 2);
  for (size_t i = 0; i < 3; ++i) {
    assert_int_equal(etx_method_variant_runs(method, i), runs[i]);
  }
  etx_module_close(&module);
}

static void two_symbols_give_a_variant_for_each_combination(void** state) {
  (void)state;
  name_files();
  command_expect_out(0,
                     WORDS(ETX, "plan", SETS "parts/around.pt2", "-o", program,
                           "--specialize", "x[0]=1,2;y[0]=1,2"),
                     "around@4");
}

static void files_of_other_methods_are_as_without_the_option(void** state) {
  char plain[PATH_BYTES];
  (void)state;
  name_files();
  snprintf(plain, sizeof plain, "%s/plain.pte", command_directory);
  command_expect(0, WORDS(ETX, "plan", LLAMA, "-q", "-o", plain, "--target",
                          "executorch"));
  command_expect_err(0,
                     WORDS(ETX, "plan", LLAMA, "-q", "-o", program, "--target",
                           "executorch", "--specialize", "s27=1"),
                     "--specialize has no effect for this target");
  command_expect_same_files(plain, program);
}

static void what_cannot_be_specialised_is_refused(void** state) {
  static const struct {
    const char* option;
    const char* message;
  } refused[] = {
      {"s27", "should have the form"},
      {"s27=", "should have the form"},
      {"s27=4..2", "should have the form"},
      {"s27=1,,2", "should have the form"},
      {":s27=1", "should have the form"},
      {"s27=99999999999999999999", "should have the form"},
      {"nothing=1",
       "no method has the sizes that 'nothing=1' names; sizes that vary: "
       "prefill:s27"},
      {"tokens[7]=1", "no method has the sizes"},
      {"decode:s27=1", "method 'decode' does not have the sizes"},
      {"prefil:s27=1", "did you mean 'prefill'"},
      {"s27=0",
       "0 is out of the bounds of 's27' in method 'prefill', 1 and 32"},
      {"s27=8..33", "33 is out of the bounds"},
      {"s27=1;tokens[1]=2", "names 's27' of method 'prefill' twice"},
  };
  (void)state;
  name_files();
  for (size_t i = 0; i < sizeof refused / sizeof *refused; ++i) {
    command_result result =
        command_run(WORDS(ETX, "plan", LLAMA, "-q", "-o", program,
                          "--specialize", refused[i].option));
    assert_int_not_equal(result.code, 0);
    if (strstr(result.err, refused[i].message) == NULL) {
      fail_msg("'%s': %s", refused[i].option, result.err);
    }
    command_end(&result);
  }
}

// `tail` excludes 2 by a condition, and `halved` takes sizes from 4 on.
static void sizes_that_a_model_excludes_are_skipped(void** state) {
  (void)state;
  name_files();
  command_expect_out(
      0,
      WORDS(ETX, "plan", SETS "varying", "-o", program, "--specialize",
            "tail:s77=1,2,3,9"),
      "variants that are not there:\n"
      "  method 'tail' has no variant 'tail@2': the model "
      "excludes its sizes by the condition '((-1) + "
      "L['x'].size()[0]) != 1'\n"
      "  9 is out of the bounds of 's77' in method 'tail', 1 and "
      "6\n");
  command_expect(0, WORDS(ETX, "verify", program));
  command_expect(0, WORDS(ETX, "run", program, "--case", SETS "varying"));
  command_expect_out(0, WORDS(ETX, "inspect", program),
                     "\n    variant tail@2: ");
  // With the option for all methods, those whose bounds allow it have one.
  command_expect_out(0,
                     WORDS(ETX, "plan", SETS "small_sizes", "-o", program,
                           "--specialize", "s77=3"),
                     "3 is out of the bounds of 's77' in method 'halved'");
  command_expect(0, WORDS(ETX, "run", program, "--case", SETS "small_sizes"));
}

static void concurrent_methods_have_no_variants(void** state) {
  (void)state;
  name_files();
  command_result result =
      command_run(WORDS(ETX, "plan", LLAMA, "-q", "-o", program, "--concurrent",
                        "prefill,decode", "--specialize", "s27=1"));
  assert_int_not_equal(result.code, 0);
  assert_non_null(strstr(result.err, "so it can have no variants"));
  command_end(&result);
}

// Variants are shown beneath their method, and are no methods of their own.
static void commands_name_the_variant_that_ran(void** state) {
  static const char one[] = "tokens[1]=1";
  char plain[PATH_BYTES];
  char header[PATH_BYTES];
  (void)state;
  name_files();
  snprintf(plain, sizeof plain, "%s/plain.pte", command_directory);
  snprintf(header, sizeof header, "%s/memory.h", command_directory);
  command_expect(0, WORDS(ETX, "plan", LLAMA, "-q", "-o", plain));
  command_expect(0, WORDS(ETX, "plan", LLAMA, "-q", "-o", program, "--header",
                          header, "--specialize", "prefill:s27=1,2..16"));
  command_expect_out(0, WORDS(ETX, "inspect", program),
                     "\n    variant prefill@2: ");
  command_expect_out(0, WORDS(ETX, "inspect", program),
                     "\n      size s27: 2 to 16\n");
  command_expect_out(0,
                     WORDS(ETX, "bench", program, "--method", "prefill",
                           "--seconds", "0.01", "--dim", one),
                     "\nprefill, variant prefill@1: ");
  command_expect_out(0,
                     WORDS(ETX, "bench", program, "--method", "prefill",
                           "--seconds", "0.01", "--dim", "tokens[1]=17"),
                     "\nprefill: ");
  command_result all =
      command_run(WORDS(ETX, "bench", program, "--seconds", "0.01", "--json"));
  assert_int_equal(all.code, 0);
  assert_null(strstr(all.out, "\"name\": \"prefill@"));
  assert_non_null(strstr(all.out, "\"variant\": null"));
  command_end(&all);
  command_expect_out(0,
                     WORDS(ETX, "diff", program, plain, "prefill", "--case",
                           LLAMA, "--atol", "1e-4"),
                     ": variant prefill@2 ran\n");
  char* const text = command_read_file(header, NULL);
  assert_non_null(strstr(text, "_PREFILL_VARIANTS_BYTES "));
  assert_null(strstr(text, "PREFILL_1"));
  assert_null(strstr(text, "DECODE_VARIANTS"));
  free(text);
}

static int compare_integers(const void* a, const void* b) {
  return *(const int*)a - *(const int*)b;
}

// The sizes of the recorded calls, whose option `etx plan` takes. Their order
// is that of the measured times, so any order is right.
static void bench_proposes_the_sizes_of_recorded_calls(void** state) {
  char option[PATH_BYTES];
  (void)state;
  name_files();
  command_expect(0, WORDS(ETX, "plan", LLAMA, "-q", "-o", program));
  command_result result = command_run(
      WORDS(ETX, "bench", program, "--case", LLAMA, "--emit-specialize"));
  assert_int_equal(result.code, 0);
  assert_non_null(strstr(result.out, "prefill:s27=32: 1 call, "));
  assert_non_null(strstr(result.out, "prefill:s27=5: 1 call, "));
  const char* const start = strstr(result.out, "etx plan --specialize '");
  assert_non_null(start);
  assert_int_equal(sscanf(start, "etx plan --specialize '%63[^']'", option), 1);
  command_end(&result);
  int sizes[3] = {0};
  assert_int_equal(
      sscanf(option, "prefill:s27=%d,%d,%d", &sizes[0], &sizes[1], &sizes[2]),
      3);
  qsort(sizes, 3, sizeof sizes[0], compare_integers);
  assert_int_equal(sizes[0], 1);
  assert_int_equal(sizes[1], 5);
  assert_int_equal(sizes[2], 32);
  command_expect(0, WORDS(ETX, "plan", LLAMA, "-q", "-o", program,
                          "--specialize", option));
  command_expect(0, WORDS(ETX, "run", program, "--case", LLAMA));
  // Caches are cut back in this set; the sizes are a pair in the other.
  command_expect(0, WORDS(ETX, "plan", SETS "rings", "-q", "-o", program));
  command_expect(0, WORDS(ETX, "bench", program, "--case", SETS "rings",
                          "--emit-specialize"));
  command_expect(0, WORDS(ETX, "plan", SETS "kv", "-q", "-o", program));
  command_expect_out(0,
                     WORDS(ETX, "bench", program, "--case", SETS "kv",
                           "--emit-specialize", "--json"),
                     "\"specialize\": \"set_exact:s1=4;s98=10\"");
  command_expect_err(2, WORDS(ETX, "bench", program, "--emit-specialize"),
                     "--emit-specialize needs recorded calls: give --case");
  command_expect_err(2,
                     WORDS(ETX, "bench", program, "--case", SETS "kv",
                           "--emit-specialize", "--static"),
                     "takes no --compare, --static or --method");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(recorded_calls_agree_with_pytorch),
      cmocka_unit_test(integers_choose_variants),
      cmocka_unit_test(two_symbols_give_a_variant_for_each_combination),
      cmocka_unit_test(files_of_other_methods_are_as_without_the_option),
      cmocka_unit_test(what_cannot_be_specialised_is_refused),
      cmocka_unit_test(sizes_that_a_model_excludes_are_skipped),
      cmocka_unit_test(concurrent_methods_have_no_variants),
      cmocka_unit_test(commands_name_the_variant_that_ran),
      cmocka_unit_test(bench_proposes_the_sizes_of_recorded_calls),
  };
  return cmocka_run_group_tests(tests, command_set_up, command_tear_down);
}
