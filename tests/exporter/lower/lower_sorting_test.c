// Lowering of median, kthvalue, mode, quantile, cummax and cummin.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/exporter/lowered.h"

static void a_median_is_the_lower_middle_or_nan(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'float32[3, 5]'}]\n"
      "nodes:\n"
      "  - {out: [y, j], op: aten.median.dim, args: [x, 1]}\n"
      "outputs: [y, j]\n",
      "y.1: float32[3, 5], y.2: int64[3, 5] = etx::sort.values_stable(x, "
      "False, 1, False)\n"
      "y.3: float32[3, 1] = aten::slice_copy.Tensor_out(y.1, 1, 2, 3, 1)\n"
      "y.4: int64[3, 1] = aten::slice_copy.Tensor_out(y.2, 1, 2, 3, 1)\n"
      "y.5: float32[3, 1], y.6: int64[3, 1] = aten::max.dim_max(x, 1, True)\n"
      "y.7: bool[3, 1] = aten::isnan.out(y.5)\n"
      "y.8: float32[3, 1] = aten::where.self_out(y.7, y.5, y.3)\n"
      "y.9: int64[3, 1] = aten::where.self_out(y.7, y.6, y.4)\n"
      "y: float32[3] = aten::select_copy.int_out(y.8, 1, 0)\n"
      "j: int64[3] = aten::select_copy.int_out(y.9, 1, 0)\n"
      "return y\n"
      "return j\n");
  expect_lowered(
      ETX_TARGET_EXECUTORCH, "lower simplify",
      "inputs: [{name: i, type: 'int64[3, 5]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.median.default, args: [i]}\n"
      "outputs: [y]\n",
      "y.1: int64[15] = aten::view_copy.out(i, [15])\n"
      "y.2: int64[15], y.3: int64[15] = aten::topk.values(y.1, 15, 0, False, "
      "True)\n"
      "y.4: int64[1] = aten::slice_copy.Tensor_out(y.2, 0, 7, 8, 1)\n"
      "y: int64[] = aten::select_copy.int_out(y.4, 0, 0)\n"
      "return y\n");
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "dims: {s: {min: 1, max: 9}}\n"
      "inputs: [{name: x, type: 'float32[s, 5]'}]\n"
      "nodes:\n"
      "  - {out: [y, j], op: aten.median.dim, args: [x, 0, true]}\n"
      "outputs: [y]\n",
      "y.1: float32[s, 5], y.2: int64[s, 5] = etx::sort.values_stable(x, "
      "False, 0, False)\n"
      "y.3: float32[1, 5] = aten::slice_copy.Tensor_out(y.1, 0, (s + 1)//2 - "
      "1, (s + 1)//2, 1)\n"
      "y.5: float32[1, 5], y.6: int64[1, 5] = aten::max.dim_max(x, 0, True)\n"
      "y.7: bool[1, 5] = aten::isnan.out(y.5)\n"
      "y: float32[1, 5] = aten::where.self_out(y.7, y.5, y.3)\n"
      "return y\n");
}

static void nanmedian_ignores_nan(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'float32[3, 5]'}]\n"
      "nodes:\n"
      "  - {out: [y, j], op: aten.nanmedian.dim, args: [x, -1, true]}\n"
      "outputs: [y, j]\n",
      "y.1: bool[3, 5] = aten::isnan.out(x)\n"
      "y.2: int64[3, 5] = dim_order_ops::_to_dim_order_copy.out(y.1, False, "
      "[0, 1])\n"
      "y.3: int64[3, 1] = aten::sum.IntList_out(y.2, [1], True, None)\n"
      "y.4: int64[3, 1] = aten::sub.out(5:int64, y.3, 1)\n"
      "y.5: int64[3, 1] = aten::sub.out(y.4, 1:int64, 1)\n"
      "y.6: int64[3, 1] = aten::maximum.out(y.5, 0:int64)\n"
      "y.7: int64[3, 1] = aten::bitwise_right_shift.Tensor_Scalar_out(y.6, "
      "1)\n"
      "y.8: float32[3, 5], y.9: int64[3, 5] = etx::sort.values_stable(x, "
      "False, 1, False)\n"
      "y: float32[3, 1] = aten::gather.out(y.8, 1, y.7, False)\n"
      "j: int64[3, 1] = aten::gather.out(y.9, 1, y.7, False)\n"
      "return y\n"
      "return j\n");
}

static void kthvalue_is_a_slice_of_the_sorted_tensor(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'float32[3, 5]'}]\n"
      "nodes:\n"
      "  - {out: [y, j], op: aten.kthvalue.default, args: [x, 2, 0]}\n"
      "outputs: [y, j]\n",
      "y.1: float32[3, 5], y.2: int64[3, 5] = etx::sort.values_stable(x, "
      "False, 0, False)\n"
      "y.3: float32[1, 5] = aten::slice_copy.Tensor_out(y.1, 0, 1, 2, 1)\n"
      "y.4: int64[1, 5] = aten::slice_copy.Tensor_out(y.2, 0, 1, 2, 1)\n"
      "y: float32[5] = aten::select_copy.int_out(y.3, 0, 0)\n"
      "j: int64[5] = aten::select_copy.int_out(y.4, 0, 0)\n"
      "return y\n"
      "return j\n");
  expect_lowered(
      ETX_TARGET_EXECUTORCH, "lower simplify",
      "inputs: [{name: x, type: 'float32[]'}]\n"
      "nodes:\n"
      "  - {out: [y, j], op: aten.kthvalue.default, args: [x, 1]}\n"
      "outputs: [y, j]\n",
      "y.1: float32[1] = aten::view_copy.out(x, [1])\n"
      "y.2: float32[1], y.3: int64[1] = aten::topk.values(y.1, 1, 0, False, "
      "True)\n"
      "y: float32[] = aten::select_copy.int_out(y.2, 0, 0)\n"
      "j: int64[] = aten::select_copy.int_out(y.3, 0, 0)\n"
      "return y\n"
      "return j\n");
}

static void kthvalue_out_of_range_is_refused(void** state) {
  (void)state;
  expect_refused(ETX_TARGET_ETX, "lower",
                 "inputs: [{name: x, type: 'float32[3, 5]'}]\n"
                 "nodes:\n"
                 "  - {out: [y, j], op: aten.kthvalue.default, args: [x, 6]}\n"
                 "outputs: [y]\n",
                 "'k' is 6, outside a dimension of size 5");
}

static void cummax_of_the_stock_runtime_takes_doubling_steps(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_EXECUTORCH, "lower simplify",
      "inputs: [{name: x, type: 'float32[3, 5]'}]\n"
      "nodes:\n"
      "  - {out: [y, j], op: aten.cummax.default, args: [x, 0]}\n"
      "outputs: [y]\n",
      "y.1: float32[1, 5] = aten::slice_copy.Tensor_out(x, 0, 0, 1, 1)\n"
      "y.2: float32[2, 5] = aten::slice_copy.Tensor_out(x, 0, 1, 3, 1)\n"
      "y.3: float32[2, 5] = aten::slice_copy.Tensor_out(x, 0, 0, 2, 1)\n"
      "y.4: float32[2, 5] = aten::maximum.out(y.2, y.3)\n"
      "y.5: float32[3, 5] = aten::cat.out([y.1, y.4], 0)\n"
      "y.6: float32[2, 5] = aten::slice_copy.Tensor_out(y.5, 0, 0, 2, 1)\n"
      "y.7: float32[1, 5] = aten::slice_copy.Tensor_out(y.5, 0, 2, 3, 1)\n"
      "y.9: float32[1, 5] = aten::maximum.out(y.7, y.1)\n"
      "y: float32[3, 5] = aten::cat.out([y.6, y.9], 0)\n"
      "return y\n");
  expect_lowered(
      ETX_TARGET_EXECUTORCH, "lower simplify",
      "inputs: [{name: i, type: 'int64[3, 5]'}]\n"
      "nodes:\n"
      "  - {out: [y, j], op: aten.cummin.default, args: [i, 0]}\n"
      "outputs: [y, j]\n",
      "y.1: int64[1, 5] = aten::slice_copy.Tensor_out(i, 0, 0, 1, 1)\n"
      "y.2: int64[2, 5] = aten::slice_copy.Tensor_out(i, 0, 1, 3, 1)\n"
      "y.3: int64[2, 5] = aten::slice_copy.Tensor_out(i, 0, 0, 2, 1)\n"
      "y.4: int64[2, 5] = aten::minimum.out(y.2, y.3)\n"
      "y.5: int64[3, 5] = aten::cat.out([y.1, y.4], 0)\n"
      "y.6: int64[2, 5] = aten::slice_copy.Tensor_out(y.5, 0, 0, 2, 1)\n"
      "y.7: int64[1, 5] = aten::slice_copy.Tensor_out(y.5, 0, 2, 3, 1)\n"
      "y.9: int64[1, 5] = aten::minimum.out(y.7, y.1)\n"
      "y: int64[3, 5] = aten::cat.out([y.6, y.9], 0)\n"
      "y.11: bool[3, 5] = aten::eq.Tensor_out(i, y)\n"
      "y.12: int64[3] = aten::arange.start_out(0, 3, 1)\n"
      "y.13: int64[3, 1] = aten::view_copy.out(y.12, [3, 1])\n"
      "y.14: int64[3, 5] = aten::where.self_out(y.11, y.13, 0:int64)\n"
      "y.15: int64[1, 5] = aten::slice_copy.Tensor_out(y.14, 0, 0, 1, 1)\n"
      "y.16: int64[2, 5] = aten::slice_copy.Tensor_out(y.14, 0, 1, 3, 1)\n"
      "y.17: int64[2, 5] = aten::slice_copy.Tensor_out(y.14, 0, 0, 2, 1)\n"
      "y.18: int64[2, 5] = aten::maximum.out(y.16, y.17)\n"
      "y.19: int64[3, 5] = aten::cat.out([y.15, y.18], 0)\n"
      "y.20: int64[2, 5] = aten::slice_copy.Tensor_out(y.19, 0, 0, 2, 1)\n"
      "y.21: int64[1, 5] = aten::slice_copy.Tensor_out(y.19, 0, 2, 3, 1)\n"
      "y.23: int64[1, 5] = aten::maximum.out(y.21, y.15)\n"
      "j: int64[3, 5] = aten::cat.out([y.20, y.23], 0)\n"
      "return y\n"
      "return j\n");
}

static void cummax_is_a_kernel_of_etx(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_ETX, "lower simplify",
                 "inputs: [{name: x, type: 'float32[3, 5]'}]\n"
                 "nodes:\n"
                 "  - {out: [y, j], op: aten.cummax.default, args: [x, 0]}\n"
                 "  - {out: [z, k], op: aten.cummin.default, args: [x, -1]}\n"
                 "outputs: [y, k]\n",
                 "y: float32[3, 5], j: int64[3, 5] = etx::cummax.out(x, 0)\n"
                 "z: float32[3, 5], k: int64[3, 5] = etx::cummin.out(x, -1)\n"
                 "return y\n"
                 "return k\n");
}

// As many steps as the largest size needs, each along no more than the size.
static void cummax_of_a_varying_size_takes_steps_for_the_largest(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_EXECUTORCH, "lower simplify",
                 "dims: {s: {min: 0, max: 3}}\n"
                 "inputs: [{name: x, type: 'float32[s]'}]\n"
                 "nodes:\n"
                 "  - {out: [y, j], op: aten.cummax.default, args: [x, 0]}\n"
                 "outputs: [y]\n",
                 "y.1: float32[min(s, 1)] = aten::slice_copy.Tensor_out(x, 0, "
                 "0, min(s, 1), 1)\n"
                 "y.2: float32[s - min(s, 1)] = aten::slice_copy.Tensor_out(x, "
                 "0, min(s, 1), s, 1)\n"
                 "y.3: float32[s - min(s, 1)] = aten::slice_copy.Tensor_out(x, "
                 "0, 0, s - min(s, 1), 1)\n"
                 "y.4: float32[s - min(s, 1)] = aten::maximum.out(y.2, y.3)\n"
                 "y.5: float32[s] = aten::cat.out([y.1, y.4], 0)\n"
                 "y.6: float32[min(s, 2)] = aten::slice_copy.Tensor_out(y.5, "
                 "0, 0, min(s, 2), 1)\n"
                 "y.7: float32[s - min(s, 2)] = "
                 "aten::slice_copy.Tensor_out(y.5, 0, min(s, 2), s, 1)\n"
                 "y.8: float32[s - min(s, 2)] = "
                 "aten::slice_copy.Tensor_out(y.5, 0, 0, s - min(s, 2), 1)\n"
                 "y.9: float32[s - min(s, 2)] = aten::maximum.out(y.7, y.8)\n"
                 "y: float32[s] = aten::cat.out([y.6, y.9], 0)\n"
                 "return y\n");
}

static void a_mode_ends_the_first_of_the_longest_runs(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: i, type: 'int64[2, 5]'}]\n"
      "nodes:\n"
      "  - {out: [y, j], op: aten.mode.default, args: [i, 1, true]}\n"
      "outputs: [y, j]\n",
      "y.1: int64[2, 5], y.2: int64[2, 5] = etx::sort.values_stable(i, True, "
      "1, False)\n"
      "y.3: int64[2, 1] = aten::slice_copy.Tensor_out(y.1, 1, 0, 1, 1)\n"
      "y.4: int64[2, 4] = aten::slice_copy.Tensor_out(y.1, 1, 0, 4, 1)\n"
      "y.5: int64[2, 5] = aten::cat.out([y.3, y.4], 1)\n"
      "y.6: bool[2, 5] = aten::ne.Tensor_out(y.1, y.5)\n"
      "y.7: int64[5] = aten::arange.start_out(0, 5, 1)\n"
      "y.8: int64[1, 5] = aten::view_copy.out(y.7, [1, 5])\n"
      "y.9: int64[2, 5] = aten::where.self_out(y.6, y.8, 0:int64)\n"
      "y.10: int64[2, 5], y.11: int64[2, 5] = etx::cummax.out(y.9, 1)\n"
      "y.12: int64[2, 5] = aten::sub.out(y.8, y.10, 1)\n"
      "y.13: int64[2, 1] = aten::argmax.out(y.12, 1, True)\n"
      "y: int64[2, 1] = aten::gather.out(y.1, 1, y.13, False)\n"
      "j: int64[2, 1] = aten::gather.out(y.2, 1, y.13, False)\n"
      "return y\n"
      "return j\n");
}

static void impossible_quantiles_are_refused(void** state) {
  (void)state;
  expect_refused(ETX_TARGET_ETX, "lower",
                 "inputs: [{name: x, type: 'float32[5]'}]\n"
                 "nodes:\n"
                 "  - {out: y, op: aten.quantile.scalar, args: [x, 1.5]}\n"
                 "outputs: [y]\n",
                 "'q' is 1.5, expected a number from 0 to 1");
  expect_refused(ETX_TARGET_ETX, "lower",
                 "inputs: [{name: x, type: 'float32[5]'}, {name: q, type: "
                 "'float32[1, 1]'}]\n"
                 "nodes:\n"
                 "  - {out: y, op: aten.quantile.default, args: [x, q]}\n"
                 "outputs: [y]\n",
                 "'q' has 2 dimensions, expected 0 or 1");
  expect_refused(ETX_TARGET_ETX, "lower",
                 "inputs: [{name: x, type: 'float32[5]'}]\n"
                 "nodes:\n"
                 "  - {out: y, op: aten.nanquantile.scalar, args: [x, 0.5], "
                 "kwargs: {interpolation: {str: cubic}}}\n"
                 "outputs: [y]\n",
                 "'interpolation' is 'cubic'");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_median_is_the_lower_middle_or_nan),
      cmocka_unit_test(nanmedian_ignores_nan),
      cmocka_unit_test(kthvalue_is_a_slice_of_the_sorted_tensor),
      cmocka_unit_test(kthvalue_out_of_range_is_refused),
      cmocka_unit_test(cummax_of_the_stock_runtime_takes_doubling_steps),
      cmocka_unit_test(cummax_is_a_kernel_of_etx),
      cmocka_unit_test(cummax_of_a_varying_size_takes_steps_for_the_largest),
      cmocka_unit_test(a_mode_ends_the_first_of_the_longest_runs),
      cmocka_unit_test(impossible_quantiles_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
