// Operators that only etx's runtime has and whose results have sizes that data
// decide: unique elements, histograms, object detection. The recorded results
// are those of PyTorch and torchvision.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "tests/cli/command.h"
#include "tests/cli/passes_off.h"

#define ETX ETX_BINARY "/etx"
#define DISTINCT ETX_TEST_DATA "/pt2/distinct"
#define BOXES ETX_TEST_DATA "/pt2/boxes"

enum { PATH_BYTES = 256 };

static char program[PATH_BYTES];

static void name_program(const char* name) {
  snprintf(program, sizeof program, "%s/%s.pte", command_directory, name);
}

static void check_plan(const char* set, const char* threads) {
  command_expect(0, WORDS(ETX, "verify", program));
  command_expect(
      0, WORDS(ETX, "run", program, "--case", set, "--threads", threads));
  command_expect(0, WORDS(ETX, "run", program, "--smoke"));
}

static void agrees(const char* form, const char* set) {
  char option[sizeof passes_off + 16];
  name_program("by_data");
  command_expect(0, WORDS(ETX, "plan", form, "-q", "-o", program));
  check_plan(set, "1");
  snprintf(option, sizeof option, "--passes=%s", passes_off + 1);
  command_expect(0, WORDS(ETX, "plan", form, "-q", "-o", program, option));
  check_plan(set, "3");
}

static void unique_elements_and_histograms_agree_with_pytorch(void** state) {
  (void)state;
  agrees(DISTINCT, DISTINCT);
  agrees(DISTINCT "/core", DISTINCT);
}

static void detection_agrees_with_torchvision(void** state) {
  (void)state;
  agrees(BOXES, BOXES);
  agrees(BOXES "/core", BOXES);
}

static void the_stock_runtime_has_none_of_them(void** state) {
  static const char* const names[] = {"aten._unique2.default",
                                      "aten.bincount.default"};
  (void)state;
  name_program("stock");
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    command_expect_err(
        2,
        WORDS(ETX, "plan", DISTINCT, "-o", program, "--target", "executorch"),
        names[i]);
  }
}

// Two numbers fit the 20 bins that the model states, a larger one does not.
static void more_bins_than_the_cap_are_refused(void** state) {
  (void)state;
  name_program("bins");
  command_expect(
      0, WORDS(ETX, "plan", DISTINCT "/histogram.pt2", "-q", "-o", program));
  command_expect_out(
      0, WORDS(ETX, "run", program, "histogram", "--in", "x=[0, 2]"),
      "int64[3] = [2, 0, 2]");
  command_expect_err(
      5, WORDS(ETX, "run", program, "histogram", "--in", "x=[0, 20]"),
      "has room for 20 elements, found 21");
}

// torchvision states that at least 2 boxes are left. One is, and none of none.
static void one_box_may_be_left(void** state) {
  (void)state;
  name_program("one");
  command_expect(0, WORDS(ETX, "plan", BOXES "/kept.pt2", "-q", "-o", program));
  command_expect_out(
      0,
      WORDS(ETX, "run", program, "kept", "--in",
            "boxes=[[0, 0, 1, 1], [0, 0, 1, 1]]", "--in", "scores=[1, 3]"),
      "int64[1] = [1]");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(unique_elements_and_histograms_agree_with_pytorch),
      cmocka_unit_test(detection_agrees_with_torchvision),
      cmocka_unit_test(the_stock_runtime_has_none_of_them),
      cmocka_unit_test(more_bins_than_the_cap_are_refused),
      cmocka_unit_test(one_box_may_be_left),
  };
  return cmocka_run_group_tests(tests, command_set_up, command_tear_down);
}
