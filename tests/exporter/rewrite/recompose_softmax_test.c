// Spelled-out softmax.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/exporter/lowered.h"

#define PASSES "lower recompose_softmax simplify"

#define INPUT "inputs: [{name: x, type: 'float32[2, 3, 4]'}]\nnodes:\n"

#define AMAX(dim) \
  "  - {out: m, op: aten.amax.default, args: [x, [" dim "], true]}\n"

#define QUOTIENT(dim)                                      \
  "  - {out: d, op: aten.sub.Tensor, args: [x, m]}\n"      \
  "  - {out: e, op: aten.exp.default, args: [d]}\n"        \
  "  - {out: s, op: aten.sum.dim_IntList, args: [e, [" dim \
  "], true]}\n"                                            \
  "  - {out: y, op: aten.div.Tensor, args: [e, s]}\n"      \
  "outputs: [y]\n"

// x - max(x), where the maximum is reduced without keepdim and viewed back.
#define SHIFTED                                              \
  "  - {out: n, op: aten.amax.default, args: [x, [1]]}\n"    \
  "  - {out: m, op: aten.unsqueeze.default, args: [n, 1]}\n" \
  "  - {out: d, op: aten.sub.Tensor, args: [x, m]}\n"

#define SOFTMAX(value, dim)                                   \
  "  - {out: y, op: aten.softmax.int, args: [" value ", " dim \
  "]}\n"                                                      \
  "outputs: [y]\n"

#define FOUND(dim) \
  "y: float32[2, 3, 4] = aten::_softmax.out(x, " dim ", False)\nreturn y\n"

static void exp_divided_by_its_sum_is_softmax(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_ETX, PASSES, INPUT AMAX("-1") QUOTIENT("2"),
                 FOUND("2"));
  expect_lowered(ETX_TARGET_ETX, PASSES,
                 INPUT
                 "  - {out: [m, i], op: aten.max.dim, args: [x, 1, "
                 "true]}\n" QUOTIENT("1"),
                 FOUND("1"));
}

static void exp_of_log_softmax_is_softmax(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_ETX, PASSES,
                 INPUT
                 "  - {out: l, op: aten.log_softmax.int, args: [x, -1]}\n"
                 "  - {out: y, op: aten.exp.default, args: [l]}\n"
                 "outputs: [y]\n",
                 FOUND("-1"));
}

static void subtracting_the_maximum_before_softmax_is_removed(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_ETX, PASSES,
                 INPUT AMAX("-1") "  - {out: d, op: aten.sub.Tensor, args: [x, "
                                  "m]}\n" SOFTMAX("d", "2"),
                 FOUND("2"));
  expect_lowered(
      ETX_TARGET_ETX, PASSES,
      INPUT SHIFTED
      "  - {out: e, op: aten.mul.Tensor, args: [d, 0.5]}\n" SOFTMAX("e", "1"),
      "y.1: float32[2, 3, 4] = aten::mul.out(x, 0.5:float32)\n"
      "y: float32[2, 3, 4] = aten::_softmax.out(y.1, 1, False)\nreturn y\n");
}

// Another dimension, and a factor that may make values infinite.
static void other_subtractions_stay(void** state) {
  (void)state;
  static const char* const graphs[] = {
      INPUT SHIFTED SOFTMAX("d", "2"),
      INPUT SHIFTED
      "  - {out: e, op: aten.mul.Tensor, args: [d, 2.0]}\n" SOFTMAX("e", "1"),
  };
  for (size_t i = 0; i < sizeof graphs / sizeof *graphs; ++i) {
    lowered l;
    lowered_open(&l, ETX_TARGET_ETX, graphs[i]);
    lowered_run(&l, PASSES);
    assert_non_null(strstr(lowered_lines(&l), "amax"));
    lowered_close(&l);
  }
}

// The sum is of another dimension, or what is subtracted is not the largest of
// the same values.
static void other_quotients_stay(void** state) {
  (void)state;
  static const char* const graphs[] = {
      INPUT AMAX("-1") QUOTIENT("1"),
      INPUT
      "  - {out: n, op: aten.neg.default, args: [x]}\n"
      "  - {out: m, op: aten.amax.default, args: [n, [-1], true]}\n" QUOTIENT(
          "-1"),
      INPUT
      "  - {out: m, op: aten.amin.default, args: [x, [-1], true]}\n" QUOTIENT(
          "-1"),
  };
  for (size_t i = 0; i < sizeof graphs / sizeof *graphs; ++i) {
    lowered l;
    lowered_open(&l, ETX_TARGET_ETX, graphs[i]);
    lowered_run(&l, PASSES);
    assert_null(strstr(lowered_lines(&l), "softmax"));
    lowered_close(&l);
  }
}

static void executorch_keeps_the_spelled_out_softmax(void** state) {
  (void)state;
  lowered l;
  lowered_open(&l, ETX_TARGET_EXECUTORCH, INPUT AMAX("-1") QUOTIENT("-1"));
  lowered_run(&l, PASSES);
  assert_null(strstr(lowered_lines(&l), "softmax"));
  lowered_close(&l);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exp_divided_by_its_sum_is_softmax),
      cmocka_unit_test(exp_of_log_softmax_is_softmax),
      cmocka_unit_test(subtracting_the_maximum_before_softmax_is_removed),
      cmocka_unit_test(other_subtractions_stay),
      cmocka_unit_test(other_quotients_stay),
      cmocka_unit_test(executorch_keeps_the_spelled_out_softmax),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
