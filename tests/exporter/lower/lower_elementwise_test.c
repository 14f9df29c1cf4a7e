// Lowering of elementwise operators: dtypes, numbers, casts.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/exporter/lowered.h"

static void numbers_become_constants_of_the_tensors_type(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_ETX, "lower",
                 "inputs: [{name: x, type: 'float32[4]'}]\n"
                 "nodes:\n"
                 "  - {out: y, op: aten.add.Tensor, args: [x, 2]}\n"
                 "  - {out: z, op: aten.mul.Tensor, args: [y, 0.5]}\n"
                 "outputs: [z]\n",
                 "y: float32[4] = aten::add.out(x, 2.0:float32, 1)\n"
                 "z: float32[4] = aten::mul.out(y, 0.5:float32)\n"
                 "return z\n");
}

// NaN is not below it.
static void threshold_keeps_nan(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_ETX, "lower",
                 "inputs: [{name: x, type: 'float32[4]'}]\n"
                 "nodes:\n"
                 "  - {out: y, op: aten.threshold.default, args: [x, 0.5, 3]}\n"
                 "outputs: [y]\n",
                 "y.1: bool[4] = aten::le.Scalar_out(x, 0.5)\n"
                 "y: float32[4] = aten::where.self_out(y.1, 3.0:float32, x)\n"
                 "return y\n");
}

static void a_float_number_makes_integers_floats(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower",
      "inputs: [{name: i, type: 'int64[4]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.add.Tensor, args: [i, 2.5]}\n"
      "outputs: [y]\n",
      "y.1: float32[4] = dim_order_ops::_to_dim_order_copy.out(i, False, [0])\n"
      "y: float32[4] = aten::add.out(y.1, 2.5:float32, 1)\n"
      "return y\n");
}

static void the_smaller_dtype_is_cast(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower",
      "inputs: [{name: x, type: 'float32[4]'}, {name: i, type: 'int64[4]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.mul.Tensor, args: [i, x]}\n"
      "outputs: [y]\n",
      "y.1: float32[4] = dim_order_ops::_to_dim_order_copy.out(i, False, [0])\n"
      "y: float32[4] = aten::mul.out(y.1, x)\n"
      "return y\n");
}

static void a_tensor_without_dimensions_counts_by_category(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower",
      "inputs: [{name: i, type: 'int32[4]'}, {name: j, type: 'int64[]'}, "
      "{name: x, type: 'float32[]'}]\n"
      "nodes:\n"
      "  - {out: a, op: aten.add.Tensor, args: [i, j]}\n"
      "  - {out: b, op: aten.add.Tensor, args: [i, x]}\n"
      "outputs: [a, b]\n",
      "a.1: int32[] = dim_order_ops::_to_dim_order_copy.out(j, False, [])\n"
      "a: int32[4] = aten::add.out(i, a.1, 1)\n"
      "b.1: float32[4] = dim_order_ops::_to_dim_order_copy.out(i, False, [0])\n"
      "b: float32[4] = aten::add.out(b.1, x, 1)\n"
      "return a\n"
      "return b\n");
}

static void division_of_integers_gives_floats(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower",
      "inputs: [{name: i, type: 'int64[4]'}, {name: j, type: 'int64[4]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.div.Tensor, args: [i, j]}\n"
      "outputs: [y]\n",
      "y.1: float32[4] = dim_order_ops::_to_dim_order_copy.out(i, False, [0])\n"
      "y.2: float32[4] = dim_order_ops::_to_dim_order_copy.out(j, False, [0])\n"
      "y: float32[4] = aten::div.out(y.1, y.2)\n"
      "return y\n");
}

static void division_with_rounding_keeps_integers(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_ETX, "lower",
                 "inputs: [{name: i, type: 'int64[4]'}]\n"
                 "nodes:\n"
                 "  - {out: y, op: aten.div.Tensor_mode, args: [i, 2], kwargs: "
                 "{rounding_mode: {str: floor}}}\n"
                 "  - {out: z, op: aten.floor_divide.default, args: [i, 3]}\n"
                 "outputs: [y, z]\n",
                 "y: int64[4] = aten::div.out_mode(i, 2:int64, 'floor')\n"
                 "z: int64[4] = aten::div.out_mode(i, 3:int64, 'floor')\n"
                 "return y\n"
                 "return z\n");
}

static void alpha_and_reversed_subtraction(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower",
      "inputs: [{name: x, type: 'float32[4]'}, {name: y, type: 'float32[4]'}]\n"
      "nodes:\n"
      "  - {out: a, op: aten.add.Tensor, args: [x, y], kwargs: {alpha: 2}}\n"
      "  - {out: b, op: aten.rsub.Scalar, args: [x, 1, 3]}\n"
      "outputs: [a, b]\n",
      "a: float32[4] = aten::add.out(x, y, 2)\n"
      "b: float32[4] = aten::sub.out(1.0:float32, x, 3)\n"
      "return a\n"
      "return b\n");
}

static void comparisons_keep_their_number(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower",
      "inputs: [{name: i, type: 'int64[4]'}, {name: x, type: 'float32[4]'}]\n"
      "nodes:\n"
      "  - {out: a, op: aten.eq.Scalar, args: [i, 2]}\n"
      "  - {out: b, op: aten.gt.Scalar, args: [i, 2.5]}\n"
      "  - {out: c, op: aten.lt.Tensor, args: [x, i]}\n"
      "outputs: [a, b, c]\n",
      "a: bool[4] = aten::eq.Scalar_out(i, 2)\n"
      "b.1: float32[4] = dim_order_ops::_to_dim_order_copy.out(i, False, [0])\n"
      "b: bool[4] = aten::gt.Scalar_out(b.1, 2.5)\n"
      "c.1: float32[4] = dim_order_ops::_to_dim_order_copy.out(i, False, [0])\n"
      "c: bool[4] = aten::lt.Tensor_out(x, c.1)\n"
      "return a\n"
      "return b\n"
      "return c\n");
}

static void where_takes_numbers_and_tensors(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower",
      "inputs: [{name: c, type: 'bool[4]'}, {name: x, type: 'float32[4]'}]\n"
      "nodes:\n"
      "  - {out: a, op: aten.where.ScalarOther, args: [c, x, -1.5]}\n"
      "  - {out: b, op: aten.where.self, args: [c, x, x]}\n"
      "  - {out: d, op: aten.masked_fill.Scalar, args: [x, c, 3]}\n"
      "outputs: [a, b, d]\n",
      "a: float32[4] = aten::where.self_out(c, x, -1.5:float32)\n"
      "b: float32[4] = aten::where.self_out(c, x, x)\n"
      "d: float32[4] = aten::where.self_out(c, 3.0:float32, x)\n"
      "return a\n"
      "return b\n"
      "return d\n");
}

static void squares_and_roots_need_no_power(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_ETX, "lower",
                 "inputs: [{name: x, type: 'float32[4]'}]\n"
                 "nodes:\n"
                 "  - {out: a, op: aten.pow.Tensor_Scalar, args: [x, 2]}\n"
                 "  - {out: b, op: aten.pow.Tensor_Scalar, args: [x, 0.5]}\n"
                 "  - {out: d, op: aten.pow.Tensor_Scalar, args: [x, 3]}\n"
                 "outputs: [a, b, d]\n",
                 "a: float32[4] = aten::mul.out(x, x)\n"
                 "b: float32[4] = aten::sqrt.out(x)\n"
                 "d: float32[4] = aten::pow.Tensor_Scalar_out(x, 3)\n"
                 "return a\n"
                 "return b\n"
                 "return d\n");
}

static void a_size_as_number_is_computed(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_ETX, "lower",
                 "dims: {s: {min: 1, max: 8}}\n"
                 "inputs: [{name: x, type: 'float32[s, 2]'}, {name: n, type: "
                 "'int64[1]'}]\n"
                 "nodes:\n"
                 "  - {out: y, op: aten.mul.Tensor, args: [x, {sym: s}]}\n"
                 "  - {out: z, op: aten.fill.Scalar, args: [n, {sym: s}]}\n"
                 "outputs: [y, z]\n",
                 "y.1: float32[] = aten::scalar_tensor.out(s)\n"
                 "y: float32[s, 2] = aten::mul.out(x, y.1)\n"
                 "z: int64[1] = aten::full.out([1], s)\n"
                 "return y\n"
                 "return z\n");
}

static void target_etx_has_more_operators(void** state) {
  (void)state;
  const char* const yaml =
      "inputs: [{name: x, type: 'float32[4]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.silu.default, args: [x]}\n"
      "outputs: [y]\n";
  expect_lowered(ETX_TARGET_ETX, "lower", yaml,
                 "y: float32[4] = etx::silu.out(x)\n"
                 "return y\n");
  expect_lowered(ETX_TARGET_EXECUTORCH, "lower", yaml,
                 "y.1: float32[4] = aten::sigmoid.out(x)\n"
                 "y: float32[4] = aten::mul.out(x, y.1)\n"
                 "return y\n");
}

static void copysign_sees_negative_zero(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'int32[3]'}, {name: y, type: 'float32[3]'}]\n"
      "nodes:\n"
      "  - {out: z, op: aten.copysign.Tensor, args: [x, y]}\n"
      "outputs: [z]\n",
      "z.1: float32[3] = dim_order_ops::_to_dim_order_copy.out(x, False, "
      "[0])\n"
      "z.2: bool[3] = aten::lt.Scalar_out(y, 0)\n"
      "z.3: float32[3] = aten::reciprocal.out(y)\n"
      "z.4: bool[3] = aten::lt.Scalar_out(z.3, 0)\n"
      "z.5: bool[3] = aten::logical_or.out(z.2, z.4)\n"
      "z.6: float32[3] = aten::abs.out(z.1)\n"
      "z.7: float32[3] = aten::neg.out(z.6)\n"
      "z: float32[3] = aten::where.self_out(z.5, z.7, z.6)\n"
      "return z\n");
}

static void a_cast_may_name_the_device_first(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_ETX, "lower",
                 "inputs: [{name: x, type: 'float32[3]'}]\n"
                 "nodes:\n"
                 "  - {out: y, op: aten.to.device, args: [x, cpu, float64]}\n"
                 "outputs: [y]\n",
                 "y: float64[3] = dim_order_ops::_to_dim_order_copy.out(x, "
                 "False, [0])\n"
                 "return y\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(numbers_become_constants_of_the_tensors_type),
      cmocka_unit_test(threshold_keeps_nan),
      cmocka_unit_test(a_float_number_makes_integers_floats),
      cmocka_unit_test(the_smaller_dtype_is_cast),
      cmocka_unit_test(a_tensor_without_dimensions_counts_by_category),
      cmocka_unit_test(division_of_integers_gives_floats),
      cmocka_unit_test(division_with_rounding_keeps_integers),
      cmocka_unit_test(alpha_and_reversed_subtraction),
      cmocka_unit_test(comparisons_keep_their_number),
      cmocka_unit_test(where_takes_numbers_and_tensors),
      cmocka_unit_test(squares_and_roots_need_no_power),
      cmocka_unit_test(a_size_as_number_is_computed),
      cmocka_unit_test(target_etx_has_more_operators),
      cmocka_unit_test(copysign_sees_negative_zero),
      cmocka_unit_test(a_cast_may_name_the_device_first),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
