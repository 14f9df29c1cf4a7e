// Patches of images and joins of other ranks after lowering.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/exporter/lowered.h"

static void rows_are_unfolded_before_columns(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'float32[2, 3, 8, 9]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.im2col.default, args: [x, [3, 2], [1, 1], [1, 0], "
      "[2, 1]]}\n"
      "outputs: [y]\n",
      "y.1: float32[2, 3, 10, 9] = aten::constant_pad_nd.out(x, [0, 0, 1, 1], "
      "0)\n"
      "y.2: float32[2, 3, 4, 9, 3] = aten::unfold_copy.out(y.1, 2, 3, 2)\n"
      "y.3: float32[2, 3, 4, 8, 3, 2] = aten::unfold_copy.out(y.2, 3, 2, 1)\n"
      "y.4: float32[2, 3, 3, 2, 4, 8] = aten::permute_copy.out(y.3, [0, 1, 4, "
      "5, 2, 3])\n"
      "y: float32[2, 18, 32] = aten::view_copy.out(y.4, [2, 18, 32])\n"
      "return y\n");
}

static void dilation_keeps_some_of_a_window(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'float32[3, 8, 9]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.im2col.default, args: [x, [3, 2], [2, 1], [0, 0], "
      "[1, 1]]}\n"
      "outputs: [y]\n",
      "y.1: float32[1, 3, 8, 9] = aten::view_copy.out(x, [1, 3, 8, 9])\n"
      "y.2: float32[1, 3, 4, 9, 5] = aten::unfold_copy.out(y.1, 2, 5, 1)\n"
      "y.3: float32[1, 3, 4, 9, 3] = aten::slice_copy.Tensor_out(y.2, 4, 0, 5, "
      "2)\n"
      "y.4: float32[1, 3, 4, 8, 3, 2] = aten::unfold_copy.out(y.3, 3, 2, 1)\n"
      "y.5: float32[1, 3, 3, 2, 4, 8] = aten::permute_copy.out(y.4, [0, 1, 4, "
      "5, 2, 3])\n"
      "y: float32[18, 32] = aten::view_copy.out(y.5, [18, 32])\n"
      "return y\n");
}

static void columns_are_summed_by_a_transposed_convolution(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'float32[2, 12, 20]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.col2im.default, args: [x, [9, 6], [2, 2], [1, "
      "1], [0, 0], [2, 1]]}\n"
      "outputs: [y]\n",
      "y.1: float32[6, 4, 4, 5] = aten::view_copy.out(x, [6, 4, 4, 5])\n"
      "y.2: float32[6, 1, 9, 6] = aten::convolution.out(y.1, const "
      "float32[4, 1, 2, 2], None, [2, 1], [0, 0], [1, 1], True, [1, 0], 1)\n"
      "y: float32[2, 3, 9, 6] = aten::view_copy.out(y.2, [2, 3, 9, 6])\n"
      "return y\n");
}

static void empty_vectors_join_anything(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: e, type: 'float32[0]'}, {name: x, type: 'float32[2, "
      "3]'}, {name: y, type: 'float32[2, 4]'}]\n"
      "nodes:\n"
      "  - {out: a, op: aten.cat.default, args: [[e, x, y], -1]}\n"
      "  - {out: b, op: aten.cat.default, args: [[e, x], -2]}\n"
      "  - {out: c, op: aten.cat.default, args: [[e, e]]}\n"
      "outputs: [a, b, c]\n",
      "a: float32[2, 7] = aten::cat.out([x, y], 1)\n"
      "return a\n"
      "return x\n"
      "return e\n");
}

static void stacks_become_views_and_cat(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower",
      "inputs: [{name: x, type: 'float32[3]'}, {name: m, type: 'float32[2, "
      "3]'}]\n"
      "nodes:\n"
      "  - {out: a, op: aten.vstack.default, args: [[x, m]]}\n"
      "  - {out: b, op: aten.hstack.default, args: [[x, x]]}\n"
      "  - {out: c, op: aten.column_stack.default, args: [[x, x]]}\n"
      "  - {out: d, op: aten.dstack.default, args: [[m, m]]}\n"
      "outputs: [a, b, c, d]\n",
      "a.1: float32[1, 3] = aten::view_copy.out(x, [1, 3])\n"
      "a: float32[3, 3] = aten::cat.out([a.1, m], 0)\n"
      "b: float32[6] = aten::cat.out([x, x], 0)\n"
      "c.1: float32[3, 1] = aten::view_copy.out(x, [3, 1])\n"
      "c.2: float32[3, 1] = aten::view_copy.out(x, [3, 1])\n"
      "c: float32[3, 2] = aten::cat.out([c.1, c.2], 1)\n"
      "d.1: float32[2, 3, 1] = aten::view_copy.out(m, [2, 3, 1])\n"
      "d.2: float32[2, 3, 1] = aten::view_copy.out(m, [2, 3, 1])\n"
      "d: float32[2, 3, 2] = aten::cat.out([d.1, d.2], 2)\n"
      "return a\n"
      "return b\n"
      "return c\n"
      "return d\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_are_unfolded_before_columns),
      cmocka_unit_test(dilation_keeps_some_of_a_window),
      cmocka_unit_test(columns_are_summed_by_a_transposed_convolution),
      cmocka_unit_test(empty_vectors_join_anything),
      cmocka_unit_test(stacks_become_views_and_cat),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
