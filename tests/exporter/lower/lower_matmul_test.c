// Matrix products and attention after lowering.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/exporter/lowered.h"

static const char linear_of_rows[] =
    "dims: {s: {min: 1, max: 8}}\n"
    "inputs: [{name: x, type: 'float32[1, s, 4]'}]\n"
    "buffers: [{name: w, type: 'float32[3, 4]', init: 1}, {name: b, type: "
    "'float32[3]', init: 1}]\n"
    "nodes:\n"
    "  - {out: y, op: aten.linear.default, args: [x, w, b]}\n"
    "outputs: [y]\n";

static void linear_keeps_the_layout_of_its_weight(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_ETX, "lower", linear_of_rows,
                 "y: float32[1, s, 3] = aten::linear.out(x, w, b)\n"
                 "return y\n");
}

static void stock_linear_multiplies_by_a_transpose(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_EXECUTORCH, "lower", linear_of_rows,
                 "y.1: float32[s, 4] = aten::view_copy.out(x, [s, 4])\n"
                 "y.2: float32[4, 3] = aten::permute_copy.out(w, [1, 0])\n"
                 "y.3: float32[s, 3] = aten::addmm.out(b, y.1, y.2, 1, 1)\n"
                 "y: float32[1, s, 3] = aten::view_copy.out(y.3, [1, s, 3])\n"
                 "return y\n");
}

static void matmul_collapses_batches(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower",
      "inputs: [{name: x, type: 'float32[2, 1, 3, 4]'}, {name: y, type: "
      "'float32[5, 4, 6]'}]\n"
      "nodes:\n"
      "  - {out: z, op: aten.matmul.default, args: [x, y]}\n"
      "outputs: [z]\n",
      "z.1: float32[2, 5, 3, 4] = aten::expand_copy.out(x, [2, 5, 3, 4], "
      "False)\n"
      "z.2: float32[10, 3, 4] = aten::view_copy.out(z.1, [10, 3, 4])\n"
      "z.3: float32[2, 5, 4, 6] = aten::expand_copy.out(y, [2, 5, 4, 6], "
      "False)\n"
      "z.4: float32[10, 4, 6] = aten::view_copy.out(z.3, [10, 4, 6])\n"
      "z.5: float32[10, 3, 6] = aten::bmm.out(z.2, z.4)\n"
      "z: float32[2, 5, 3, 6] = aten::view_copy.out(z.5, [2, 5, 3, 6])\n"
      "return z\n");
}

static void matmul_of_vectors(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower",
      "inputs: [{name: x, type: 'float32[4]'}, {name: y, type: 'float32[4, "
      "6]'}, {name: z, type: 'float32[2, 3, 4]'}]\n"
      "nodes:\n"
      "  - {out: a, op: aten.matmul.default, args: [x, y]}\n"
      "  - {out: b, op: aten.matmul.default, args: [z, x]}\n"
      "  - {out: d, op: aten.matmul.default, args: [x, x]}\n"
      "outputs: [a, b, d]\n",
      "a.1: float32[1, 4] = aten::view_copy.out(x, [1, 4])\n"
      "a.2: float32[1, 6] = aten::mm.out(a.1, y)\n"
      "a: float32[6] = aten::view_copy.out(a.2, [6])\n"
      "b.1: float32[4, 1] = aten::view_copy.out(x, [4, 1])\n"
      "b.2: float32[6, 4] = aten::view_copy.out(z, [6, 4])\n"
      "b.3: float32[6, 1] = aten::mm.out(b.2, b.1)\n"
      "b.4: float32[2, 3, 1] = aten::view_copy.out(b.3, [2, 3, 1])\n"
      "b: float32[2, 3] = aten::view_copy.out(b.4, [2, 3])\n"
      "d.1: float32[1, 4] = aten::view_copy.out(x, [1, 4])\n"
      "d.2: float32[4, 1] = aten::view_copy.out(x, [4, 1])\n"
      "d.3: float32[1, 1] = aten::mm.out(d.1, d.2)\n"
      "d: float32[] = aten::view_copy.out(d.3, [])\n"
      "return a\n"
      "return b\n"
      "return d\n");
}

static void attention_scales_queries_and_masks_scores(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower",
      "inputs: [{name: q, type: 'float32[1, 4, 2, 8]'}, {name: k, type: "
      "'float32[1, 4, 6, 8]'}, {name: v, type: 'float32[1, 4, 6, 8]'}, {name: "
      "m, type: 'bool[2, 6]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.scaled_dot_product_attention.default, args: [q, "
      "k, v, m]}\n"
      "outputs: [y]\n",
      "y.1: float32[4, 2, 8] = aten::view_copy.out(q, [4, 2, 8])\n"
      "y.2: float32[4, 6, 8] = aten::view_copy.out(k, [4, 6, 8])\n"
      "y.3: float32[4, 6, 8] = aten::view_copy.out(v, [4, 6, 8])\n"
      "y.4: float32[4, 2, 8] = aten::mul.out(y.1, 0.3535533845424652:float32)\n"
      "y.5: float32[4, 2, 6] = etx::bmm_nt.out(y.4, y.2)\n"
      "y.6: float32[1, 4, 2, 6] = aten::view_copy.out(y.5, [1, 4, 2, 6])\n"
      "y.7: float32[1, 4, 2, 6] = aten::where.self_out(m, y.6, -.inf:float32)\n"
      "y.8: float32[1, 4, 2, 6] = aten::_softmax.out(y.7, -1, False)\n"
      "y.9: bool[2, 1] = aten::any.out(m, -1, True)\n"
      "y.10: bool[2, 1] = aten::logical_not.out(y.9)\n"
      "y.11: float32[1, 4, 2, 6] = aten::where.self_out(y.10, 0.0:float32, "
      "y.8)\n"
      "y.12: float32[4, 2, 6] = aten::view_copy.out(y.11, [4, 2, 6])\n"
      "y.13: float32[4, 2, 8] = aten::bmm.out(y.12, y.3)\n"
      "y: float32[1, 4, 2, 8] = aten::view_copy.out(y.13, [1, 4, 2, 8])\n"
      "return y\n");
}

static void grouped_attention_repeats_no_key(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower",
      "inputs: [{name: q, type: 'float32[1, 4, 2, 8]'}, {name: k, type: "
      "'float32[1, 2, 2, 8]'}, {name: v, type: 'float32[1, 2, 2, 8]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.scaled_dot_product_attention.default, args: "
      "[q, k, v, null, 0.0, true], kwargs: {scale: 0.5, enable_gqa: true}}\n"
      "outputs: [y]\n",
      "y.1: float32[2, 4, 8] = aten::view_copy.out(q, [2, 4, 8])\n"
      "y.2: float32[2, 2, 8] = aten::view_copy.out(k, [2, 2, 8])\n"
      "y.3: float32[2, 2, 8] = aten::view_copy.out(v, [2, 2, 8])\n"
      "y.4: int64[2] = aten::arange.start_out(0, 2, 1)\n"
      "y.5: int64[2] = aten::arange.start_out(0, 2, 1)\n"
      "y.6: int64[2, 1] = aten::view_copy.out(y.4, [2, 1])\n"
      "y.7: bool[2, 2] = aten::le.Tensor_out(y.5, y.6)\n"
      "y.8: float32[2, 4, 8] = aten::mul.out(y.1, 0.5:float32)\n"
      "y.9: float32[2, 4, 2] = etx::bmm_nt.out(y.8, y.2)\n"
      "y.10: float32[1, 4, 2, 2] = aten::view_copy.out(y.9, [1, 4, 2, 2])\n"
      "y.11: float32[1, 4, 2, 2] = aten::where.self_out(y.7, y.10, "
      "-.inf:float32)\n"
      "y.12: float32[1, 4, 2, 2] = aten::_softmax.out(y.11, -1, False)\n"
      "y.13: float32[2, 4, 2] = aten::view_copy.out(y.12, [2, 4, 2])\n"
      "y.14: float32[2, 4, 8] = aten::bmm.out(y.13, y.3)\n"
      "y: float32[1, 4, 2, 8] = aten::view_copy.out(y.14, [1, 4, 2, 8])\n"
      "return y\n");
}

static void stock_attention_transposes_keys(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_EXECUTORCH, "lower",
      "inputs: [{name: q, type: 'float32[2, 3, 4]'}, {name: k, type: "
      "'float32[2, 5, 4]'}, {name: v, type: 'float32[2, 5, 6]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.scaled_dot_product_attention.default, args: "
      "[q, k, v]}\n"
      "outputs: [y]\n",
      "y.1: float32[2, 3, 4] = aten::mul.out(q, 0.5:float32)\n"
      "y.2: float32[2, 4, 5] = aten::permute_copy.out(k, [0, 2, 1])\n"
      "y.3: float32[2, 3, 5] = aten::bmm.out(y.1, y.2)\n"
      "y.4: float32[2, 3, 5] = aten::_softmax.out(y.3, -1, False)\n"
      "y: float32[2, 3, 6] = aten::bmm.out(y.4, v)\n"
      "return y\n");
}

static void a_beta_of_zero_leaves_self_out(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: s, type: 'float32[3]'}, {name: m, type: 'float32[3, "
      "4]'}, {name: v, type: 'float32[4]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.addmv.default, args: [s, m, v]}\n"
      "outputs: [y]\n",
      "y.1: float32[4, 1] = aten::view_copy.out(v, [4, 1])\n"
      "y.2: float32[3, 1] = aten::mm.out(m, y.1)\n"
      "y.3: float32[3] = aten::view_copy.out(y.2, [3])\n"
      "y: float32[3] = aten::add.out(s, y.3, 1)\n"
      "return y\n");
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: s, type: 'float32[3]'}, {name: m, type: 'float32[3, "
      "4]'}, {name: v, type: 'float32[4]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.addmv.default, args: [s, m, v], kwargs: {beta: "
      "0, alpha: 2}}\n"
      "outputs: [y]\n",
      "y.1: float32[4, 1] = aten::view_copy.out(v, [4, 1])\n"
      "y.2: float32[3, 1] = aten::mm.out(m, y.1)\n"
      "y.3: float32[3] = aten::view_copy.out(y.2, [3])\n"
      "y: float32[3] = aten::mul.out(y.3, 2.0:float32)\n"
      "return y\n");
}

static void a_bilinear_layer_is_a_linear_one_and_inner_products(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'float32[2, 3]'}, {name: y, type: 'float32[2, "
      "4]'}, {name: w, type: 'float32[5, 3, 4]'}, {name: b, type: "
      "'float32[5]'}]\n"
      "nodes:\n"
      "  - {out: z, op: aten.bilinear.default, args: [x, y, w, b]}\n"
      "outputs: [z]\n",
      "z.1: float32[15, 4] = aten::view_copy.out(w, [15, 4])\n"
      "z.2: float32[2, 15] = aten::linear.out(y, z.1, None)\n"
      "z.3: float32[2, 5, 3] = aten::view_copy.out(z.2, [2, 5, 3])\n"
      "z.4: float32[2, 3, 1] = aten::view_copy.out(x, [2, 3, 1])\n"
      "z.5: float32[2, 5, 1] = aten::bmm.out(z.3, z.4)\n"
      "z.6: float32[2, 5] = aten::view_copy.out(z.5, [2, 5])\n"
      "z: float32[2, 5] = aten::add.out(z.6, b, 1)\n"
      "return z\n");
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'float32[2, 3]'}, {name: y, type: 'float32[2, "
      "4]'}, {name: w, type: 'float32[5, 3, 4]'}]\n"
      "nodes:\n"
      "  - {out: z, op: aten._trilinear.default, args: [x, w, y, [1, 3], [0], "
      "[1, 2], [2, 3]]}\n"
      "outputs: [z]\n",
      "z.1: float32[15, 4] = aten::view_copy.out(w, [15, 4])\n"
      "z.2: float32[2, 15] = aten::linear.out(y, z.1, None)\n"
      "z.3: float32[2, 5, 3] = aten::view_copy.out(z.2, [2, 5, 3])\n"
      "z.4: float32[2, 3, 1] = aten::view_copy.out(x, [2, 3, 1])\n"
      "z.5: float32[2, 5, 1] = aten::bmm.out(z.3, z.4)\n"
      "z: float32[2, 5] = aten::view_copy.out(z.5, [2, 5])\n"
      "return z\n");
}

static void addbmm_is_one_product_over_batches_and_columns(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "dims: {s: {min: 0, max: 9}}\n"
      "inputs: [{name: b, type: 'float32[5]'}, {name: x, type: 'float32[s, 3, "
      "4]'}, {name: y, type: 'float32[s, 4, 5]'}]\n"
      "nodes:\n"
      "  - {out: z, op: aten.addbmm.default, args: [b, x, y], kwargs: {alpha: "
      "2}}\n"
      "outputs: [z]\n",
      "z.1: float32[3, s, 4] = aten::permute_copy.out(x, [1, 0, 2])\n"
      "z.2: float32[3, 4*s] = aten::view_copy.out(z.1, [3, 4*s])\n"
      "z.3: float32[4*s, 5] = aten::view_copy.out(y, [4*s, 5])\n"
      "z.4: float32[3, 5] = aten::mm.out(z.2, z.3)\n"
      "z: float32[3, 5] = aten::add.out(b, z.4, 2)\n"
      "return z\n");
  // Equal products of sizes, but not equal sizes.
  expect_refused(
      ETX_TARGET_ETX, "lower",
      "inputs: [{name: b, type: 'float32[5]'}, {name: x, type: 'float32[2, 3, "
      "4]'}, {name: y, type: 'float32[4, 2, 5]'}]\n"
      "nodes:\n"
      "  - {out: z, op: aten.addbmm.default, args: [b, x, y]}\n"
      "outputs: [z]\n",
      "expects batches of matrices of shapes [B, N, K] and [B, K, M]");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(linear_keeps_the_layout_of_its_weight),
      cmocka_unit_test(stock_linear_multiplies_by_a_transpose),
      cmocka_unit_test(matmul_collapses_batches),
      cmocka_unit_test(matmul_of_vectors),
      cmocka_unit_test(attention_scales_queries_and_masks_scores),
      cmocka_unit_test(grouped_attention_repeats_no_key),
      cmocka_unit_test(stock_attention_transposes_keys),
      cmocka_unit_test(a_beta_of_zero_leaves_self_out),
      cmocka_unit_test(addbmm_is_one_product_over_batches_and_columns),
      cmocka_unit_test(a_bilinear_layer_is_a_linear_one_and_inner_products),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
