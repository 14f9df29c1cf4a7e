// where() over a range of rows as slice_scatter.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/exporter/lowered.h"

static void where_over_one_row_is_slice_scatter(void** state) {
  (void)state;
  static const etx_target targets[] = {ETX_TARGET_ETX, ETX_TARGET_EXECUTORCH};
  for (size_t i = 0; i < sizeof targets / sizeof *targets; ++i) {
    expect_lowered(
        targets[i], "lower fold_constants recompose_slice_scatter simplify",
        "inputs: [{name: x, type: 'float32[3, 4, 2]'}, {name: r, type: "
        "'float32[4, 2]'}]\n"
        "nodes:\n"
        "  - {out: a, op: aten.arange.start_step, args: [0, 3]}\n"
        "  - {out: v, op: aten.view.default, args: [a, [-1, 1, 1]]}\n"
        "  - {out: e, op: aten.eq.Scalar, args: [v, 1]}\n"
        "  - {out: u, op: aten.unsqueeze.default, args: [r, 0]}\n"
        "  - {out: w, op: aten.expand.default, args: [u, [3, 4, 2]]}\n"
        "  - {out: y, op: aten.where.self, args: [e, w, x]}\n"
        "outputs: [y]\n",
        "u: float32[1, 4, 2] = aten::view_copy.out(r, [1, 4, 2])\n"
        "y: float32[3, 4, 2] = aten::slice_scatter.out(x, u, 0, 1, 2, 1)\n"
        "return y\n");
  }
}

static void where_over_consecutive_rows_is_slice_scatter(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower fold_constants recompose_slice_scatter simplify",
      "inputs: [{name: x, type: 'float32[3, 4, 2]'}, {name: r, type: "
      "'float32[3, 4, 2]'}]\n"
      "nodes:\n"
      "  - {out: a, op: aten.arange.start_step, args: [0, 3]}\n"
      "  - {out: v, op: aten.view.default, args: [a, [-1, 1, 1]]}\n"
      "  - {out: e, op: aten.ge.Scalar, args: [v, 1]}\n"
      "  - {out: y, op: aten.where.self, args: [e, r, x]}\n"
      "outputs: [y]\n",
      "y.1: float32[2, 4, 2] = aten::slice_copy.Tensor_out(r, 0, 1, 3, 1)\n"
      "y: float32[3, 4, 2] = aten::slice_scatter.out(x, y.1, 0, 1, 3, 1)\n"
      "return y\n");
}

static void where_over_separate_rows_is_left_alone(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower fold_constants recompose_slice_scatter simplify",
      "inputs: [{name: x, type: 'float32[3, 4, 2]'}, {name: r, type: "
      "'float32[3, 4, 2]'}]\n"
      "nodes:\n"
      "  - {out: a, op: aten.arange.start_step, args: [0, 3]}\n"
      "  - {out: v, op: aten.view.default, args: [a, [-1, 1, 1]]}\n"
      "  - {out: e, op: aten.ne.Scalar, args: [v, 1]}\n"
      "  - {out: y, op: aten.where.self, args: [e, r, x]}\n"
      "outputs: [y]\n",
      "y: float32[3, 4, 2] = aten::where.self_out(const bool[3, 1, 1], r, x)\n"
      "return y\n");
}

static void a_mask_that_is_not_constant_is_left_alone(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_ETX,
                 "lower fold_constants recompose_slice_scatter simplify",
                 "inputs: [{name: x, type: 'float32[3, 2]'}, {name: r, type: "
                 "'float32[3, 2]'}, {name: i, type: 'int64[3, 1]'}]\n"
                 "nodes:\n"
                 "  - {out: e, op: aten.eq.Scalar, args: [i, 1]}\n"
                 "  - {out: y, op: aten.where.self, args: [e, r, x]}\n"
                 "outputs: [y]\n",
                 "e: bool[3, 1] = aten::eq.Scalar_out(i, 1)\n"
                 "y: float32[3, 2] = aten::where.self_out(e, r, x)\n"
                 "return y\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(where_over_one_row_is_slice_scatter),
      cmocka_unit_test(where_over_consecutive_rows_is_slice_scatter),
      cmocka_unit_test(where_over_separate_rows_is_left_alone),
      cmocka_unit_test(a_mask_that_is_not_constant_is_left_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
