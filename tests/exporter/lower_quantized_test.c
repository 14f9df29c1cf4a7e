// Quantised tensors after lowering, and weights that are read as they are.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "tests/exporter/lowered.h"

static const char* const channels =
    "inputs: [{name: x, type: 'float32[2, 4]'}, {name: s, type: "
    "'float32[4]'}, {name: z, type: 'int32[4]'}]\n"
    "nodes:\n"
    "  - {out: q, op: quantized_decomposed.quantize_per_channel.default, args: "
    "[x, s, z, -1, -128, 127, int8]}\n"
    "  - {out: y, op: quantized_decomposed.dequantize_per_channel.default, "
    "args: [q, s, z, -1, -128, 127, int8]}\n"
    "outputs: [y]\n";

static void etx_takes_scales_as_they_come(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower", channels,
      "q: int8[2, 4] = quantized_decomposed::quantize_per_channel.out(x, s, "
      "z, -1, -128, 127, int8)\n"
      "y: float32[2, 4] = quantized_decomposed::dequantize_per_channel.out("
      "q, s, z, -1, -128, 127, int8, None)\n"
      "return y\n");
}

static void stock_kernels_get_the_types_they_want(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_EXECUTORCH, "lower simplify", channels,
      "q.1: float64[4] = dim_order_ops::_to_dim_order_copy.out(s, False, "
      "[0])\n"
      "q.2: int64[4] = dim_order_ops::_to_dim_order_copy.out(z, False, "
      "[0])\n"
      "q: int8[2, 4] = quantized_decomposed::quantize_per_channel.out(x, "
      "q.1, q.2, -1, -128, 127, int8)\n"
      "y: float32[2, 4] = quantized_decomposed::dequantize_per_channel.out("
      "q, s, q.2, -1, -128, 127, int8, None)\n"
      "return y\n");
}

static void a_table_of_another_type_is_cast_for_the_stock_runtime(
    void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_EXECUTORCH, "lower",
      "inputs: [{name: w, type: 'uint8[3, 2]'}, {name: s, type: "
      "'float16[3]'}, {name: i, type: 'int64[5]'}]\n"
      "nodes:\n"
      "  - {out: y, op: quantized_decomposed.embedding_4bit.dtype, args: "
      "[w, s, null, -8, 7, i], kwargs: {dtype: float32}}\n"
      "outputs: [y]\n",
      "y.1: float16[5, 4] = quantized_decomposed::embedding_4bit.dtype_out("
      "w, s, None, -8, 7, i, float16)\n"
      "y: float32[5, 4] = dim_order_ops::_to_dim_order_copy.out(y.1, False, "
      "[0, 1])\n"
      "return y\n");
}

static void ranges_of_a_tensor_are_two_results(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower",
      "inputs: [{name: x, type: 'float32[2, 4]'}]\n"
      "nodes:\n"
      "  - {out: [s, z], op: quantized_decomposed.choose_qparams.tensor, "
      "args: [x, -128, 127, 1.0e-7, int8]}\n"
      "  - {out: q, op: quantized_decomposed.quantize_per_tensor.tensor, "
      "args: [x, s, z, -128, 127, int8]}\n"
      "outputs: [q]\n",
      "s: float64[1], z: int64[1] = "
      "quantized_decomposed::choose_qparams.Tensor_out(x, -128, 127, 1e-07, "
      "int8)\n"
      "q: int8[2, 4] = quantized_decomposed::quantize_per_tensor.Tensor_out("
      "x, s, z, -128, 127, int8)\n"
      "return q\n");
}

static const char* const layer =
    "inputs: [{name: x, type: 'float32[2, 4]'}]\n"
    "buffers: [{name: w, type: 'int8[3, 4]', init: 5}, {name: s, type: "
    "'float32[3]', init: 0.5}, {name: z, type: 'int64[3]', init: %d}]\n"
    "nodes:\n"
    "  - {out: f, op: quantized_decomposed.dequantize_per_channel.default, "
    "args: [w, s, z, 0, -127, 127, int8]}\n"
    "%s"
    "outputs: [y]\n";

static void expect_layer(etx_target target, int zero, const char* nodes,
                         const char* wanted) {
  char yaml[2048];
  snprintf(yaml, sizeof yaml, layer, zero, nodes);
  expect_lowered(target,
                 "lower recompose_products recompose_quantized simplify", yaml,
                 wanted);
}

static void a_linear_layer_reads_bytes(void** state) {
  (void)state;
  expect_layer(ETX_TARGET_ETX, 0,
               "  - {out: y, op: aten.linear.default, args: [x, f]}\n",
               "y: float32[2, 3] = etx::linear_w8.out(x, w, s, None)\n"
               "return y\n");
  expect_layer(ETX_TARGET_ETX, 0,
               "  - {out: t, op: aten.permute.default, args: [f, [1, 0]]}\n"
               "  - {out: y, op: aten.mm.default, args: [x, t]}\n",
               "y: float32[2, 3] = etx::linear_w8.out(x, w, s, None)\n"
               "return y\n");
}

static void zero_points_and_the_stock_target_keep_floats(void** state) {
  (void)state;
  expect_layer(ETX_TARGET_ETX, 1,
               "  - {out: y, op: aten.linear.default, args: [x, f]}\n",
               "f: float32[3, 4] = "
               "quantized_decomposed::dequantize_per_channel.out(w, s, z, 0, "
               "-127, 127, int8, None)\n"
               "y: float32[2, 3] = aten::linear.out(x, f, None)\n"
               "return y\n");
  expect_layer(ETX_TARGET_EXECUTORCH, 0,
               "  - {out: y, op: aten.linear.default, args: [x, f]}\n",
               "f: float32[3, 4] = "
               "quantized_decomposed::dequantize_per_channel.out(w, s, z, 0, "
               "-127, 127, int8, None)\n"
               "y.1: float32[4, 3] = aten::permute_copy.out(f, [1, 0])\n"
               "y: float32[2, 3] = aten::mm.out(x, y.1)\n"
               "return y\n");
}

static void rows_quantised_by_their_own_ranges_are_a_form_of_their_own(
    void** state) {
  (void)state;
  expect_layer(
      ETX_TARGET_ETX, 0,
      "  - {out: [a, b], op: "
      "quantized_decomposed.choose_qparams_per_token_asymmetric.default, "
      "args: [x, int8]}\n"
      "  - {out: q, op: quantized_decomposed.quantize_per_token.default, args: "
      "[x, a, b, -128, 127, int8]}\n"
      "  - {out: d, op: quantized_decomposed.dequantize_per_token.default, "
      "args: [q, a, b, -128, 127, int8, float32]}\n"
      "  - {out: y, op: aten.linear.default, args: [d, f]}\n",
      "y: float32[2, 3] = etx::linear_a8w8.out(x, w, s, None)\n"
      "return y\n");
}

static void an_embedding_reads_bytes(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower recompose_quantized fold_constants simplify",
      "inputs: [{name: i, type: 'int64[5]'}]\n"
      "buffers: [{name: w, type: 'int8[3, 4]', init: 5}, {name: s, type: "
      "'float32[3]', init: 0.5}, {name: z, type: 'int64[3]', init: 2}]\n"
      "nodes:\n"
      "  - {out: f, op: "
      "quantized_decomposed.dequantize_per_channel.default, args: [w, s, z, "
      "0, -127, 127, int8]}\n"
      "  - {out: y, op: aten.embedding.default, args: [f, i]}\n"
      "outputs: [y]\n",
      "y: float32[5, 4] = quantized_decomposed::embedding_byte.out(w, s, "
      "const float32[3], -127, 127, i)\n"
      "return y\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(etx_takes_scales_as_they_come),
      cmocka_unit_test(stock_kernels_get_the_types_they_want),
      cmocka_unit_test(a_table_of_another_type_is_cast_for_the_stock_runtime),
      cmocka_unit_test(ranges_of_a_tensor_are_two_results),
      cmocka_unit_test(a_linear_layer_reads_bytes),
      cmocka_unit_test(zero_points_and_the_stock_target_keep_floats),
      cmocka_unit_test(
          rows_quantised_by_their_own_ranges_are_a_form_of_their_own),
      cmocka_unit_test(an_embedding_reads_bytes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
