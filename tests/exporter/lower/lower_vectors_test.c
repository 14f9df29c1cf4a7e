// Lowering of vector products, similarities and searches.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/exporter/lowered.h"

static void similarity_divides_by_lengths(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'float32[2, 3]'}, {name: y, type: "
      "'float32[3]'}]\n"
      "nodes:\n"
      "  - {out: z, op: aten.cosine_similarity.default, args: [x, y, 1, "
      "1.0e-6]}\n"
      "outputs: [z]\n",
      "z.1: float32[2, 3] = aten::mul.out(x, x)\n"
      "z.2: float32[2, 1] = aten::sum.IntList_out(z.1, [1], True, None)\n"
      "z.3: float32[2, 1] = aten::sqrt.out(z.2)\n"
      "z.4: float32[2, 1] = aten::maximum.out(z.3, "
      "9.999999974752427e-07:float32)\n"
      "z.5: float32[2, 3] = aten::div.out(x, z.4)\n"
      "z.6: float32[2, 3] = aten::expand_copy.out(y, [2, 3], False)\n"
      "z.7: float32[2, 3] = aten::mul.out(y, z.6)\n"
      "z.8: float32[2, 1] = aten::sum.IntList_out(z.7, [1], True, None)\n"
      "z.9: float32[2, 1] = aten::sqrt.out(z.8)\n"
      "z.10: float32[2, 1] = aten::maximum.out(z.9, "
      "9.999999974752427e-07:float32)\n"
      "z.11: float32[2, 3] = aten::div.out(y, z.10)\n"
      "z.12: float32[2, 3] = aten::mul.out(z.5, z.11)\n"
      "z: float32[2] = aten::sum.IntList_out(z.12, [1], False, None)\n"
      "return z\n");
}

static void contracted_dimensions_become_columns_and_rows(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'float32[2, 3, 4]'}, {name: y, type: "
      "'float32[4, 5, 2]'}]\n"
      "nodes:\n"
      "  - {out: z, op: aten.tensordot.default, args: [x, y, [2, 0], [0, 2]]}\n"
      "  - {out: w, op: aten.inner.default, args: [x, x]}\n"
      "outputs: [z, w]\n",
      "z.1: float32[3, 4, 2] = aten::permute_copy.out(x, [1, 2, 0])\n"
      "z.2: float32[3, 8] = aten::view_copy.out(z.1, [3, 8])\n"
      "z.3: float32[4, 2, 5] = aten::permute_copy.out(y, [0, 2, 1])\n"
      "z.4: float32[8, 5] = aten::view_copy.out(z.3, [8, 5])\n"
      "z: float32[3, 5] = aten::mm.out(z.2, z.4)\n"
      "w.1: float32[6, 4] = aten::view_copy.out(x, [6, 4])\n"
      "w.2: float32[4, 2, 3] = aten::permute_copy.out(x, [2, 0, 1])\n"
      "w.3: float32[4, 6] = aten::view_copy.out(w.2, [4, 6])\n"
      "w.4: float32[6, 6] = aten::mm.out(w.1, w.3)\n"
      "w: float32[2, 3, 2, 3] = aten::view_copy.out(w.4, [2, 3, 2, 3])\n"
      "return z\n"
      "return w\n");
}

// A tensor of the maximal rank, where a repeated dimension would overflow.
static void a_dimension_is_summed_once(void** state) {
  (void)state;
  expect_refused(
      ETX_TARGET_ETX, "lower",
      "inputs: [{name: x, type: 'float32[2, 2]'}, {name: y, type: "
      "'float32[2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]'}]\n"
      "nodes:\n"
      "  - {out: z, op: aten.tensordot.default, args: [x, y, [0, 1], [0, 0]]}\n"
      "outputs: [z]\n",
      "contracts a dimension twice");
}

static void a_cross_product_rolls_by_one_and_two(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_ETX, "lower simplify",
                 "inputs: [{name: x, type: 'float32[3, 4]'}, {name: y, type: "
                 "'float32[3, 4]'}]\n"
                 "nodes:\n"
                 "  - {out: z, op: aten.cross.default, args: [x, y]}\n"
                 "outputs: [z]\n",
                 "z.1: float32[3, 4] = aten::roll.out(x, [-1], [0])\n"
                 "z.2: float32[3, 4] = aten::roll.out(y, [-2], [0])\n"
                 "z.3: float32[3, 4] = aten::mul.out(z.1, z.2)\n"
                 "z.4: float32[3, 4] = aten::roll.out(x, [-2], [0])\n"
                 "z.5: float32[3, 4] = aten::roll.out(y, [-1], [0])\n"
                 "z.6: float32[3, 4] = aten::mul.out(z.4, z.5)\n"
                 "z: float32[3, 4] = aten::sub.out(z.3, z.6, 1)\n"
                 "return z\n");
}

static void searchsorted_counts_smaller_elements(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'float32[2, 3]'}, {name: b, type: "
      "'float32[5]'}]\n"
      "nodes:\n"
      "  - {out: z, op: aten.bucketize.Tensor, args: [x, b]}\n"
      "  - {out: w, op: aten.isin.Tensor_Tensor, args: [x, b], kwargs: "
      "{invert: true}}\n"
      "outputs: [z, w]\n",
      "z.1: float32[2, 3, 1] = aten::view_copy.out(x, [2, 3, 1])\n"
      "z.2: bool[2, 3, 5] = aten::ge.Tensor_out(b, z.1)\n"
      "z.3: bool[2, 3, 5] = aten::logical_not.out(z.2)\n"
      "z.4: int64[2, 3, 5] = dim_order_ops::_to_dim_order_copy.out(z.3, "
      "False, [0, 1, 2])\n"
      "z: int64[2, 3] = aten::sum.IntList_out(z.4, [-1], False, None)\n"
      "w.2: bool[2, 3, 5] = aten::eq.Tensor_out(z.1, b)\n"
      "w.3: bool[2, 3] = aten::any.out(w.2, -1, False)\n"
      "w: bool[2, 3] = aten::logical_not.out(w.3)\n"
      "return z\n"
      "return w\n");
}

static void bool_is_sorted_as_uint8_for_executorch(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_EXECUTORCH, "lower",
      "inputs: [{name: x, type: 'bool[2, 3]'}]\n"
      "nodes:\n"
      "  - {out: z, op: aten.argsort.default, args: [x]}\n"
      "outputs: [z]\n",
      "z.1: uint8[2, 3] = dim_order_ops::_to_dim_order_copy.out(x, False, "
      "[0, 1])\n"
      "z.2: uint8[2, 3], z: int64[2, 3] = aten::topk.values(z.1, 3, 1, "
      "False, True)\n"
      "z.4: bool[2, 3] = dim_order_ops::_to_dim_order_copy.out(z.2, False, "
      "[0, 1])\n"
      "return z\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(similarity_divides_by_lengths),
      cmocka_unit_test(contracted_dimensions_become_columns_and_rows),
      cmocka_unit_test(a_dimension_is_summed_once),
      cmocka_unit_test(a_cross_product_rolls_by_one_and_two),
      cmocka_unit_test(searchsorted_counts_smaller_elements),
      cmocka_unit_test(bool_is_sorted_as_uint8_for_executorch),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
