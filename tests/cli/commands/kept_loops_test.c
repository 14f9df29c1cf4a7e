// --unroll: loops of known length that stay loops give the results of the
// unrolled ones, which are PyTorch's.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

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
  static const char* const limits[] = {"1", "20", "4096"};
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(loops_agree_whether_unrolled_or_not),
      cmocka_unit_test(the_limit_decides_what_is_unrolled),
  };
  return cmocka_run_group_tests(tests, command_set_up, command_tear_down);
}
