// Lowering of embedding_bag.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/exporter/lowered.h"

static void bags_are_computed_from_offsets(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: w, type: 'float32[9, 4]'}, {name: i, type: "
      "'int64[6]'}, {name: o, type: 'int64[3]'}]\n"
      "nodes:\n"
      "  - {out: [y, a, b, c], op: aten._embedding_bag.default, args: [w, i, "
      "o]}\n"
      "outputs: [y]\n",
      "y.1: int64[6] = aten::arange.start_out(0, 6, 1)\n"
      "y.2: int64[6, 1] = aten::view_copy.out(y.1, [6, 1])\n"
      "y.3: bool[6, 3] = aten::le.Tensor_out(o, y.2)\n"
      "y.4: int64[6, 3] = dim_order_ops::_to_dim_order_copy.out(y.3, False, "
      "[0, 1])\n"
      "y.5: int64[6] = aten::sum.IntList_out(y.4, [-1], False, None)\n"
      "y.6: int64[6] = aten::sub.out(y.5, 1:int64, 1)\n"
      "y.7: float32[6, 4] = aten::embedding.out(w, i, -1, False, False)\n"
      "y.8: float32[3, 4] = aten::full.out([3, 4], 0)\n"
      "y: float32[3, 4] = aten::index_put.out(y.8, [y.6], y.7, True)\n"
      "return y\n");
  expect_lowered(
      ETX_TARGET_EXECUTORCH, "lower simplify",
      "inputs: [{name: w, type: 'float32[9, 4]'}, {name: i, type: "
      "'int64[6]'}, {name: o, type: 'int64[3]'}]\n"
      "nodes:\n"
      "  - {out: [y, a, b, c], op: aten.embedding_bag.padding_idx, args: [w, "
      "i, o, false, 1, false, null, true, 2]}\n"
      "outputs: [y]\n",
      "y.1: int64[2] = aten::slice_copy.Tensor_out(o, 0, 0, 2, 1)\n"
      "y.2: int64[6] = aten::arange.start_out(0, 6, 1)\n"
      "y.3: int64[6, 1] = aten::view_copy.out(y.2, [6, 1])\n"
      "y.4: bool[6, 2] = aten::le.Tensor_out(y.1, y.3)\n"
      "y.5: int64[6, 2] = dim_order_ops::_to_dim_order_copy.out(y.4, False, "
      "[0, 1])\n"
      "y.6: int64[6] = aten::sum.IntList_out(y.5, [-1], False, None)\n"
      "y.7: int64[6] = aten::sub.out(y.6, 1:int64, 1)\n"
      "y.8: bool[6] = aten::ne.Scalar_out(i, 2)\n"
      "y.9: bool[6, 1] = aten::view_copy.out(y.8, [6, 1])\n"
      "y.10: float32[6, 4] = aten::embedding.out(w, i, -1, False, False)\n"
      "y.11: float32[6, 4] = aten::where.self_out(y.9, y.10, 0.0:float32)\n"
      "y.12: float32[2, 4] = aten::full.out([2, 4], 0)\n"
      "y.13: float32[2, 4] = aten::index_put.out(y.12, [y.7], y.11, True)\n"
      "y.14: float32[6, 1] = dim_order_ops::_to_dim_order_copy.out(y.9, "
      "False, [0, 1])\n"
      "y.15: float32[2, 1] = aten::full.out([2, 1], 0)\n"
      "y.16: float32[2, 1] = aten::index_put.out(y.15, [y.7], y.14, True)\n"
      "y.17: float32[2, 1] = aten::maximum.out(y.16, 1.0:float32)\n"
      "y: float32[2, 4] = aten::div.out(y.13, y.17)\n"
      "return y\n");
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: w, type: 'float32[9, 4]'}, {name: i, type: "
      "'int64[6]'}, {name: o, type: 'int64[3]'}]\n"
      "nodes:\n"
      "  - {out: [y, a, b, c], op: aten.embedding_bag.default, args: [w, i, "
      "o, false, 2]}\n"
      "outputs: [y]\n",
      "y.1: int64[6] = aten::arange.start_out(0, 6, 1)\n"
      "y.2: int64[6, 1] = aten::view_copy.out(y.1, [6, 1])\n"
      "y.3: bool[6, 3] = aten::le.Tensor_out(o, y.2)\n"
      "y.4: int64[6, 3] = dim_order_ops::_to_dim_order_copy.out(y.3, False, "
      "[0, 1])\n"
      "y.5: int64[6] = aten::sum.IntList_out(y.4, [-1], False, None)\n"
      "y.6: int64[6] = aten::sub.out(y.5, 1:int64, 1)\n"
      "y.7: float32[6, 4] = aten::embedding.out(w, i, -1, False, False)\n"
      "y.8: float32[3, 4] = aten::full.out([3, 4], -inf)\n"
      "y.9: int64[6, 1] = aten::view_copy.out(y.6, [6, 1])\n"
      "y.10: int64[6, 4] = aten::expand_copy.out(y.9, [6, 4], False)\n"
      "y.11: float32[3, 4] = etx::scatter_reduce.two_out(y.8, 0, y.10, y.7, "
      "'amax', True)\n"
      "y.12: float32[6, 1] = aten::full.out([6, 1], 1)\n"
      "y.13: float32[3, 1] = aten::full.out([3, 1], 0)\n"
      "y.14: float32[3, 1] = aten::index_put.out(y.13, [y.6], y.12, True)\n"
      "y.15: bool[3, 1] = aten::eq.Scalar_out(y.14, 0)\n"
      "y: float32[3, 4] = aten::where.self_out(y.15, 0.0:float32, y.11)\n"
      "return y\n");
}

static void bags_of_one_size_become_a_dimension(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "dims: {b: {min: 1, max: 8}}\n"
      "inputs: [{name: w, type: 'float32[9, 4]'}, {name: i, type: 'int64[b, "
      "3]'}, {name: f, type: 'float32[b, 3]'}]\n"
      "nodes:\n"
      "  - {out: o, op: aten.arange.start_step, args: [0, {sym: 3*b}, 3]}\n"
      "  - {out: v, op: aten.view.default, args: [i, [-1]]}\n"
      "  - {out: g, op: aten.view.default, args: [f, [-1]]}\n"
      "  - {out: [y, a, c, d], op: aten._embedding_bag.default, args: [w, v, "
      "o, false, 0, false, g]}\n"
      "outputs: [y]\n",
      "v: int64[3*b] = aten::view_copy.out(i, [3*b])\n"
      "y.1: float32[3*b, 4] = aten::embedding.out(w, v, -1, False, False)\n"
      "y.2: float32[3*b, 1] = aten::view_copy.out(f, [3*b, 1])\n"
      "y.3: float32[3*b, 4] = aten::mul.out(y.1, y.2)\n"
      "y.4: float32[b, 3, 4] = aten::view_copy.out(y.3, [b, 3, 4])\n"
      "y: float32[b, 4] = aten::sum.IntList_out(y.4, [1], False, None)\n"
      "return y\n");
}

static void unsupported_bags_are_refused(void** state) {
  (void)state;
  expect_refused(
      ETX_TARGET_EXECUTORCH, "lower",
      "inputs: [{name: w, type: 'float32[9, 4]'}, {name: i, type: "
      "'int64[6]'}, {name: o, type: 'int64[3]'}]\n"
      "nodes:\n"
      "  - {out: [y, a, b, c], op: aten.embedding_bag.default, args: [w, i, "
      "o, false, 2]}\n"
      "outputs: [y]\n",
      "runs only in etx's runtime");
  expect_refused(
      ETX_TARGET_ETX, "lower",
      "inputs: [{name: w, type: 'float32[9, 4]'}, {name: i, type: "
      "'int64[6]'}, {name: o, type: 'int64[3]'}]\n"
      "nodes:\n"
      "  - {out: [y, a, b, c], op: aten.embedding_bag.default, args: [w, i, "
      "o]}\n"
      "outputs: [a]\n",
      "only if its output 1 is unused");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bags_are_computed_from_offsets),
      cmocka_unit_test(bags_of_one_size_become_a_dimension),
      cmocka_unit_test(unsupported_bags_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
