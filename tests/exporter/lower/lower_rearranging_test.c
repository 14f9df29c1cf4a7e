// Lowering of tile, pad, diff, meshgrid and diagonals.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/exporter/lowered.h"

static void diff_takes_prepend_and_append(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower",
      "inputs: [{name: x, type: 'int64[2, 5]'}, {name: p, type: "
      "'float32[2, 1]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.diff.default, args: [x, 1, -1, p]}\n"
      "outputs: [y]\n",
      "y.1: float32[2, 5] = dim_order_ops::_to_dim_order_copy.out(x, "
      "False, [0, 1])\n"
      "y.2: float32[2, 6] = aten::cat.out([p, y.1], 1)\n"
      "y.3: float32[2, 5] = aten::slice_copy.Tensor_out(y.2, 1, 0, 5, 1)\n"
      "y.4: float32[2, 5] = aten::slice_copy.Tensor_out(y.2, 1, 1, 6, 1)\n"
      "y: float32[2, 5] = aten::sub.out(y.4, y.3, 1)\n"
      "return y\n");
}

static void assertions_are_removed(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower",
      "inputs: [{name: x, type: 'float32[2]'}]\n"
      "nodes:\n"
      "  - {op: aten._assert_tensor_metadata.default, args: [x, null, null, "
      "float32]}\n"
      "outputs: [x]\n",
      "return x\n");
}

// Circular padding takes no element twice on one side.
static void circular_padding_checks_a_varying_size(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower",
      "dims: {n: {min: 1, max: 9}}\n"
      "inputs: [{name: x, type: 'float32[2, n]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.pad.default, args: [x, [1, 2], {str: "
      "circular}]}\n"
      "outputs: [y]\n",
      "y.1: uint8[0] = etx::check_range.(min(n - 1, 1), 1, 1, 'circular "
      "padding is at most as long as the dimension')\n"
      "y.2: float32[2, 1] = aten::slice_copy.Tensor_out(x, 1, n - 1, n, 1)\n"
      "y.3: float32[2, min(n, 2)] = aten::slice_copy.Tensor_out(x, 1, 0, 2, "
      "1)\n"
      "y: float32[2, n + min(n, 2) + 1] = aten::cat.out([y.2, x, y.3], 1)\n"
      "return y\n");
}

static void padding_modes(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'float32[2, 5]'}]\n"
      "nodes:\n"
      "  - {out: a, op: aten.pad.default, args: [x, [2, 1], {str: reflect}]}\n"
      "  - {out: b, op: aten.pad.default, args: [x, [2, 1], {str: "
      "replicate}]}\n"
      "  - {out: c, op: aten.pad.default, args: [x, [2, 1], {str: "
      "circular}]}\n"
      "outputs: [a, b, c]\n",
      "a: float32[2, 8] = aten::reflection_pad1d.out(x, [2, 1])\n"
      "b: float32[2, 8] = aten::replication_pad1d.out(x, [2, 1])\n"
      "c.1: float32[2, 2] = aten::slice_copy.Tensor_out(x, 1, 3, 5, 1)\n"
      "c.2: float32[2, 1] = aten::slice_copy.Tensor_out(x, 1, 0, 1, 1)\n"
      "c: float32[2, 8] = aten::cat.out([c.1, x, c.2], 1)\n"
      "return a\n"
      "return b\n"
      "return c\n");
}

static void unfold_is_one_operator(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "dims: {s: {min: 1, max: 8}}\n"
      "inputs: [{name: x, type: 'float32[s + 3]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.unfold.default, args: [x, 0, 3, 1]}\n"
      "  - {out: z, op: aten.roll.default, args: [y, [1, 2], [0, 1]]}\n"
      "outputs: [z]\n",
      "y: float32[s + 1, 3] = aten::unfold_copy.out(x, 0, 3, 1)\n"
      "z: float32[s + 1, 3] = aten::roll.out(y, [1, 2], [0, 1])\n"
      "return z\n");
}

static void diagonal_scatter_is_a_slice_scatter_with_a_step(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'float32[4, 6]'}, {name: s, type: "
      "'float32[4]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.diagonal_scatter.default, args: [x, s, 1]}\n"
      "outputs: [y]\n",
      "y.1: float32[24] = aten::view_copy.out(x, [24])\n"
      "y.2: float32[24] = aten::slice_scatter.out(y.1, s, 0, 1, 23, 7)\n"
      "y: float32[4, 6] = aten::view_copy.out(y.2, [4, 6])\n"
      "return y\n");
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'float32[4, 2, 6]'}, {name: s, type: "
      "'float32[2, 2]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.diagonal_scatter.default, args: [x, s, -2, 2, "
      "0]}\n"
      "outputs: [y]\n",
      "y.1: float32[2, 6, 4] = aten::permute_copy.out(x, [1, 2, 0])\n"
      "y.2: float32[2, 24] = aten::view_copy.out(y.1, [2, 24])\n"
      "y.3: float32[2, 24] = aten::slice_scatter.out(y.2, s, 1, 8, 14, 5)\n"
      "y.4: float32[2, 6, 4] = aten::view_copy.out(y.3, [2, 6, 4])\n"
      "y: float32[4, 2, 6] = aten::permute_copy.out(y.4, [2, 0, 1])\n"
      "return y\n");
}

static void a_diagonal_outside_the_matrix_is_refused(void** state) {
  (void)state;
  expect_refused(
      ETX_TARGET_ETX, "lower",
      "inputs: [{name: x, type: 'float32[4, 6]'}, {name: s, type: "
      "'float32[4]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.diagonal_scatter.default, args: [x, s, -4]}\n"
      "outputs: [y]\n",
      "diagonal -4 is outside a matrix of 4 x 6");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(diff_takes_prepend_and_append),
      cmocka_unit_test(assertions_are_removed),
      cmocka_unit_test(circular_padding_checks_a_varying_size),
      cmocka_unit_test(padding_modes),
      cmocka_unit_test(unfold_is_one_operator),
      cmocka_unit_test(diagonal_scatter_is_a_slice_scatter_with_a_step),
      cmocka_unit_test(a_diagonal_outside_the_matrix_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
