// Lowering of quantised operators, and kernels that read quantised weights.

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

static void target_etx_casts_no_scales(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower", channels,
      "q: int8[2, 4] = quantized_decomposed::quantize_per_channel.out(x, s, "
      "z, -1, -128, 127, int8)\n"
      "y: float32[2, 4] = quantized_decomposed::dequantize_per_channel.out("
      "q, s, z, -1, -128, 127, int8, None)\n"
      "return y\n");
}

static void stock_kernels_get_the_dtypes_they_support(void** state) {
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

static void choose_qparams_has_two_results(void** state) {
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
    "buffers: [{name: w, type: 'int8[3, 4]', init: 9}, {name: s, type: "
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
                 "lower fold_matmul_transposes fuse_dequantize simplify", yaml,
                 wanted);
}

static void a_linear_layer_reads_int8_weights(void** state) {
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

static void an_embedding_reads_int8_weights(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower fuse_dequantize fold_constants simplify",
      "inputs: [{name: i, type: 'int64[5]'}]\n"
      "buffers: [{name: w, type: 'int8[3, 4]', init: 9}, {name: s, type: "
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

// ------------------------------------------------ torchao

#define BLOCKS                                                                \
  "inputs: [{name: x, type: 'float32[n, 8]'}]\n"                              \
  "dims: {n: {min: 2, max: 6}}\n"                                             \
  "buffers: [{name: w, type: 'int8[3, 8]', init: %d}, {name: s, type: "       \
  "'float32[3, 2]', init: 0.5}, {name: z, type: 'int8[3, 2]', init: %d}]\n"   \
  "nodes:\n"                                                                  \
  "  - {out: f, op: torchao.dequantize_affine.default, args: [w, [1, 4], s, " \
  "z, int8, -8, 7]}\n"

static void expect_blocks(int weight, int zero, const char* nodes,
                          const char* wanted) {
  char yaml[2048];
  snprintf(yaml, sizeof yaml, BLOCKS "%s", weight, zero, nodes);
  expect_lowered(
      ETX_TARGET_ETX,
      "lower fold_matmul_transposes fuse_dequantize fold_constants simplify",
      yaml, wanted);
}

static const char linear[] =
    "  - {out: y, op: aten.linear.default, args: [x, f]}\n"
    "outputs: [y]\n";

static void per_group_weights_are_packed(void** state) {
  (void)state;
  expect_blocks(
      -8, 0, linear,
      "y: float32[n, 3] = etx::linear_w4g.out(x, const uint8[3, 4], const "
      "float32[3, 2], None, 4, None)\n"
      "return y\n");
  expect_blocks(
      7, 1, linear,
      "y: float32[n, 3] = etx::linear_w4g.out(x, const uint8[3, 4], const "
      "float32[3, 2], z, 4, None)\n"
      "return y\n");
}

// Numbers beyond four bits, which are unpacked once for many rows.
static void sub_byte_weights_are_read_as_they_are_by_few_rows(void** state) {
  (void)state;
  static const char one[] =
      "  - {out: v, op: aten.slice.Tensor, args: [x, 0, 0, 1]}\n"
      "  - {out: y, op: aten.linear.default, args: [v, f]}\n"
      "outputs: [y]\n";
  static const char floats[] =
      "y: float32[n, 3] = aten::linear.out(x, const float32[3, 8], None)\n"
      "return y\n";
  expect_blocks(8, 0, linear, floats);
  expect_blocks(8, 1, linear, floats);
  expect_blocks(8, 0, one,
                "v: float32[1, 8] = aten::slice_copy.Tensor_out(x, 0, 0, 1, "
                "1)\n"
                "y: float32[1, 3] = quantized_decomposed::mixed_linear.out(v, "
                "const int8[3, 8], const float32[3, 2], None, float32)\n"
                "return y\n");
}

static void per_group_embedding_tables_stay_quantised(void** state) {
  (void)state;
  static const char table[] =
      "  - {out: i, op: aten._to_copy.default, args: [x], kwargs: {dtype: "
      "int64}}\n"
      "  - {out: y, op: aten.embedding.default, args: [f, i]}\n"
      "outputs: [y]\n";
#define INDICES                                                       \
  "i: int64[n, 8] = dim_order_ops::_to_dim_order_copy.out(x, False, " \
  "[0, 1])\n"
  expect_blocks(7, 0, table,
                INDICES
                "y: float32[n, 8, 8] = "
                "quantized_decomposed::embedding_4bit.out(const uint8[3, 4], "
                "const float32[3, 2], None, -8, 7, i)\n"
                "return y\n");
  expect_blocks(8, 1, table,
                INDICES
                "y: float32[n, 8, 8] = "
                "quantized_decomposed::embedding_byte.out(const int8[3, 8], "
                "const float32[3, 2], const float32[3, 2], -128, 127, i)\n"
                "return y\n");
#undef INDICES
}

static void dynamic_quantisation_is_found_behind_views(void** state) {
  (void)state;
  expect_blocks(
      7, 0,
      "  - {out: [a, b], op: torchao.choose_qparams_affine.default, args: [x, "
      "{str: ASYMMETRIC}, [1, 8], int8, -128, 127, null, null, int8]}\n"
      "  - {out: q, op: torchao.quantize_affine.default, args: [x, [1, 8], a, "
      "b, int8, -128, 127]}\n"
      "  - {out: d, op: torchao.dequantize_affine.default, args: [q, [1, 8], "
      "a, b, int8, -128, 127]}\n"
      "  - {out: y, op: aten.linear.default, args: [d, f]}\n"
      "outputs: [y]\n",
      "y: float32[n, 3] = etx::linear_a8w4g.out(x, const uint8[3, 4], const "
      "float32[3, 2], None, "
      "4, None)\n"
      "return y\n");
}

#define BYTES                                                            \
  "inputs: [{name: x, type: 'float32[2, 4]'}, {name: q, type: 'int8[2, " \
  "4]'}]\n"                                                              \
  "buffers: [{name: w, type: 'int8[3, 4]', init: 5}, {name: s, type: "   \
  "'float32[3]', init: 0.5}]\n"                                          \
  "nodes:\n"                                                             \
  "  - {out: t, op: aten.t.default, args: [w]}\n"

static void products_read_int8_weights(void** state) {
  (void)state;
  static const char passes[] =
      "lower fold_matmul_transposes fuse_dequantize simplify";
  expect_lowered(ETX_TARGET_ETX, passes,
                 BYTES
                 "  - {out: c, op: aten._to_copy.default, args: [t], kwargs: "
                 "{dtype: float32}}\n"
                 "  - {out: m, op: aten.mm.default, args: [x, c]}\n"
                 "  - {out: y, op: aten.mul.Tensor, args: [m, s]}\n"
                 "outputs: [y]\n",
                 "y: float32[2, 3] = etx::linear_w8.out(x, w, s, None)\n"
                 "return y\n");
  expect_lowered(ETX_TARGET_ETX, passes,
                 BYTES
                 "  - {out: m, op: aten._int_mm.default, args: [q, t]}\n"
                 "  - {out: y, op: aten._to_copy.default, args: [m], kwargs: "
                 "{dtype: float32}}\n"
                 "outputs: [y]\n",
                 "y.1: float32[2, 4] = "
                 "dim_order_ops::_to_dim_order_copy.out(q, False, [0, 1])\n"
                 "y: float32[2, 3] = etx::linear_w8.out(y.1, w, const "
                 "float32[3], None)\n"
                 "return y\n");
  expect_lowered(
      ETX_TARGET_ETX, passes,
      BYTES
      "  - {out: f, op: quantized_decomposed.dequantize_per_tensor.default, "
      "args: [w, 0.25, 0, -127, 127, int8]}\n"
      "  - {out: y, op: aten.linear.default, args: [x, f]}\n"
      "outputs: [y]\n",
      "y: float32[2, 3] = etx::linear_w8.out(x, w, const float32[3], None)\n"
      "return y\n");
}

static void a_product_with_zero_points_is_an_int8_product(void** state) {
  (void)state;
  static const char yaml[] = BYTES
      "  - {out: b, op: aten._to_copy.default, args: [q], kwargs: {dtype: "
      "int32}}\n"
      "  - {out: d, op: aten.add.Tensor, args: [b, %d]}\n"
      "  - {out: e, op: aten._to_copy.default, args: [d], kwargs: {dtype: "
      "uint8}}\n"
      "  - {out: m, op: aten._int_mm.default, args: [e, t]}\n"
      "  - {out: g, op: aten.sum.dim_IntList, args: [t, [0], true], kwargs: "
      "{dtype: int32}}\n"
      "  - {out: h, op: aten.mul.Tensor, args: [g, 128]}\n"
      "  - {out: k, op: aten.sub.Tensor, args: [m, h]}\n"
      "  - {out: y, op: aten._to_copy.default, args: [k], kwargs: {dtype: "
      "float32}}\n"
      "outputs: [y]\n";
  static const char* const wanted[] = {
      "y.1: float32[2, 4] = dim_order_ops::_to_dim_order_copy.out(q, False, "
      "[0, 1])\n"
      "y: float32[2, 3] = etx::linear_w8.out(y.1, w, const float32[3], None)\n"
      "return y\n",
      // Another shift is none.
      "t: int8[4, 3] = aten::permute_copy.out(w, [1, 0])\n"
      "b: int32[2, 4] = dim_order_ops::_to_dim_order_copy.out(q, False, [0, "
      "1])\n"
      "d: int32[2, 4] = aten::add.out(b, 127:int32, 1)\n"
      "e: uint8[2, 4] = dim_order_ops::_to_dim_order_copy.out(d, False, [0, "
      "1])\n"
      "m.1: int32[2, 4] = dim_order_ops::_to_dim_order_copy.out(e, False, [0, "
      "1])\n"
      "m.2: int32[4, 3] = dim_order_ops::_to_dim_order_copy.out(t, False, [0, "
      "1])\n"
      "m: int32[2, 3] = aten::mm.out(m.1, m.2)\n"
      "g.2: int64[1, 3] = aten::sum.IntList_out(m.2, [0], True, None)\n"
      "g: int32[1, 3] = dim_order_ops::_to_dim_order_copy.out(g.2, False, [0, "
      "1])\n"
      "h: int32[1, 3] = aten::mul.out(g, 128:int32)\n"
      "k: int32[2, 3] = aten::sub.out(m, h, 1)\n"
      "y: float32[2, 3] = dim_order_ops::_to_dim_order_copy.out(k, False, [0, "
      "1])\n"
      "return y\n"};
  for (int i = 0; i < 2; ++i) {
    char text[2048];
    snprintf(text, sizeof text, yaml, 128 - i);
    expect_lowered(ETX_TARGET_ETX,
                   "lower fold_matmul_transposes fuse_dequantize simplify",
                   text, wanted[i]);
  }
}

static void per_tensor_parameters_are_computed_at_run_time(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'float32[2, 4]'}]\n"
      "nodes:\n"
      "  - {out: [a, b], op: torchao.choose_qparams_affine.default, args: [x, "
      "{str: SYMMETRIC}, [2, 4], int8, -128, 127, null, null, int8, true]}\n"
      "  - {out: y, op: torchao.quantize_affine.default, args: [x, [2, 4], a, "
      "b, int8, -128, 127]}\n"
      "outputs: [a, y]\n",
      "a.1: float32[2, 4] = aten::abs.out(x)\n"
      "a.2: float32[1, 1] = aten::amax.out(a.1, [0, 1], True)\n"
      "a.3: float32[1, 1] = aten::div.out(a.2, 127.5:float32)\n"
      "a: float32[1, 1] = aten::maximum.out(a.3, "
      "1.1920928955078125e-07:float32)\n"
      "a.5: int64[1, 1] = aten::view_copy.out(0:int64, [1, 1])\n"
      "b: int8[1, 1] = dim_order_ops::_to_dim_order_copy.out(a.5, False, [0, "
      "1])\n"
      "y.1: float32[1, 1] = dim_order_ops::_to_dim_order_copy.out(b, False, "
      "[0, 1])\n"
      "y.2: float32[1, 1] = aten::reciprocal.out(a)\n"
      "y.3: float32[2, 4] = aten::mul.out(x, y.2)\n"
      "y.4: float32[2, 4] = aten::round.out(y.3)\n"
      "y.5: float32[2, 4] = aten::add.out(y.4, y.1, 1)\n"
      "y.6: float32[2, 4] = aten::maximum.out(y.5, -128.0:float32)\n"
      "y.7: float32[2, 4] = aten::minimum.out(y.6, 127.0:float32)\n"
      "y: int8[2, 4] = dim_order_ops::_to_dim_order_copy.out(y.7, False, [0, "
      "1])\n"
      "return a\n"
      "return y\n");
}

static void half_tensors_are_quantised_in_the_dtype_of_the_scales(
    void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'float16[2, 4]'}, {name: s, type: 'float32[2, "
      "1]'}]\n"
      "nodes:\n"
      "  - {out: y, op: torchao.quantize_affine.default, args: [x, [1, 4], s, "
      "null, int8, -128, 127]}\n"
      "outputs: [y]\n",
      "y.2: float32[2, 4] = dim_order_ops::_to_dim_order_copy.out(x, False, "
      "[0, 1])\n"
      "y.3: float32[2, 1] = aten::reciprocal.out(s)\n"
      "y.4: float32[2, 4] = aten::mul.out(y.2, y.3)\n"
      "y.5: float32[2, 4] = aten::round.out(y.4)\n"
      "y.6: float32[2, 4] = aten::add.out(y.5, 0.0:float32, 1)\n"
      "y.7: float32[2, 4] = aten::maximum.out(y.6, -128.0:float32)\n"
      "y.8: float32[2, 4] = aten::minimum.out(y.7, 127.0:float32)\n"
      "y: int8[2, 4] = dim_order_ops::_to_dim_order_copy.out(y.8, False, [0, "
      "1])\n"
      "return y\n");
}

// The same in elementwise operators, as core ATen has it.
static void an_elementwise_dequantisation_is_packed_too(void** state) {
  (void)state;
  static const char steps[] =
      "inputs: [{name: x, type: 'float32[2, 8]'}]\n"
      "buffers: [{name: w, type: 'int8[3, 8]', init: 7}, {name: s, type: "
      "'float32[3, 2]', init: 0.5}, {name: z, type: 'int8[3, 2]', init: %d}]\n"
      "nodes:\n"
      "  - {out: a, op: aten.view.default, args: [w, [3, 2, 4]]}\n"
      "  - {out: b, op: aten.view.default, args: [s, [3, 2, 1]]}\n"
      "  - {out: c, op: aten.view.default, args: [z, [3, 2, 1]]}\n"
      "  - {out: d, op: aten._to_copy.default, args: [a], kwargs: {dtype: "
      "float32}}\n"
      "  - {out: e, op: aten._to_copy.default, args: [c], kwargs: {dtype: "
      "float32}}\n"
      "  - {out: f, op: aten.sub.Tensor, args: [d, e]}\n"
      "  - {out: g, op: aten.mul.Tensor, args: [f, b]}\n"
      "  - {out: h, op: aten.view.default, args: [g, [3, 8]]}\n"
      "  - {out: y, op: aten.linear.default, args: [x, h]}\n"
      "outputs: [y]\n";
  static const char* const wanted[] = {
      "y: float32[2, 3] = etx::linear_w4g.out(x, const uint8[3, 4], const "
      "float32[3, 2], None, 4, None)\n"
      "return y\n",
      "y: float32[2, 3] = etx::linear_w4g.out(x, const uint8[3, 4], const "
      "float32[3, 2], z, 4, None)\n"
      "return y\n"};
  for (int zero = 0; zero < 2; ++zero) {
    char yaml[2048];
    snprintf(yaml, sizeof yaml, steps, zero);
    expect_lowered(
        ETX_TARGET_ETX,
        "lower fold_matmul_transposes fuse_dequantize fold_constants simplify",
        yaml, wanted[zero]);
  }
}

static void other_block_sizes_are_refused(void** state) {
  (void)state;
  static const char* const calls[] = {
      "torchao.quantize_affine.default, args: [x, [2, 4], s, null, int8]",
      "torchao.quantize_affine.default, args: [x, [1, 2], s, null, int8]",
      "torchao.quantize_affine.default, args: [x, [1, 3], s, null, int8]",
      "torchao.quantize_affine.default, args: [x, [1, 0], s, null, int8]",
      "torchao.quantize_affine.default, args: [x, [4], s, null, int8]",
      "torchao.quantize_affine.default, args: [x, [], s, null, int8]",
  };
  for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) {
    char yaml[1024];
    snprintf(yaml, sizeof yaml,
             "inputs: [{name: x, type: 'float32[2, 4]'}]\n"
             "buffers: [{name: s, type: 'float32[2, 1]', init: 1}]\n"
             "nodes:\n"
             "  - {out: y, op: %s}\n"
             "outputs: [y]\n",
             calls[i]);
    expect_refused(ETX_TARGET_ETX, "lower", yaml, "supported only");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(target_etx_casts_no_scales),
      cmocka_unit_test(stock_kernels_get_the_dtypes_they_support),
      cmocka_unit_test(a_table_of_another_type_is_cast_for_the_stock_runtime),
      cmocka_unit_test(choose_qparams_has_two_results),
      cmocka_unit_test(a_linear_layer_reads_int8_weights),
      cmocka_unit_test(zero_points_and_the_stock_target_keep_floats),
      cmocka_unit_test(
          rows_quantised_by_their_own_ranges_are_a_form_of_their_own),
      cmocka_unit_test(an_embedding_reads_int8_weights),
      cmocka_unit_test(per_group_weights_are_packed),
      cmocka_unit_test(sub_byte_weights_are_read_as_they_are_by_few_rows),
      cmocka_unit_test(per_group_embedding_tables_stay_quantised),
      cmocka_unit_test(a_product_with_zero_points_is_an_int8_product),
      cmocka_unit_test(half_tensors_are_quantised_in_the_dtype_of_the_scales),
      cmocka_unit_test(per_tensor_parameters_are_computed_at_run_time),
      cmocka_unit_test(dynamic_quantisation_is_found_behind_views),
      cmocka_unit_test(products_read_int8_weights),
      cmocka_unit_test(an_elementwise_dequantisation_is_packed_too),
      cmocka_unit_test(other_block_sizes_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
