// Normalisation, reductions, convolution and new tensors after lowering.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/exporter/lowered.h"

static void layer_norm_has_three_results(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_ETX, "lower",
                 "inputs: [{name: x, type: 'float32[2, 4]'}]\n"
                 "nodes:\n"
                 "  - {out: y, op: aten.layer_norm.default, args: [x, [4]]}\n"
                 "outputs: [y]\n",
                 "y: float32[2, 4], y.2: float32[2, 1], y.3: float32[2, 1] = "
                 "aten::native_layer_norm.out(x, [4], None, None, 1e-05)\n"
                 "return y\n");
}

static void softmax_loses_its_type(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower",
      "inputs: [{name: x, type: 'float32[2, 4]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.softmax.int, args: [x, -1]}\n"
      "  - {out: z, op: aten._softmax.default, args: [y, 0, false]}\n"
      "outputs: [z]\n",
      "y: float32[2, 4] = aten::_softmax.out(x, -1, False)\n"
      "z: float32[2, 4] = aten::_softmax.out(y, 0, False)\n"
      "return z\n");
}

static void batch_norm_in_training_gives_new_statistics(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'float32[2, 3, 4]'}, {name: m, type: "
      "'float32[3]'}, {name: v, type: 'float32[3]'}]\n"
      "nodes:\n"
      "  - {out: [y, a, b, c, d], op: "
      "aten._native_batch_norm_legit_functional.default, args: [x, null, "
      "null, m, v, true, 0.25, 1.0e-5]}\n"
      "outputs: [y, c, d]\n",
      "y: float32[2, 3, 4], a: float32[3], b: float32[3] = "
      "aten::_native_batch_norm_legit.no_stats_out(x, None, None, True, "
      "0.25, 1e-05)\n"
      "y.4: float32[3] = aten::var.correction_out(x, [0, 2], 1, False)\n"
      "y.5: float32[3] = aten::mul.out(m, 0.75:float32)\n"
      "y.6: float32[3] = aten::mul.out(a, 0.25:float32)\n"
      "c: float32[3] = aten::add.out(y.5, y.6, 1)\n"
      "y.8: float32[3] = aten::mul.out(v, 0.75:float32)\n"
      "y.9: float32[3] = aten::mul.out(y.4, 0.25:float32)\n"
      "d: float32[3] = aten::add.out(y.8, y.9, 1)\n"
      "return y\n"
      "return c\n"
      "return d\n");
}

static void batch_norm_needs_statistics_or_takes_its_own(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower",
      "inputs: [{name: x, type: 'float32[1, 3, 2]'}]\n"
      "buffers: [{name: w, type: 'float32[3]', init: 1}, {name: m, type: "
      "'float32[3]', init: 1}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.batch_norm.default, args: [x, w, null, m, m, "
      "false, 0.1, 1.0e-5, false]}\n"
      "  - {out: z, op: aten.batch_norm.default, args: [x, w, null, null, "
      "null, true, 0.1, 1.0e-5, false]}\n"
      "outputs: [y, z]\n",
      "y: float32[1, 3, 2], y.2: float32[0], y.3: float32[0] = "
      "aten::_native_batch_norm_legit_no_training.out(x, w, None, m, m, "
      "0.1, 1e-05)\n"
      "z: float32[1, 3, 2], z.2: float32[3], z.3: float32[3] = "
      "aten::_native_batch_norm_legit.no_stats_out(x, w, None, True, 0.1, "
      "1e-05)\n"
      "return y\n"
      "return z\n");
}

static void channels_are_groups(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower",
      "dims: {s: {min: 1, max: 8}}\n"
      "inputs: [{name: x, type: 'float32[2, 6, s, 5]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.group_norm.default, args: [x, 3]}\n"
      "  - {out: z, op: aten.instance_norm.default, args: [y, null, null, "
      "null, null, true, 0.1, 1.0e-5, false]}\n"
      "outputs: [z]\n",
      "y: float32[2, 6, s, 5], y.2: float32[2, 3], y.3: float32[2, 3] = "
      "aten::native_group_norm.out(x, None, None, 2, 6, 5*s, 3, 1e-05)\n"
      "z: float32[2, 6, s, 5], z.2: float32[2, 6], z.3: float32[2, 6] = "
      "aten::native_group_norm.out(y, None, None, 2, 6, 5*s, 6, 1e-05)\n"
      "return z\n");
}

static void a_convolution_without_batch_gets_one(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower",
      "inputs: [{name: x, type: 'float32[4, 8]'}]\n"
      "buffers: [{name: w, type: 'float32[3, 4, 3]', init: 1}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.conv1d.default, args: [x, w, null, [2], [1]]}\n"
      "outputs: [y]\n",
      "y.1: float32[1, 4, 8] = aten::view_copy.out(x, [1, 4, 8])\n"
      "y.2: float32[1, 3, 4] = aten::convolution.out(y.1, w, None, [2], "
      "[1], [1], False, [0], 1)\n"
      "y: float32[3, 4] = aten::view_copy.out(y.2, [3, 4])\n"
      "return y\n");
}

static void deviation_is_the_root_of_variance(void** state) {
  (void)state;
  const char* const yaml =
      "inputs: [{name: x, type: 'float32[2, 4]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.var.correction, args: [x, [1]], kwargs: "
      "{correction: 0}}\n"
      "  - {out: z, op: aten.std.default, args: [x]}\n"
      "  - {out: [d, m], op: aten.std_mean.dim, args: [x, [0], false]}\n"
      "outputs: [y, z, d, m]\n";
  expect_lowered(
      ETX_TARGET_ETX, "lower", yaml,
      "y: float32[2] = aten::var.correction_out(x, [1], 0, False)\n"
      "z: float32[] = etx::std.correction_out(x, None, 1, False)\n"
      "d.1: float32[4], m: float32[4] = aten::var_mean.correction_out(x, "
      "[0], 0, False)\n"
      "d: float32[4] = aten::sqrt.out(d.1)\n"
      "return y\n"
      "return z\n"
      "return d\n"
      "return m\n");
  expect_lowered(
      ETX_TARGET_EXECUTORCH, "lower", yaml,
      "y: float32[2] = aten::var.correction_out(x, [1], 0, False)\n"
      "z.1: float32[] = aten::var.correction_out(x, None, 1, False)\n"
      "z: float32[] = aten::sqrt.out(z.1)\n"
      "d.1: float32[4], m: float32[4] = aten::var_mean.correction_out(x, "
      "[0], 0, False)\n"
      "d: float32[4] = aten::sqrt.out(d.1)\n"
      "return y\n"
      "return z\n"
      "return d\n"
      "return m\n");
}

static void sorting_is_the_topk_of_all(void** state) {
  (void)state;
  const char* const yaml =
      "dims: {s: {min: 1, max: 8}}\n"
      "inputs: [{name: x, type: 'float32[s]'}]\n"
      "nodes:\n"
      "  - {out: [v, i], op: aten.sort.default, args: [x, -1, true]}\n"
      "outputs: [v, i]\n";
  expect_lowered(
      ETX_TARGET_ETX, "lower", yaml,
      "v: float32[s], i: int64[s] = etx::sort.values_stable(x, False, 0, "
      "True)\n"
      "return v\n"
      "return i\n");
  expect_lowered(
      ETX_TARGET_EXECUTORCH, "lower", yaml,
      "v: float32[s], i: int64[s] = aten::topk.values(x, s, 0, True, "
      "True)\n"
      "return v\n"
      "return i\n");
}

static void sums_of_all_have_an_empty_list(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower",
      "inputs: [{name: x, type: 'float32[2, 4]'}, {name: b, type: 'bool[2, "
      "4]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.sum.default, args: [x]}\n"
      "  - {out: z, op: aten.sum.dim_IntList, args: [b, [0]]}\n"
      "  - {out: w, op: aten.mean.default, args: [x]}\n"
      "outputs: [y, z, w]\n",
      "y: float32[] = aten::sum.IntList_out(x, [], False, None)\n"
      "z: int64[4] = aten::sum.IntList_out(b, [0], False, None)\n"
      "w: float32[] = aten::mean.out(x, [], False, None)\n"
      "return y\n"
      "return z\n"
      "return w\n");
}

static void sums_in_smaller_integers_are_cut(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower",
      "inputs: [{name: x, type: 'int8[2, 4]'}, {name: i, type: 'int32[3]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.sum.dim_IntList, args: [x, [0], true], kwargs: "
      "{dtype: int32}}\n"
      "  - {out: z, op: aten.cumsum.default, args: [i, 0], kwargs: {dtype: "
      "int32}}\n"
      "outputs: [y, z]\n",
      "y.1: int32[2, 4] = dim_order_ops::_to_dim_order_copy.out(x, False, [0, "
      "1])\n"
      "y.2: int64[1, 4] = aten::sum.IntList_out(y.1, [0], True, None)\n"
      "y: int32[1, 4] = dim_order_ops::_to_dim_order_copy.out(y.2, False, [0, "
      "1])\n"
      "z.1: int64[3] = aten::cumsum.out(i, 0, None)\n"
      "z: int32[3] = dim_order_ops::_to_dim_order_copy.out(z.1, False, [0])\n"
      "return y\n"
      "return z\n");
}

static void ranges_and_triangles(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_EXECUTORCH, "lower",
      "inputs: [{name: x, type: 'float32[3, 3]'}]\n"
      "nodes:\n"
      "  - {out: a, op: aten.arange.start_step, args: [0, 1, 0.25]}\n"
      "  - {out: c, op: aten.tril.default, args: [x, -1]}\n"
      "  - {out: d, op: aten.triu.default, args: [x, -1]}\n"
      "outputs: [a, c, d]\n",
      "a: float32[4] = aten::arange.start_out(0, 1, 0.25)\n"
      "c: float32[3, 3] = aten::tril.out(x, -1)\n"
      "d.1: int64[3] = aten::arange.start_out(0, 3, 1)\n"
      "d.2: int64[3] = aten::arange.start_out(0, 3, 1)\n"
      "d.3: int64[3, 1] = aten::view_copy.out(d.1, [3, 1])\n"
      "d.4: int64[3, 1] = aten::add.out(d.3, -1:int64, 1)\n"
      "d.5: bool[3, 3] = aten::ge.Tensor_out(d.2, d.4)\n"
      "d: float32[3, 3] = aten::where.self_out(d.5, x, 0.0:float32)\n"
      "return a\n"
      "return c\n"
      "return d\n");
  expect_lowered(ETX_TARGET_ETX, "lower",
                 "dims: {s: {min: 1, max: 8}}\n"
                 "inputs: [{name: x, type: 'float32[3, 3]'}]\n"
                 "nodes:\n"
                 "  - {out: a, op: aten.arange.default, args: [{sym: s}]}\n"
                 "  - {out: d, op: aten.triu.default, args: [x, -1]}\n"
                 "outputs: [a, d]\n",
                 "a: int64[s] = aten::arange.start_out(0, s, 1)\n"
                 "d: float32[3, 3] = etx::triu.out(x, -1)\n"
                 "return a\n"
                 "return d\n");
}

// Without an order several dimensions are one line, by an order a matrix.
static void a_linear_norm_is_one_of_lines(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower",
      "inputs: [{name: x, type: 'float32[2, 3]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.linalg_norm.default, args: [x]}\n"
      "  - {out: z, op: aten.linalg_norm.default, args: [x, 1, [1], true]}\n"
      "outputs: [y, z]\n",
      "y.1: float32[2, 3] = aten::mul.out(x, x)\n"
      "y.2: float32[] = aten::sum.IntList_out(y.1, [], False, None)\n"
      "y: float32[] = aten::sqrt.out(y.2)\n"
      "z.1: float32[2, 3] = aten::abs.out(x)\n"
      "z: float32[2, 1] = aten::sum.IntList_out(z.1, [1], True, None)\n"
      "return y\nreturn z\n");
  expect_refused(ETX_TARGET_ETX, "lower",
                 "inputs: [{name: x, type: 'float32[2, 3]'}]\n"
                 "nodes:\n"
                 "  - {out: y, op: aten.linalg_norm.default, args: [x, 2]}\n"
                 "outputs: [y]\n",
                 "matrix norms with 'ord' are not supported");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(layer_norm_has_three_results),
      cmocka_unit_test(softmax_loses_its_type),
      cmocka_unit_test(batch_norm_in_training_gives_new_statistics),
      cmocka_unit_test(batch_norm_needs_statistics_or_takes_its_own),
      cmocka_unit_test(channels_are_groups),
      cmocka_unit_test(a_convolution_without_batch_gets_one),
      cmocka_unit_test(deviation_is_the_root_of_variance),
      cmocka_unit_test(sorting_is_the_topk_of_all),
      cmocka_unit_test(sums_of_all_have_an_empty_list),
      cmocka_unit_test(sums_in_smaller_integers_are_cut),
      cmocka_unit_test(ranges_and_triangles),
      cmocka_unit_test(a_linear_norm_is_one_of_lines),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
