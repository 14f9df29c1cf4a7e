// Operators whose portable kernels differ from PyTorch are replaced for target
// executorch and kept for target etx. The recorded calls of tests/ops check the
// results.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "tests/exporter/lowered.h"

// One operator over `inputs`, for target executorch.
static void expect(const char* inputs, const char* node, const char* wanted) {
  char yaml[512];
  snprintf(yaml, sizeof yaml,
           "inputs: [%s]\nnodes:\n  - {out: y, %s}\noutputs: [y]\n", inputs,
           node);
  expect_lowered(ETX_TARGET_EXECUTORCH, "lower legalize_for_executorch", yaml,
                 wanted);
}

#define TWO(type) \
  "{name: a, type: '" type "[4]'}, {name: b, type: '" type "[4]'}"

static void integer_remainder_uses_floor_division(void** state) {
  (void)state;
  expect(TWO("int32"), "op: aten.remainder.Tensor, args: [a, b]",
         "y.1: int32[4] = aten::div.out_mode(a, b, 'floor')\n"
         "y.2: int32[4] = aten::mul.out(y.1, b)\n"
         "y: int32[4] = aten::sub.out(a, y.2, 1)\n"
         "return y\n");
  expect(TWO("int64"), "op: aten.remainder.Scalar, args: [a, -3]",
         "y.1: int64[4] = aten::div.out_mode(a, -3:int64, 'floor')\n"
         "y.2: int64[4] = aten::mul.out(y.1, -3:int64)\n"
         "y: int64[4] = aten::sub.out(a, y.2, 1)\n"
         "return y\n");
  expect(TWO("float32"), "op: aten.remainder.Tensor, args: [a, b]",
         "y: float32[4] = aten::remainder.Tensor_out(a, b)\n"
         "return y\n");
}

static void int64_truncating_division_uses_floor_division(void** state) {
  (void)state;
  expect(TWO("int64"),
         "op: aten.div.Tensor_mode, args: [a, b], kwargs: "
         "{rounding_mode: {str: trunc}}",
         "y.1: int64[4] = aten::div.out_mode(a, b, 'floor')\n"
         "y.2: int64[4] = aten::mul.out(y.1, b)\n"
         "y.3: int64[4] = aten::sub.out(a, y.2, 1)\n"
         "y.4: bool[4] = aten::ne.Scalar_out(y.3, 0)\n"
         "y.5: int64[4] = aten::bitwise_xor.Tensor_out(a, b)\n"
         "y.6: bool[4] = aten::lt.Scalar_out(y.5, 0)\n"
         "y.7: bool[4] = aten::logical_and.out(y.4, y.6)\n"
         "y.8: int64[4] = dim_order_ops::_to_dim_order_copy.out(y.7, False, "
         "[0])\n"
         "y: int64[4] = aten::add.out(y.1, y.8, 1)\n"
         "return y\n");
  expect(TWO("int32"), "op: aten.fmod.Tensor, args: [a, b]",
         "y: int32[4] = aten::fmod.Tensor_out(a, b)\n"
         "return y\n");
}

static void integer_power_is_multiplications(void** state) {
  (void)state;
  expect(TWO("int64"), "op: aten.pow.Tensor_Scalar, args: [a, 5]",
         "y.1: int64[4] = aten::mul.out(a, a)\n"
         "y.2: int64[4] = aten::mul.out(y.1, y.1)\n"
         "y: int64[4] = aten::mul.out(a, y.2)\n"
         "return y\n");
  expect(TWO("float32"), "op: aten.pow.Tensor_Scalar, args: [a, 5]",
         "y: float32[4] = aten::pow.Tensor_Scalar_out(a, 5)\n"
         "return y\n");
}

// If the left operand has one element, the portable kernel scales it.
static void add_with_alpha_is_a_multiplication_and_an_addition(void** state) {
  (void)state;
  expect(TWO("float32"),
         "op: aten.add.Tensor, args: [a, b], kwargs: {alpha: 0.5}",
         "y.1: float32[4] = aten::mul.out(b, 0.5:float32)\n"
         "y: float32[4] = aten::add.out(a, y.1, 1)\n"
         "return y\n");
  expect(TWO("int64"), "op: aten.add.Tensor, args: [a, b], kwargs: {alpha: 1}",
         "y: int64[4] = aten::add.out(a, b, 1)\n"
         "return y\n");
  expect(TWO("int64"), "op: aten.sub.Tensor, args: [a, b], kwargs: {alpha: 3}",
         "y: int64[4] = aten::sub.out(a, b, 3)\n"
         "return y\n");
}

// For two dimensions the portable library has another kernel.
static void float64_and_integer_sums_go_over_two_dimensions(void** state) {
  (void)state;
  expect("{name: a, type: 'int64[3, 4]'}",
         "op: aten.sum.dim_IntList, args: [a, [0], true]",
         "y.1: int64[3, 4, 1] = aten::view_copy.out(a, [3, 4, 1])\n"
         "y.2: int64[4] = aten::sum.IntList_out(y.1, [0, 2], False, None)\n"
         "y: int64[1, 4] = aten::view_copy.out(y.2, [1, 4])\n"
         "return y\n");
  expect("{name: a, type: 'float32[3, 4]'}",
         "op: aten.sum.dim_IntList, args: [a, [0]]",
         "y: float32[4] = aten::sum.IntList_out(a, [0], False, None)\n"
         "return y\n");
}

static void target_etx_keeps_the_operators(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_ETX, "lower legalize_for_executorch", "inputs: [" TWO("int64") "]\n"
               "nodes:\n"
               "  - {out: r, op: aten.remainder.Tensor, args: [a, b]}\n"
               "  - {out: p, op: aten.pow.Tensor_Scalar, args: [r, 5]}\n"
               "  - {out: y, op: aten.sum.dim_IntList, args: [p, [0]]}\n"
               "outputs: [y]\n", "r: int64[4] = aten::remainder.Tensor_out(a, b)\n"
               "p: int64[4] = aten::pow.Tensor_Scalar_out(r, 5)\n"
               "y: int64[] = aten::sum.IntList_out(p, [0], False, None)\n"
               "return y\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(integer_remainder_uses_floor_division),
      cmocka_unit_test(int64_truncating_division_uses_floor_division),
      cmocka_unit_test(integer_power_is_multiplications),
      cmocka_unit_test(add_with_alpha_is_a_multiplication_and_an_addition),
      cmocka_unit_test(float64_and_integer_sums_go_over_two_dimensions),
      cmocka_unit_test(target_etx_keeps_the_operators),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
