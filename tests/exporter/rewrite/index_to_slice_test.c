// Indexing by consecutive indices, and indices that only look consecutive.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/exporter/lowered.h"

static void index_by_arange_is_a_slice(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower fold_constants index_to_slice simplify",
      "dims: {s: {min: 1, max: 8}}\n"
      "inputs: [{name: x, type: 'float32[8, 9, 2]'}]\n"
      "nodes:\n"
      "  - {out: i, op: aten.arange.default, args: [{sym: s}]}\n"
      "  - {out: y, op: aten.index.Tensor, args: [x, [null, i]]}\n"
      "  - {out: z, op: aten.index_select.default, args: [x, 0, i]}\n"
      "outputs: [y, z]\n",
      "y: float32[8, s, 2] = aten::slice_copy.Tensor_out(x, 1, 0, s, 1)\n"
      "z: float32[s, 9, 2] = aten::slice_copy.Tensor_out(x, 0, 0, s, 1)\n"
      "return y\n"
      "return z\n");
}

static void embedding_of_arange_is_a_slice(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower fold_constants index_to_slice simplify",
      "dims: {s: {min: 1, max: 8}}\n"
      "buffers: [{name: w, type: 'float32[8, 2]', init: 1}]\n"
      "inputs: [{name: x, type: 'float32[s, 2]'}]\n"
      "nodes:\n"
      "  - {out: i, op: aten.arange.default, args: [{sym: s}]}\n"
      "  - {out: p, op: aten.embedding.default, args: [w, i]}\n"
      "  - {out: y, op: aten.add.Tensor, args: [x, p]}\n"
      "outputs: [y]\n",
      "p: float32[s, 2] = aten::slice_copy.Tensor_out(w, 0, 0, s, 1)\n"
      "y: float32[s, 2] = aten::add.out(x, p, 1)\n"
      "return y\n");
}

static void index_put_by_arange_is_slice_scatter(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower fold_constants index_to_slice simplify",
      "dims: {s: {min: 1, max: 8}}\n"
      "inputs: [{name: x, type: 'float32[2, 8]'}, {name: r, type: "
      "'float32[2, s]'}]\n"
      "nodes:\n"
      "  - {out: i, op: aten.arange.default, args: [{sym: s}]}\n"
      "  - {out: y, op: aten.index_put.default, args: [x, [null, i], r]}\n"
      "outputs: [y]\n",
      "y: float32[2, 8] = aten::slice_scatter.out(x, r, 1, 0, s, 1)\n"
      "return y\n");
}

static void a_broadcast_source_is_expanded(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower fold_constants index_to_slice simplify",
      "dims: {s: {min: 1, max: 8}}\n"
      "inputs: [{name: x, type: 'float32[8, 2]'}, {name: r, type: "
      "'float32[2]'}]\n"
      "nodes:\n"
      "  - {out: i, op: aten.arange.default, args: [{sym: s}]}\n"
      "  - {out: y, op: aten.index_put.default, args: [x, [i], r]}\n"
      "outputs: [y]\n",
      "y.1: float32[s, 2] = aten::expand_copy.out(r, [s, 2], False)\n"
      "y: float32[8, 2] = aten::slice_scatter.out(x, y.1, 0, 0, s, 1)\n"
      "return y\n");
}

static void accumulating_index_put_is_left_alone(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower fold_constants index_to_slice simplify",
      "dims: {s: {min: 1, max: 8}}\n"
      "inputs: [{name: x, type: 'float32[8, 2]'}, {name: r, type: "
      "'float32[2]'}]\n"
      "nodes:\n"
      "  - {out: i, op: aten.arange.default, args: [{sym: s}]}\n"
      "  - {out: y, op: aten.index_put.default, args: [x, [i], r, true]}\n"
      "outputs: [y]\n",
      "i: int64[s] = aten::arange.start_out(0, s, 1)\n"
      "y: float32[8, 2] = aten::index_put.out(x, [i], r, True)\n"
      "return y\n");
}

static void indices_that_may_be_out_of_range_are_left_alone(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_ETX, "lower fold_constants index_to_slice simplify",
                 "dims: {s: {min: 1, max: 8}}\n"
                 "inputs: [{name: x, type: 'float32[7, 2]'}]\n"
                 "nodes:\n"
                 "  - {out: i, op: aten.arange.default, args: [{sym: s}]}\n"
                 "  - {out: y, op: aten.index.Tensor, args: [x, [i]]}\n"
                 "outputs: [y]\n",
                 "i: int64[s] = aten::arange.start_out(0, s, 1)\n"
                 "y: float32[s, 2] = aten::index.Tensor_out(x, [i])\n"
                 "return y\n");
}

static void constant_consecutive_indices_are_slices(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower fold_constants index_to_slice simplify",
      "inputs: [{name: x, type: 'float32[7, 2]'}]\n"
      "nodes:\n"
      "  - {out: a, op: aten.arange.start, args: [2, 5]}\n"
      "  - {out: y, op: aten.index.Tensor, args: [x, [a]]}\n"
      "outputs: [y]\n",
      "y: float32[3, 2] = aten::slice_copy.Tensor_out(x, 0, 2, 5, 1)\n"
      "return y\n");
}

static void several_index_tensors_are_left_alone(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_ETX, "lower fold_constants index_to_slice simplify",
                 "dims: {s: {min: 1, max: 8}}\n"
                 "inputs: [{name: x, type: 'float32[8, 8]'}]\n"
                 "nodes:\n"
                 "  - {out: i, op: aten.arange.default, args: [{sym: s}]}\n"
                 "  - {out: y, op: aten.index.Tensor, args: [x, [i, i]]}\n"
                 "outputs: [y]\n",
                 "i: int64[s] = aten::arange.start_out(0, s, 1)\n"
                 "y: float32[s] = aten::index.Tensor_out(x, [i, i])\n"
                 "return y\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(index_by_arange_is_a_slice),
      cmocka_unit_test(embedding_of_arange_is_a_slice),
      cmocka_unit_test(index_put_by_arange_is_slice_scatter),
      cmocka_unit_test(a_broadcast_source_is_expanded),
      cmocka_unit_test(accumulating_index_put_is_left_alone),
      cmocka_unit_test(indices_that_may_be_out_of_range_are_left_alone),
      cmocka_unit_test(constant_consecutive_indices_are_slices),
      cmocka_unit_test(several_index_tensors_are_left_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
