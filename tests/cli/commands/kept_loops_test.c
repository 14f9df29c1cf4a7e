// --unroll: loops of known length that stay loops, over rows or over blocks of
// rows, give the results of the unrolled ones, which are PyTorch's.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "tests/cli/command.h"

#define ETX ETX_BINARY "/etx"
#define SCANS ETX_TEST_DATA "/pt2/scans"

enum { PATH_BYTES = 256 };

static char program[PATH_BYTES];

static void plan_and_run(const char* methods, const char* target,
                         const char* unroll) {
  snprintf(program, sizeof program, "%s/scans.pte", command_directory);
  command_expect(0, WORDS(ETX, "plan", methods, "-o", program, "--target",
                          target, "--unroll", unroll));
  command_expect(0, WORDS(ETX, "verify", program));
  command_expect(0, WORDS(ETX, "run", program, "--case", SCANS));
}

static void loops_agree_whether_unrolled_or_not(void** state) {
  // 12 and 20: blocks, with a rest behind the last one.
  static const char* const limits[] = {"1", "12", "20", "4096"};
  (void)state;
  for (size_t i = 0; i < sizeof limits / sizeof *limits; ++i) {
    plan_and_run(SCANS, "etx", limits[i]);
    plan_and_run(SCANS "/core", "etx", limits[i]);
    plan_and_run(SCANS, "executorch", limits[i]);
  }
}

static void the_limit_decides_what_is_unrolled(void** state) {
  (void)state;
  snprintf(program, sizeof program, "%s/scans.pte", command_directory);
  command_expect_out(0,
                     WORDS(ETX, "plan", SCANS "/recurrent.pt2", "-o", program,
                           "--dump-after", "lower", "--unroll", "1"),
                     "while:");
  command_expect_out(0,
                     WORDS(ETX, "plan", SCANS "/recurrent.pt2", "-o", program,
                           "--dump-after", "lower"),
                     "aten::cat");
  command_expect_err(
      2, WORDS(ETX, "plan", SCANS, "-o", program, "--unroll", "0"),
      "option '--unroll' expects an integer of at least 1, not '0'");
}

// Expects the same bits from `program` and from another one. Instructions that
// the command takes for the same ones may be those of different steps.
static void expect_equal_outputs(const char* other, const char* method) {
  command_result result = command_run(
      WORDS(ETX, "diff", program, other, method, "--rtol", "0", "--atol", "0"));
  assert_non_null(strstr(result.out, "; 0 outputs differ"));
  command_end(&result);
}

// One row in an iteration, and blocks with and without a rest.
static void loops_have_the_bits_of_unrolled_ones(void** state) {
  static const char* const methods[] = {"recurrent", "backwards", "apply",
                                        "long"};
  static const char* const limits[] = {"1", "12", "20", "100"};
  char unrolled[PATH_BYTES], methods_of[PATH_BYTES];
  (void)state;
  snprintf(program, sizeof program, "%s/kept.pte", command_directory);
  snprintf(unrolled, sizeof unrolled, "%s/unrolled.pte", command_directory);
  for (size_t m = 0; m < sizeof methods / sizeof *methods; ++m) {
    snprintf(methods_of, sizeof methods_of, SCANS "/%s.pt2", methods[m]);
    command_expect(0, WORDS(ETX, "plan", methods_of, "-o", unrolled, "--unroll",
                            "100000"));
    for (size_t i = 0; i < sizeof limits / sizeof *limits; ++i) {
      command_expect(0, WORDS(ETX, "plan", methods_of, "-o", program,
                              "--unroll", limits[i]));
      expect_equal_outputs(unrolled, methods[m]);
    }
  }
}

static void a_rest_of_rows_follows_the_loop(void** state) {
  (void)state;
  snprintf(program, sizeof program, "%s/scans.pte", command_directory);
  command_expect_out(0,
                     WORDS(ETX, "plan", SCANS "/recurrent.pt2", "-o", program,
                           "--dump-after", "lower", "--unroll", "12"),
                     "aten::slice_scatter");
}

// Only the condition, a constant, is copied: the stacked results are filled
// where they are, and neither copied nor stored in the file.
static void stacked_results_start_without_a_copy(void** state) {
  static const char* const targets[] = {"etx", "executorch"};
  (void)state;
  snprintf(program, sizeof program, "%s/scans.pte", command_directory);
  for (size_t i = 0; i < sizeof targets / sizeof *targets; ++i) {
    command_expect_out(0,
                       WORDS(ETX, "plan", SCANS "/long.pt2", "-o", program,
                             "--target", targets[i]),
                       "a loop starts with a copy of the initial value\n"
                       "  total: 1\n");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(loops_agree_whether_unrolled_or_not),
      cmocka_unit_test(loops_have_the_bits_of_unrolled_ones),
      cmocka_unit_test(a_rest_of_rows_follows_the_loop),
      cmocka_unit_test(stacked_results_start_without_a_copy),
      cmocka_unit_test(the_limit_decides_what_is_unrolled),
  };
  return cmocka_run_group_tests(tests, command_set_up, command_tear_down);
}
