// The rules of simplify, and what they leave alone.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/exporter/lowered.h"

static void equal_nodes_are_merged(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_ETX, "lower simplify",
                 "inputs: [{name: x, type: 'float32[4]'}]\n"
                 "nodes:\n"
                 "  - {out: a, op: aten.exp.default, args: [x]}\n"
                 "  - {out: b, op: aten.exp.default, args: [x]}\n"
                 "  - {out: y, op: aten.add.Tensor, args: [a, b]}\n"
                 "outputs: [y]\n",
                 "a: float32[4] = aten::exp.out(x)\n"
                 "y: float32[4] = aten::add.out(a, a, 1)\n"
                 "return y\n");
}

static void casts_to_different_types_are_not_equal(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: i, type: 'int64[4]'}]\n"
      "nodes:\n"
      "  - {out: a, op: aten._to_copy.default, args: [i], kwargs: {dtype: "
      "float32}}\n"
      "  - {out: b, op: aten._to_copy.default, args: [i], kwargs: {dtype: "
      "int32}}\n"
      "outputs: [a, b]\n",
      "a: float32[4] = dim_order_ops::_to_dim_order_copy.out(i, False, [0])\n"
      "b: int32[4] = dim_order_ops::_to_dim_order_copy.out(i, False, [0])\n"
      "return a\n"
      "return b\n");
}

static void dead_nodes_are_removed(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_ETX, "lower simplify",
                 "inputs: [{name: x, type: 'float32[4]'}]\n"
                 "nodes:\n"
                 "  - {out: a, op: aten.exp.default, args: [x]}\n"
                 "  - {out: b, op: aten.neg.default, args: [a]}\n"
                 "  - {out: y, op: aten.neg.default, args: [x]}\n"
                 "outputs: [y]\n",
                 "y: float32[4] = aten::neg.out(x)\n"
                 "return y\n");
}

static void and_with_true_is_its_operand(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_ETX, "lower simplify",
                 "inputs: [{name: x, type: 'bool[4]'}]\n"
                 "nodes:\n"
                 "  - {out: t, op: aten.full.default, args: [[], true]}\n"
                 "  - {out: a, op: aten.logical_and.default, args: [x, t]}\n"
                 "  - {out: y, op: aten.bitwise_and.Tensor, args: [t, a]}\n"
                 "outputs: [y]\n",
                 "return x\n");
}

static void nested_clamps_are_one_clamp(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_EXECUTORCH, "lower simplify",
                 "inputs: [{name: x, type: 'float32[4]'}]\n"
                 "nodes:\n"
                 "  - {out: a, op: aten.clamp.default, args: [x, 0]}\n"
                 "  - {out: y, op: aten.clamp.default, args: [a, null, 6]}\n"
                 "  - {out: z, op: aten.clamp.default, args: [y, 1]}\n"
                 "outputs: [y, z]\n",
                 "y: float32[4] = aten::clamp.out(x, 0, 6)\n"
                 "z: float32[4] = aten::clamp.out(y, 1, None)\n"
                 "return y\n"
                 "return z\n");
}

static void multiplication_by_one_is_removed(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'float32[4]'}, {name: i, type: 'int64[4]'}]\n"
      "nodes:\n"
      "  - {out: a, op: aten.mul.Tensor, args: [x, 1]}\n"
      "  - {out: b, op: aten.div.Tensor, args: [a, 1.0]}\n"
      "  - {out: c, op: aten.add.Tensor, args: [i, 0]}\n"
      "  - {out: y, op: aten.neg.default, args: [b]}\n"
      "  - {out: z, op: aten.neg.default, args: [c]}\n"
      "outputs: [y, z]\n",
      "y: float32[4] = aten::neg.out(x)\n"
      "z: int64[4] = aten::neg.out(i)\n"
      "return y\n"
      "return z\n");
}

static void addition_of_float_zero_stays(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_ETX, "lower simplify",
                 "inputs: [{name: x, type: 'float32[4]'}]\n"
                 "nodes:\n"
                 "  - {out: a, op: aten.add.Tensor, args: [x, 0.0]}\n"
                 "outputs: [a]\n",
                 "a: float32[4] = aten::add.out(x, 0.0:float32, 1)\n"
                 "return a\n");
}

// A mask of ones has as many rows as the input.
static void multiplication_by_ones_of_a_varying_size_is_removed(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "dims: {s: {min: 1, max: 8}}\n"
      "inputs: [{name: x, type: 'float32[s, 4]'}]\n"
      "nodes:\n"
      "  - {out: o, op: aten.full.default, args: [[{sym: s}], 1.0]}\n"
      "  - {out: u, op: aten.unsqueeze.default, args: [o, 1]}\n"
      "  - {out: a, op: aten.mul.Tensor, args: [x, u]}\n"
      "  - {out: t, op: aten.full.default, args: [[{sym: s}], 2.0]}\n"
      "  - {out: v, op: aten.unsqueeze.default, args: [t, 1]}\n"
      "  - {out: b, op: aten.mul.Tensor, args: [x, v]}\n"
      "outputs: [a, b]\n",
      "t: float32[s] = aten::full.out([s], 2)\n"
      "v: float32[s, 1] = aten::view_copy.out(t, [s, 1])\n"
      "b: float32[s, 4] = aten::mul.out(x, v)\n"
      "return x\n"
      "return b\n");
}

static void a_neutral_element_that_broadcasts_stays(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_ETX, "lower simplify",
                 "inputs: [{name: x, type: 'float32[4]'}]\n"
                 "buffers: [{name: w, type: 'float32[2, 4]', init: 1}]\n"
                 "nodes:\n"
                 "  - {out: a, op: aten.mul.Tensor, args: [x, w]}\n"
                 "outputs: [a]\n",
                 "a: float32[2, 4] = aten::mul.out(x, w)\n"
                 "return a\n");
}

#define LAYER                                                               \
  "inputs: [{name: x, type: 'float32[2, 3]'}, {name: w, type: 'float32[4, " \
  "3]'}, {name: r, type: 'float32[2, 4]'}]\n"                               \
  "nodes:\n"                                                                \
  "  - {out: a, op: aten.arange.default, args: [4.0]}\n"                    \
  "  - {out: b, op: aten.unsqueeze.default, args: [a, 0]}\n"                \
  "  - {out: l, op: aten.linear.default, args: [x, w]}\n"

static void a_constant_added_to_linear_is_its_bias(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower fold_constants simplify",
      LAYER
      "  - {out: y, op: aten.add.Tensor, args: [b, l]}\n"
      "outputs: [y]\n",
      "y.1: float32[4] = aten::view_copy.out(const float32[1, 4], [4])\n"
      "y: float32[2, 4] = aten::linear.out(x, w, y.1)\n"
      "return y\n");
  static const char* const others[] = {
      LAYER
      "  - {out: y, op: aten.add.Tensor, args: [l, b], kwargs: {alpha: 2}}\n"
      "outputs: [y]\n",
      LAYER "  - {out: y, op: aten.add.Tensor, args: [l, r]}\noutputs: [y]\n",
      LAYER
      "  - {out: y, op: aten.add.Tensor, args: [l, b]}\noutputs: [y, l]\n",
  };
  for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
    lowered l;
    lowered_open(&l, ETX_TARGET_ETX, others[i]);
    lowered_run(&l, "lower fold_constants simplify");
    assert_non_null(strstr(lowered_lines(&l), "aten::add.out("));
    lowered_close(&l);
  }
}

static void nested_views_are_merged(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_ETX, "lower simplify",
                 "inputs: [{name: x, type: 'float32[2, 6]'}]\n"
                 "nodes:\n"
                 "  - {out: a, op: aten.view.default, args: [x, [3, 4]]}\n"
                 "  - {out: b, op: aten.view.default, args: [a, [12]]}\n"
                 "  - {out: y, op: aten.neg.default, args: [b]}\n"
                 "  - {out: d, op: aten.view.default, args: [a, [2, 6]]}\n"
                 "  - {out: z, op: aten.neg.default, args: [d]}\n"
                 "outputs: [y, z]\n",
                 "b: float32[12] = aten::view_copy.out(x, [12])\n"
                 "y: float32[12] = aten::neg.out(b)\n"
                 "z: float32[2, 6] = aten::neg.out(x)\n"
                 "return y\n"
                 "return z\n");
}

static void nested_permutes_are_merged(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'float32[2, 3, 4]'}]\n"
      "nodes:\n"
      "  - {out: a, op: aten.permute.default, args: [x, [1, 2, 0]]}\n"
      "  - {out: b, op: aten.permute.default, args: [a, [1, 0, 2]]}\n"
      "  - {out: d, op: aten.permute.default, args: [a, [2, 0, 1]]}\n"
      "  - {out: y, op: aten.neg.default, args: [d]}\n"
      "outputs: [b, y]\n",
      "b: float32[4, 3, 2] = aten::permute_copy.out(x, [2, 1, 0])\n"
      "y: float32[2, 3, 4] = aten::neg.out(x)\n"
      "return b\n"
      "return y\n");
}

static void nested_slices_are_merged(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "dims: {s: {min: 1, max: 8}}\n"
      "inputs: [{name: x, type: 'float32[20, 2]'}]\n"
      "nodes:\n"
      "  - {out: a, op: aten.slice.Tensor, args: [x, 0, 4, 16]}\n"
      "  - {out: y, op: aten.slice.Tensor, args: [a, 0, 1, {sym: s + 1}]}\n"
      "outputs: [y]\n",
      "y: float32[s, 2] = aten::slice_copy.Tensor_out(x, 0, 5, s + 5, 1)\n"
      "return y\n");
}

static void a_slice_of_slice_scatter_is_its_source(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'float32[3, 4]'}, {name: r, type: "
      "'float32[4]'}]\n"
      "nodes:\n"
      "  - {out: a, op: aten.select_scatter.default, args: [x, r, 0, 1]}\n"
      "  - {out: y, op: aten.select.int, args: [a, 0, 1]}\n"
      "  - {out: n, op: aten.neg.default, args: [y]}\n"
      "  - {out: z, op: aten.select.int, args: [a, 0, 2]}\n"
      "outputs: [a, n, z]\n",
      "a.1: float32[1, 4] = aten::view_copy.out(r, [1, 4])\n"
      "a: float32[3, 4] = aten::slice_scatter.out(x, a.1, 0, 1, 2, 1)\n"
      "n: float32[4] = aten::neg.out(r)\n"
      "z: float32[4] = aten::select_copy.int_out(x, 0, 2)\n"
      "return a\n"
      "return n\n"
      "return z\n");
}

static void a_slice_that_may_overlap_slice_scatter_stays(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "dims: {s: {min: 1, max: 8}}\n"
      "inputs: [{name: x, type: 'float32[8, 4]'}, {name: r, type: "
      "'float32[2, 4]'}]\n"
      "nodes:\n"
      "  - {out: a, op: aten.slice_scatter.default, args: [x, r, 0, 3, 5]}\n"
      "  - {out: y, op: aten.slice.Tensor, args: [a, 0, 0, {sym: s}]}\n"
      "  - {out: z, op: aten.slice.Tensor, args: [a, 0, 0, 3]}\n"
      "outputs: [y, z]\n",
      "a: float32[8, 4] = aten::slice_scatter.out(x, r, 0, 3, 5, 1)\n"
      "y: float32[s, 4] = aten::slice_copy.Tensor_out(a, 0, 0, s, 1)\n"
      "z: float32[3, 4] = aten::slice_copy.Tensor_out(x, 0, 0, 3, 1)\n"
      "return y\n"
      "return z\n");
}

static void a_slice_of_cat_is_its_operand(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "dims: {s: {min: 1, max: 8}}\n"
      "inputs: [{name: x, type: 'float32[s, 4]'}, {name: r, type: "
      "'float32[2, 4]'}]\n"
      "nodes:\n"
      "  - {out: a, op: aten.cat.default, args: [[x, r]]}\n"
      "  - {out: y, op: aten.slice.Tensor, args: [a, 0, 0, {sym: s}]}\n"
      "  - {out: z, op: aten.slice.Tensor, args: [a, 0, {sym: s}, {sym: s + "
      "2}]}\n"
      "  - {out: yy, op: aten.neg.default, args: [y]}\n"
      "  - {out: zz, op: aten.neg.default, args: [z]}\n"
      "outputs: [yy, zz]\n",
      "yy: float32[s, 4] = aten::neg.out(x)\n"
      "zz: float32[2, 4] = aten::neg.out(r)\n"
      "return yy\n"
      "return zz\n");
}

static void an_overwritten_slice_scatter_is_removed(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'float32[8, 4]'}, {name: r, type: "
      "'float32[2, 4]'}, {name: q, type: 'float32[4, 4]'}]\n"
      "nodes:\n"
      "  - {out: a, op: aten.slice_scatter.default, args: [x, r, 0, 3, 5]}\n"
      "  - {out: y, op: aten.slice_scatter.default, args: [a, q, 0, 2, 6]}\n"
      "outputs: [y]\n",
      "y: float32[8, 4] = aten::slice_scatter.out(x, q, 0, 2, 6, 1)\n"
      "return y\n");
}

static void expands_before_broadcasting_operators_are_removed(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_ETX, "lower simplify",
                 "inputs: [{name: x, type: 'float32[2, 4]'}, {name: r, type: "
                 "'float32[4]'}]\n"
                 "nodes:\n"
                 "  - {out: a, op: aten.expand.default, args: [r, [2, 4]]}\n"
                 "  - {out: b, op: aten.full.default, args: [[2, 4], 3.0]}\n"
                 "  - {out: y, op: aten.add.Tensor, args: [x, a]}\n"
                 "  - {out: z, op: aten.mul.Tensor, args: [y, b]}\n"
                 "outputs: [z]\n",
                 "y: float32[2, 4] = aten::add.out(x, r, 1)\n"
                 "z: float32[2, 4] = aten::mul.out(y, 3.0:float32)\n"
                 "return z\n");
}

static void an_expand_that_determines_the_size_stays(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_ETX, "lower simplify",
                 "inputs: [{name: r, type: 'float32[4]'}]\n"
                 "nodes:\n"
                 "  - {out: a, op: aten.expand.default, args: [r, [2, 4]]}\n"
                 "  - {out: y, op: aten.add.Tensor, args: [a, 3]}\n"
                 "outputs: [y]\n",
                 "a: float32[2, 4] = aten::expand_copy.out(r, [2, 4], False)\n"
                 "y: float32[2, 4] = aten::add.out(a, 3.0:float32, 1)\n"
                 "return y\n");
}

// The operand that decides the size is expanded, so the rewrite must not create
// new nodes in each round.
static void a_symbolic_fill_stays(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "dims: {s: {min: 1, max: 8}}\n"
      "inputs: [{name: x, type: 'float32[s]'}]\n"
      "nodes:\n"
      "  - {out: a, op: aten.full.default, args: [[2], {sym: s}], kwargs: "
      "{dtype: int64}}\n"
      "  - {out: y, op: aten.mul.Tensor, args: [a, a]}\n"
      "outputs: [y]\n",
      "a: int64[2] = aten::full.out([2], s)\n"
      "y: int64[2] = aten::mul.out(a, a)\n"
      "return y\n");
}

static void where_with_a_uniform_condition_is_replaced(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_ETX, "lower simplify",
                 "inputs: [{name: x, type: 'float32[2, 4]'}, {name: r, type: "
                 "'float32[4]'}]\n"
                 "buffers: [{name: c, type: 'bool[2, 4]', init: true}]\n"
                 "nodes:\n"
                 "  - {out: y, op: aten.where.self, args: [c, r, x]}\n"
                 "outputs: [y]\n",
                 "y: float32[2, 4] = aten::expand_copy.out(r, [2, 4], False)\n"
                 "return y\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(equal_nodes_are_merged),
      cmocka_unit_test(casts_to_different_types_are_not_equal),
      cmocka_unit_test(dead_nodes_are_removed),
      cmocka_unit_test(and_with_true_is_its_operand),
      cmocka_unit_test(nested_clamps_are_one_clamp),
      cmocka_unit_test(multiplication_by_one_is_removed),
      cmocka_unit_test(addition_of_float_zero_stays),
      cmocka_unit_test(multiplication_by_ones_of_a_varying_size_is_removed),
      cmocka_unit_test(a_neutral_element_that_broadcasts_stays),
      cmocka_unit_test(a_constant_added_to_linear_is_its_bias),
      cmocka_unit_test(nested_views_are_merged),
      cmocka_unit_test(nested_permutes_are_merged),
      cmocka_unit_test(nested_slices_are_merged),
      cmocka_unit_test(a_slice_of_slice_scatter_is_its_source),
      cmocka_unit_test(a_slice_that_may_overlap_slice_scatter_stays),
      cmocka_unit_test(a_slice_of_cat_is_its_operand),
      cmocka_unit_test(an_overwritten_slice_scatter_is_removed),
      cmocka_unit_test(expands_before_broadcasting_operators_are_removed),
      cmocka_unit_test(an_expand_that_determines_the_size_stays),
      cmocka_unit_test(a_symbolic_fill_stays),
      cmocka_unit_test(where_with_a_uniform_condition_is_replaced),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
