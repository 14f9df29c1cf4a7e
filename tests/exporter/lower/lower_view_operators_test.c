// Lowering of views, slices and scatters.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "tests/exporter/lowered.h"

static void views_that_change_nothing_vanish(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_ETX, "lower",
                 "inputs: [{name: x, type: 'float32[2, 3]'}]\n"
                 "nodes:\n"
                 "  - {out: a, op: aten.view.default, args: [x, [2, -1]]}\n"
                 "  - {out: b, op: aten.expand.default, args: [a, [-1, 3]]}\n"
                 "  - {out: d, op: aten.clone.default, args: [b]}\n"
                 "  - {out: e, op: aten.slice.Tensor, args: [d, 0, 0, "
                 "9223372036854775807]}\n"
                 "  - {out: f, op: aten.permute.default, args: [e, [0, 1]]}\n"
                 "  - {out: g, op: aten.neg.default, args: [f]}\n"
                 "outputs: [g]\n",
                 "g: float32[2, 3] = aten::neg.out(x)\n"
                 "return g\n");
}

static void t_mT_and_numpy_T_transpose(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_ETX, "lower",
                 "inputs: [{name: x, type: 'float32[5, 2, 3]'}]\n"
                 "nodes:\n"
                 "  - {out: a, op: aten.mT.default, args: [x]}\n"
                 "  - {out: b, op: aten.detach_.default, args: [a]}\n"
                 "  - {out: c, op: aten.adjoint.default, args: [b]}\n"
                 "outputs: [a, c]\n",
                 "a: float32[5, 3, 2] = aten::permute_copy.out(x, [0, 2, 1])\n"
                 "c: float32[5, 2, 3] = aten::permute_copy.out(a, [0, 2, 1])\n"
                 "return a\n"
                 "return c\n");
}

static void complex_matrices_are_transposed_but_have_no_adjoint(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_ETX, "lower",
                 "inputs: [{name: x, type: 'complex64[2, 3]'}]\n"
                 "nodes:\n"
                 "  - {out: a, op: aten.mT.default, args: [x]}\n"
                 "outputs: [a]\n",
                 "a: complex64[3, 2] = aten::permute_copy.out(x, [1, 0])\n"
                 "return a\n");
  expect_refused(ETX_TARGET_ETX, "lower",
                 "inputs: [{name: x, type: 'complex64[2, 3]'}]\n"
                 "nodes:\n"
                 "  - {out: a, op: aten.adjoint.default, args: [x]}\n"
                 "outputs: [a]\n",
                 "of complex tensors is not supported");
}

static void a_missing_size_divides_out_of_symbols(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower",
      "dims: {s: {min: 1, max: 8}}\n"
      "inputs: [{name: x, type: 'float32[s, 4, 6]'}]\n"
      "nodes:\n"
      "  - {out: a, op: aten.view.default, args: [x, [-1, 3]]}\n"
      "  - {out: b, op: aten.view.default, args: [x, [2, -1, 12]]}\n"
      "  - {out: d, op: aten.view.default, args: [x, [{sym: s}, -1]]}\n"
      "outputs: [a, b, d]\n",
      "a: float32[8*s, 3] = aten::view_copy.out(x, [8*s, 3])\n"
      "b: float32[2, s, 12] = aten::view_copy.out(x, [2, s, 12])\n"
      "d: float32[s, 24] = aten::view_copy.out(x, [s, 24])\n"
      "return a\n"
      "return b\n"
      "return d\n");
}

static void a_transpose_of_one_row_is_a_view(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower",
      "inputs: [{name: x, type: 'float32[1, 4, 32]'}, {name: w, type: "
      "'float32[2, 3]'}]\n"
      "nodes:\n"
      "  - {out: a, op: aten.transpose.int, args: [x, 0, 1]}\n"
      "  - {out: b, op: aten.transpose.int, args: [w, 0, 1]}\n"
      "  - {out: d, op: aten.t.default, args: [w]}\n"
      "outputs: [a, b, d]\n",
      "a: float32[4, 1, 32] = aten::view_copy.out(x, [4, 1, 32])\n"
      "b: float32[3, 2] = aten::permute_copy.out(w, [1, 0])\n"
      "d: float32[3, 2] = aten::permute_copy.out(w, [1, 0])\n"
      "return a\n"
      "return b\n"
      "return d\n");
}

static const char padded[] =
    "dims: {s: {min: 4, max: 8}}\n"
    "inputs: [{name: x, type: 'float32[2, s]'}]\n"
    "nodes:\n"
    "  - {out: a, op: aten.constant_pad_nd.default, args: [x, [1, -1]]}\n"
    "  - {out: b, op: aten.constant_pad_nd.default, args: [x, [-1, -2, 0, "
    "0]]}\n"
    "  - {out: c, op: aten.constant_pad_nd.default, args: [x, [0, 0]]}\n"
    "outputs: [a, b, c]\n";

static void negative_padding_is_a_slice_for_executorch(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_EXECUTORCH, "lower", padded,
      "a.1: float32[2, s - 1] = aten::slice_copy.Tensor_out(x, 1, 0, s - 1, "
      "1)\n"
      "a: float32[2, s] = aten::constant_pad_nd.out(a.1, [1, 0], 0)\n"
      "b: float32[2, s - 3] = aten::slice_copy.Tensor_out(x, 1, 1, s - 2, "
      "1)\n"
      "return a\n"
      "return b\n"
      "return x\n");
  expect_lowered(
      ETX_TARGET_ETX, "lower", padded,
      "a: float32[2, s] = aten::constant_pad_nd.out(x, [1, -1], 0)\n"
      "b: float32[2, s - 3] = aten::constant_pad_nd.out(x, [-1, -2, 0, 0], "
      "0)\n"
      "return a\n"
      "return b\n"
      "return x\n");
}

static void slice_bounds_are_clamped(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower",
      "dims: {s: {min: 1, max: 8}}\n"
      "inputs: [{name: x, type: 'float32[8, s]'}]\n"
      "nodes:\n"
      "  - {out: a, op: aten.slice.Tensor, args: [x, 0, -3, 100]}\n"
      "  - {out: b, op: aten.slice.Tensor, args: [x, 0, 0, {sym: s}]}\n"
      "  - {out: d, op: aten.slice.Tensor, args: [x, -1, 1, {sym: s}]}\n"
      "  - {out: e, op: aten.select.int, args: [x, 0, -1]}\n"
      "outputs: [a, b, d, e]\n",
      "a: float32[3, s] = aten::slice_copy.Tensor_out(x, 0, 5, 8, 1)\n"
      "b: float32[s, s] = aten::slice_copy.Tensor_out(x, 0, 0, s, 1)\n"
      "d: float32[8, s - 1] = aten::slice_copy.Tensor_out(x, 1, 1, s, 1)\n"
      "e: float32[s] = aten::select_copy.int_out(x, 0, 7)\n"
      "return a\n"
      "return b\n"
      "return d\n"
      "return e\n");
}

static void splits_are_slices(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower",
      "inputs: [{name: x, type: 'float32[7, 4]'}]\n"
      "nodes:\n"
      "  - {out: [a, b, c], op: aten.split.Tensor, args: [x, 3]}\n"
      "  - {out: [d, e], op: aten.split_with_sizes.default, args: [x, [1, "
      "3], 1]}\n"
      "  - {out: [f, g], op: aten.chunk.default, args: [x, 2]}\n"
      "outputs: [a, b, c, d, e, f, g]\n",
      "a: float32[3, 4] = aten::slice_copy.Tensor_out(x, 0, 0, 3, 1)\n"
      "b: float32[3, 4] = aten::slice_copy.Tensor_out(x, 0, 3, 6, 1)\n"
      "c: float32[1, 4] = aten::slice_copy.Tensor_out(x, 0, 6, 7, 1)\n"
      "d: float32[7, 1] = aten::slice_copy.Tensor_out(x, 1, 0, 1, 1)\n"
      "e: float32[7, 3] = aten::slice_copy.Tensor_out(x, 1, 1, 4, 1)\n"
      "f: float32[4, 4] = aten::slice_copy.Tensor_out(x, 0, 0, 4, 1)\n"
      "g: float32[3, 4] = aten::slice_copy.Tensor_out(x, 0, 4, 7, 1)\n"
      "return a\n"
      "return b\n"
      "return c\n"
      "return d\n"
      "return e\n"
      "return f\n"
      "return g\n");
}

// Decompositions turn chunk into a split whose size is an expression.
static void halves_of_a_varying_size_are_slices(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower",
      "dims: {n: {min: 2, max: 9}}\n"
      "inputs: [{name: x, type: 'float32[n, 4]'}]\n"
      "nodes:\n"
      "  - {out: [a, b], op: aten.chunk.default, args: [x, 2]}\n"
      "  - {out: [c, d], op: aten.split.Tensor, args: [x, {sym: (n + 1)//2}]}\n"
      "outputs: [a, b, c, d]\n",
      "a: float32[(n + 1)//2, 4] = aten::slice_copy.Tensor_out(x, 0, 0, (n + "
      "1)//2, 1)\n"
      "b: float32[n - ((n + 1)//2), 4] = aten::slice_copy.Tensor_out(x, 0, (n "
      "+ 1)//2, n, 1)\n"
      "c: float32[(n + 1)//2, 4] = aten::slice_copy.Tensor_out(x, 0, 0, (n + "
      "1)//2, 1)\n"
      "d: float32[n - ((n + 1)//2), 4] = aten::slice_copy.Tensor_out(x, 0, (n "
      "+ 1)//2, n, 1)\n"
      "return a\n"
      "return b\n"
      "return c\n"
      "return d\n");
}

static void a_split_size_may_vary(void** state) {
  static const char yaml[] =
      "dims: {n: {min: %s, max: 9}}\n"
      "inputs: [{name: x, type: 'float32[n, 4]'}]\n"
      "nodes:\n"
      "  - {out: [a, b], op: aten.split.Tensor, args: [x, {sym: n//2 + 1}]}\n"
      "outputs: [a, b]\n";
  char text[sizeof yaml + 8];
  (void)state;
  snprintf(text, sizeof text, yaml, "2");
  expect_lowered(
      ETX_TARGET_ETX, "lower", text,
      "a: float32[n//2 + 1, 4] = aten::slice_copy.Tensor_out(x, 0, 0, n//2 + "
      "1, 1)\n"
      "b: float32[n - (n//2) - 1, 4] = aten::slice_copy.Tensor_out(x, 0, n//2 "
      "+ 1, n, 1)\n"
      "return a\n"
      "return b\n");
  snprintf(text, sizeof text, yaml, "0");
  expect_refused(ETX_TARGET_ETX, "lower", text,
                 "does not give 2 tensors for every size");
}

// Chunks of 5 elements: four are asked for, but 2 elements each make three.
static void parts_that_are_fewer_for_some_size_are_refused(void** state) {
  (void)state;
  expect_refused(ETX_TARGET_ETX, "lower",
                 "dims: {n: {min: 4, max: 9}}\n"
                 "inputs: [{name: x, type: 'float32[n, 4]'}]\n"
                 "nodes:\n"
                 "  - {out: [a, b, c, d], op: aten.chunk.default, args: [x, "
                 "4]}\n"
                 "outputs: [a, b, c, d]\n",
                 "does not give 4 tensors for every size");
  expect_refused(ETX_TARGET_ETX, "lower",
                 "dims: {n: {min: 1, max: 9}}\n"
                 "inputs: [{name: x, type: 'float32[n, 4]'}]\n"
                 "nodes:\n"
                 "  - {out: [a, b], op: aten.chunk.default, args: [x, 2]}\n"
                 "outputs: [a, b]\n",
                 "does not give 2 tensors for every size");
}

static void stack_is_a_cat_of_views(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower",
      "inputs: [{name: x, type: 'float32[4]'}, {name: i, type: 'int64[4]'}]\n"
      "nodes:\n"
      "  - {out: a, op: aten.stack.default, args: [[x, i], -1]}\n"
      "outputs: [a]\n",
      "a.1: float32[4] = dim_order_ops::_to_dim_order_copy.out(i, False, [0])\n"
      "a.2: float32[4, 1] = aten::view_copy.out(x, [4, 1])\n"
      "a.3: float32[4, 1] = aten::view_copy.out(a.1, [4, 1])\n"
      "a: float32[4, 2] = aten::cat.out([a.2, a.3], 1)\n"
      "return a\n");
}

static void repeats_of_rows_are_expanded(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower",
      "inputs: [{name: x, type: 'float32[2, 3]'}]\n"
      "nodes:\n"
      "  - {out: a, op: aten.repeat_interleave.self_int, args: [x, 2, 0]}\n"
      "  - {out: b, op: aten.repeat.default, args: [x, [4, 1, 1]]}\n"
      "  - {out: d, op: aten.repeat.default, args: [x, [1, 2]]}\n"
      "outputs: [a, b, d]\n",
      "a.1: float32[2, 1, 3] = aten::view_copy.out(x, [2, 1, 3])\n"
      "a.2: float32[2, 2, 3] = aten::expand_copy.out(a.1, [2, 2, 3], False)\n"
      "a: float32[4, 3] = aten::view_copy.out(a.2, [4, 3])\n"
      "b: float32[4, 2, 3] = aten::expand_copy.out(x, [4, 2, 3], False)\n"
      "d: float32[2, 6] = aten::repeat.out(x, [1, 2])\n"
      "return a\n"
      "return b\n"
      "return d\n");
}

static void select_scatter_writes_one_slice(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower",
      "inputs: [{name: x, type: 'float32[3, 4]'}, {name: r, type: "
      "'float32[4]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.select_scatter.default, args: [x, r, 0, -1]}\n"
      "outputs: [y]\n",
      "y.1: float32[1, 4] = aten::view_copy.out(r, [1, 4])\n"
      "y: float32[3, 4] = aten::slice_scatter.out(x, y.1, 0, 2, 3, 1)\n"
      "return y\n");
}

static void index_copy_becomes_index_put_with_none(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower",
      "inputs: [{name: x, type: 'float32[2, 5, 3]'}, {name: p, type: "
      "'int64[1]'}, {name: r, type: 'float32[2, 1, 3]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.index_copy.default, args: [x, 1, p, r]}\n"
      "outputs: [y]\n",
      "y: float32[2, 5, 3] = aten::index_put.out(x, [None, p], r, False)\n"
      "return y\n");
}

static void index_put_keeps_none_in_its_list(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower",
      "inputs: [{name: x, type: 'float32[2, 5, 3]'}, {name: p, type: "
      "'int64[2]'}, {name: r, type: 'float32[2, 2, 3]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.index_put.default, args: [x, [null, p], r]}\n"
      "outputs: [y]\n",
      "y: float32[2, 5, 3] = aten::index_put.out(x, [None, p], r, False)\n"
      "return y\n");
}

static void slice_scatter_over_all_is_its_source(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower",
      "inputs: [{name: x, type: 'float32[3, 4]'}, {name: r, type: "
      "'float32[3, 4]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.slice_scatter.default, args: [x, r, 0, 0, 3]}\n"
      "  - {out: z, op: aten.neg.default, args: [y]}\n"
      "outputs: [z]\n",
      "z: float32[3, 4] = aten::neg.out(r)\n"
      "return z\n");
}

static void copy_has_the_dtype_and_sizes_of_its_target(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower",
      "inputs: [{name: x, type: 'float32[3, 4]'}, {name: i, type: "
      "'int64[4]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.copy.default, args: [x, i]}\n"
      "outputs: [y]\n",
      "y.1: float32[4] = dim_order_ops::_to_dim_order_copy.out(i, False, [0])\n"
      "y: float32[3, 4] = aten::expand_copy.out(y.1, [3, 4], False)\n"
      "return y\n");
}

static void zeros_like_has_fixed_sizes(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_ETX, "lower",
                 "dims: {s: {min: 1, max: 8}}\n"
                 "inputs: [{name: x, type: 'float32[s, 4]'}]\n"
                 "nodes:\n"
                 "  - {out: y, op: aten.full_like.default, args: [x, 0]}\n"
                 "  - {out: z, op: aten.zeros.default, args: [[2]]}\n"
                 "  - {out: w, op: aten.zero.default, args: [z]}\n"
                 "outputs: [y, w]\n",
                 "y: float32[s, 4] = aten::full.out([s, 4], 0)\n"
                 "z: float32[2] = aten::full.out([2], 0)\n"
                 "w: float32[2] = aten::full.out([2], 0)\n"
                 "return y\n"
                 "return w\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(views_that_change_nothing_vanish),
      cmocka_unit_test(t_mT_and_numpy_T_transpose),
      cmocka_unit_test(complex_matrices_are_transposed_but_have_no_adjoint),
      cmocka_unit_test(a_missing_size_divides_out_of_symbols),
      cmocka_unit_test(a_transpose_of_one_row_is_a_view),
      cmocka_unit_test(negative_padding_is_a_slice_for_executorch),
      cmocka_unit_test(slice_bounds_are_clamped),
      cmocka_unit_test(splits_are_slices),
      cmocka_unit_test(halves_of_a_varying_size_are_slices),
      cmocka_unit_test(a_split_size_may_vary),
      cmocka_unit_test(parts_that_are_fewer_for_some_size_are_refused),
      cmocka_unit_test(stack_is_a_cat_of_views),
      cmocka_unit_test(repeats_of_rows_are_expanded),
      cmocka_unit_test(select_scatter_writes_one_slice),
      cmocka_unit_test(index_copy_becomes_index_put_with_none),
      cmocka_unit_test(index_put_keeps_none_in_its_list),
      cmocka_unit_test(slice_scatter_over_all_is_its_source),
      cmocka_unit_test(copy_has_the_dtype_and_sizes_of_its_target),
      cmocka_unit_test(zeros_like_has_fixed_sizes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
