// Files of the stock exporter: bundles, data files, channels-last inputs, and
// operators that etx does not have.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/cli/command.h"

#define ETX ETX_BINARY "/etx"
#define EXPORTED ETX_TEST_DATA "/exported"
#define BUNDLE EXPORTED "/bundle.bpte"
#define EXTERNAL EXPORTED "/external.pte"
#define WEIGHTS EXPORTED "/external.ptd"
#define GOOD_BUNDLE ETX_TEST_DATA "/pte/module_bundled_program.bpte"
#define KEYWORDS ETX_TEST_DATA "/pte/arduino_KeywordSpotting.pte"

static void bundled_calls_pass(void** state) {
  (void)state;
  command_expect_out(0, WORDS(ETX, "run", "--bundled", GOOD_BUNDLE),
                     "forward, case 9: passed\n10 cases passed, 0 failed\n");
  command_expect_out(0, WORDS(ETX, "run", GOOD_BUNDLE, "--bundled", "--json"),
                     "\"passed\": true");
}

// State continues from case to case. Only the expected value of case 2 is
// wrong.
static void a_difference_in_a_bundle_is_reported(void** state) {
  (void)state;
  command_expect_out(
      6, WORDS(ETX, "run", BUNDLE, "--bundled"),
      "forward, case 1: passed\n"
      "forward, case 2: failed: output 0: 2 of 2 elements differ, most at "
      "[0]: expected 9.5, found 9\n"
      "forward, case 3: passed\n"
      "3 cases passed, 1 failed\n");
  command_expect_out(0, WORDS(ETX, "run", BUNDLE, "--bundled", "--atol", "0.5"),
                     "4 cases passed, 0 failed");
  command_expect_out(0, WORDS(ETX, "run", BUNDLE, "--bundled", "--rtol", "0.1"),
                     "4 cases passed, 0 failed");
}

static void a_bundle_is_also_a_program(void** state) {
  (void)state;
  command_expect_out(0, WORDS(ETX, "inspect", BUNDLE), "a bundled program");
  command_expect_out(0, WORDS(ETX, "inspect", BUNDLE), "forward: 4 cases");
  command_expect_out(0, WORDS(ETX, "inspect", BUNDLE, "--json"),
                     "\"cases\": 4");
  command_expect_out(0, WORDS(ETX, "verify", BUNDLE),
                     "the plan is proved: 1 method, ");
  command_expect_out(0, WORDS(ETX, "dump", BUNDLE), "aten::mul");
  command_expect_out(
      0,
      WORDS(ETX, "run", GOOD_BUNDLE, "forward", "--in",
            "input_0=[[1, 1], [1, 1]]", "--in", "input_1=[[2, 2], [2, 2]]"),
      "[[7, 7], [7, 7]]");
  command_expect_err(2, WORDS(ETX, "run", EXTERNAL, "--bundled"),
                     "has no bundled calls");
  command_expect_err(2, WORDS(ETX, "run", BUNDLE, "--bundled", "--smoke"),
                     "give one of METHOD, --case, --bundled and --smoke");
}

#define X "input_0=[[-1, -0.875, -0.75, -0.625], [-0.5, -0.375, -0.25, -0.125]]"

static void weights_come_from_a_data_file(void** state) {
  (void)state;
  command_expect_out(
      0, WORDS(ETX, "run", EXTERNAL, "forward", "--data", WEIGHTS, "--in", X),
      "output_0: float32[2, 3] = [[");
  command_expect_out(0, WORDS(ETX, "inspect", EXTERNAL),
                     "from a data file: layer.weight: float32[3, 4]");
  command_expect_out(0, WORDS(ETX, "inspect", EXTERNAL, "--json"),
                     "\"name\": \"layer.weight\"");
  command_expect_out(0, WORDS(ETX, "verify", EXTERNAL), "the plan is proved");
}

static void wrong_data_files_are_refused(void** state) {
  (void)state;
  command_expect_err(
      2, WORDS(ETX, "run", EXTERNAL, "forward", "--in", X),
      "'layer.weight' of a data file (.ptd), and none was given");
  command_expect_err(2, WORDS(ETX, "run", WEIGHTS, "forward"),
                     "this is a data file (.ptd)");
  command_expect_err(2, WORDS(ETX, "inspect", WEIGHTS),
                     "this is a data file (.ptd)");
  command_expect_err(2,
                     WORDS(ETX, "run", EXTERNAL, "forward", "--data", EXTERNAL),
                     "(data file '" EXTERNAL "')");
  command_expect_err(2,
                     WORDS(ETX, "run", EXTERNAL, "forward", "--data", "/tmp"),
                     "data file '/tmp' is not a regular file");
  command_expect_err(
      2, WORDS(ETX, "run", EXTERNAL, "forward", "--data", "nowhere.ptd"),
      "data file 'nowhere.ptd' cannot be opened: No such file or directory");
  command_expect_err(2,
                     WORDS(ETX, "run", EXTERNAL, "forward", "--data", WEIGHTS,
                           "--data", WEIGHTS),
                     "2 data files have 'layer.weight'");
}

// Values on the command line are in default dim order, also for a channels-last
// input.
static void inputs_are_converted_to_channels_last(void** state) {
  (void)state;
  const char* const image = "input_0=[[[[0,1,2],[3,4,5]],[[6,7,8],[9,10,11]]]]";
  const char* const program = EXPORTED "/channels_last.pte";
  command_expect_out(
      0, WORDS(ETX, "run", program, "forward", "--in", image),
      "output_1: float32[1, 2, 2, 3] = "
      "[[[[0, 4, 8], [12, 16, 20]], [[24, 28, 32], [36, 40, 44]]]]\n"
      "input_0: float32[1, 2, 2, 3] = "
      "[[[[0, 2, 4], [6, 8, 10]], [[12, 14, 16], [18, 20, 22]]]]\n");
  command_expect_out(0, WORDS(ETX, "run", program, "--smoke"),
                     "2 calls passed");
  command_expect_out(0, WORDS(ETX, "dump", program), "order: [0, 2, 3, 1]");
}

static void all_missing_operators_are_reported(void** state) {
  (void)state;
  static const char* const names[] = {
      "quantize_per_tensor",  "quantized_depthwise_conv2d",
      "quantized_conv2d",     "pad",
      "quantized_avg_pool2d", "quantized_linear",
      "dequantize_per_tensor"};
  command_result result = command_run(WORDS(ETX, "run", KEYWORDS, "forward"));
  assert_int_equal(result.code, 2);
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    char line[96];
    snprintf(line, sizeof line, "operator 'cortex_m::%s.out' of instruction",
             names[i]);
    if (strstr(result.err, line) == NULL) fail_msg("%s", result.err);
  }
  assert_non_null(strstr(result.err, "method 'forward' needs 7 operators"));
  command_end(&result);
  command_expect_out(0, WORDS(ETX, "inspect", KEYWORDS), "with 7 operators");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bundled_calls_pass),
      cmocka_unit_test(a_difference_in_a_bundle_is_reported),
      cmocka_unit_test(a_bundle_is_also_a_program),
      cmocka_unit_test(weights_come_from_a_data_file),
      cmocka_unit_test(wrong_data_files_are_refused),
      cmocka_unit_test(inputs_are_converted_to_channels_last),
      cmocka_unit_test(all_missing_operators_are_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
