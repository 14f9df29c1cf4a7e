// What the stock kernels compute in another way is put together from what they
// do not; etx's own runtime keeps the operators. That both give PyTorch's
// results is the matter of the recorded calls.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "tests/exporter/lowered.h"

// One operator over `inputs`, for the stock runtime.
static void expect(const char* inputs, const char* node, const char* wanted) {
  char yaml[512];
  snprintf(yaml, sizeof yaml,
           "inputs: [%s]\nnodes:\n  - {out: y, %s}\noutputs: [y]\n", inputs,
           node);
  expect_lowered(ETX_TARGET_EXECUTORCH, "lower legalize_for_executorch", yaml, wanted);
}

#define TWO(type) \
  "{name: a, type: '" type "[4]'}, {name: b, type: '" type "[4]'}"

static void remainders_of_integers_come_from_floors(void** state) {
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

static void truncated_quotients_of_64_bits_come_from_floors(void** state) {
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

static void powers_of_integers_are_products(void** state) {
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

// With one element on the left the stock kernel scales that.
static void what_alpha_scales_is_a_product(void** state) {
  (void)state;
  expect(TWO("float32"),
         "op: aten.add.Tensor, args: [a, b], kwargs: {alpha: 0.5}",
         "y.1: float32[4] = aten::mul.out(b, 0.5:float32)\n"
         "y: float32[4] = aten::add.out(a, y.1, 1)\n"
         "return y\n");
  expect(TWO("int64"),
         "op: aten.add.Tensor, args: [a, b], kwargs: {alpha: 1}",
         "y: int64[4] = aten::add.out(a, b, 1)\n"
         "return y\n");
  expect(TWO("int64"),
         "op: aten.sub.Tensor, args: [a, b], kwargs: {alpha: 3}",
         "y: int64[4] = aten::sub.out(a, b, 3)\n"
         "return y\n");
}

// Over two dimensions the stock library takes its other, slower kernel.
static void sums_that_a_float_does_not_hold_go_over_two_dimensions(
    void** state) {
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

static void the_own_runtime_keeps_them(void** state) {
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
      cmocka_unit_test(remainders_of_integers_come_from_floors),
      cmocka_unit_test(truncated_quotients_of_64_bits_come_from_floors),
      cmocka_unit_test(powers_of_integers_are_products),
      cmocka_unit_test(what_alpha_scales_is_a_product),
      cmocka_unit_test(sums_that_a_float_does_not_hold_go_over_two_dimensions),
      cmocka_unit_test(the_own_runtime_keeps_them),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
