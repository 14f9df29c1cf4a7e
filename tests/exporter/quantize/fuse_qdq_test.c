// QDQ graphs: quantised layers, elementwise chains and int8.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "exporter/rewrite/ir_rewrite.h"
#include "tests/exporter/quantize/fuse_qdq_graphs.h"

// ------------------------------------------------ layers

static void a_convolution_between_qdq_is_quantised(void** state) {
  (void)state;
  expect(INPUTS DEQUANTIZE("d", "u", "0.25, 3") WEIGHT("f", "z")
             CONVOLUTION("c", "d", "f") QUANTIZE("y", "c", "0.5, 10")
         "outputs: [y]\n",
         PERMUTED("y.1", "u")
         "y.2: uint8[1, 6, 6, 16] = etx::convolution_u8.out(y.1, 3, const "
         "int8[1, 9, 16, 4], const int32[16], const float32[16], const "
         "float32[16], [3, 3], [1, 1], [1, 1], [1, 1], 1, 10, 0, 255, uint8)\n"
         "y: uint8[1, 16, 6, 6] = aten::permute_copy.out(y.2, [0, 3, 1, 2])\n"
         "return y\n");
}

// A bound is the byte that it is quantised to: 6 / 0.05 + 10.
static void clamps_narrow_the_range_of_bytes(void** state) {
  (void)state;
  expect(INPUTS DEQUANTIZE("d", "u", "0.25, 3") WEIGHT("f", "z")
             CONVOLUTION("c", "d", "f")
         "  - {out: r, op: aten.hardtanh.default, args: [c, 0, 6]}\n"
             QUANTIZE("y", "r", "0.05, 10") "outputs: [y]\n",
         PERMUTED("y.1", "u")
         "y.2: uint8[1, 6, 6, 16] = etx::convolution_u8.out(y.1, 3, const "
         "int8[1, 9, 16, 4], const int32[16], const float32[16], const "
         "float32[16], [3, 3], [1, 1], [1, 1], [1, 1], 1, 10, 10, 130, "
         "uint8)\n"
         "y: uint8[1, 16, 6, 6] = aten::permute_copy.out(y.2, [0, 3, 1, 2])\n"
         "return y\n");
}

static void a_layer_may_have_a_float_result(void** state) {
  (void)state;
  expect(INPUTS DEQUANTIZE("d", "u", "0.25, 3") WEIGHT("f", "z")
             CONVOLUTION("y", "d", "f") "outputs: [y]\n",
         PERMUTED("y.1", "u")
         "y.2: float32[1, 6, 6, 16] = etx::convolution_u8.out(y.1, 3, const "
         "int8[1, 9, 16, 4], const int32[16], const float32[16], const "
         "float32[16], [3, 3], [1, 1], [1, 1], [1, 1], 1, 0, 0, 255, "
         "float32)\n"
         "y: float32[1, 16, 6, 6] = aten::permute_copy.out(y.2, [0, 3, 1, "
         "2])\n"
         "return y\n");
}

static void depthwise_weights_are_transposed(void** state) {
  (void)state;
  expect(INPUTS DEQUANTIZE("d", "u", "0.25, 3")
         "  - {out: f, op: quantized_decomposed.dequantize_per_tensor.default, "
         "args: [e, 0.5, 0, -127, 127, int8]}\n"
         "  - {out: c, op: aten.conv2d.default, args: [d, f, null, [2, 2], "
         "[0, 0], [1, 1], 4]}\n" QUANTIZE("y", "c", "0.5, 10")
         "outputs: [y]\n",
         PERMUTED("y.1", "u")
         "y.2: uint8[1, 2, 2, 4] = etx::depthwise_u8.out(y.1, 3, const "
         "int8[3, 3, 4], const int32[4], const float32[4], None, [2, 2], "
         "[0, 0], [1, 1], 10, 0, 255, uint8)\n"
         "y: uint8[1, 4, 2, 2] = aten::permute_copy.out(y.2, [0, 3, 1, 2])\n"
         "return y\n");
}

static const char* const layers[] = {
    "  - {out: c, op: aten.linear.default, args: [d, f, o]}\n",
    "  - {out: p, op: aten.permute.default, args: [f, [1, 0]]}\n"
    "  - {out: c, op: aten.addmm.default, args: [o, d, p]}\n"};

static void per_channel_and_per_tensor_layers_are_quantised(void** state) {
  (void)state;
  for (size_t i = 0; i < 2; ++i) {
    char yaml[4096];
    snprintf(yaml, sizeof yaml, "%s%s%s",
             INPUTS DEQUANTIZE("d", "l", "0.25, 3")
             "  - {out: f, op: "
             "quantized_decomposed.dequantize_per_tensor.default, args: [m, "
             "0.5, 0, -127, 127, int8]}\n"
             "  - {out: o, op: "
             "quantized_decomposed.dequantize_per_tensor.default, args: [i, "
             "0.125, 0, -2147483648, 2147483647, int32]}\n",
             layers[i], QUANTIZE("y", "c", "0.5, 10") "outputs: [y]\n");
    expect(yaml,
           "y: uint8[2, 3] = etx::linear_u8.out(l, const int8[1, 2, 16, 4], "
           "const int32[3], const float32[3], const float32[3], 10, 0, 255, "
           "uint8)\n"
           "return y\n");
  }
}

// The expected numbers are 2 * 0.25 * 0.5 in steps of 0.5 and so on.
static void expect_number(const lowered* l, const etx_ir_node* node,
                          size_t position, double wanted) {
  double number = 0;
  const etx_ir_constant* const constant =
      etx_rewrite_constant(&l->reading.module, &l->reading.module.methods[0],
                           node->args[position].as.value);
  assert_non_null(constant);
  assert_true(etx_rewrite_number(constant, &number));
  assert_true(number == wanted);
}

static void scales_and_offsets_are_converted(void** state) {
  (void)state;
  lowered l;
  lowered_open(&l, ETX_TARGET_ETX,
               INPUTS DEQUANTIZE("d", "u", "0.25, 3") WEIGHT("f", "z")
                   CONVOLUTION("c", "d", "f")
                       QUANTIZE("y", "c", "0.5, 10") "outputs: [y]\n");
  lowered_run(&l, PASSES);
  const etx_ir_method* const method = &l.reading.module.methods[0];
  for (size_t i = 0; i < method->node_count; ++i) {
    const etx_ir_node* const node = &method->nodes[i];
    if (node->op->id != ETX_OP_convolution_u8_out) continue;
    expect_number(&l, node, 3, -3 * 2 * 36);
    expect_number(&l, node, 4, 0.25);
    expect_number(&l, node, 5, 2);
  }
  lowered_close(&l);
}

static void other_layers_are_left_alone(void** state) {
  (void)state;
  static const char* const graphs[] = {
      // Weights with zero points.
      INPUTS DEQUANTIZE("d", "u", "0.25, 3") WEIGHT("f", "one")
          CONVOLUTION("c", "d", "f") QUANTIZE("y", "c", "0.5, 10")
      "outputs: [y]\n",
      // The weight is not a constant.
      INPUTS DEQUANTIZE("d", "u", "0.25, 3")
      "  - {out: f, op: quantized_decomposed.dequantize_per_tensor.default, "
      "args: [q, 0.5, 0, -127, 127, int8]}\n"
      "  - {out: c, op: aten.conv2d.default, args: [d, f, null]}\n"
          QUANTIZE("y", "c", "0.5, 10") "outputs: [y]\n",
      // Transposed.
      INPUTS DEQUANTIZE("d", "u", "0.25, 3")
      "  - {out: f, op: quantized_decomposed.dequantize_per_tensor.default, "
      "args: [t, 0.5, 0, -127, 127, int8]}\n"
      "  - {out: c, op: aten.conv_transpose2d.input, args: [d, f, b]}\n"
          QUANTIZE("y", "c", "0.5, 10") "outputs: [y]\n",
      // Floats.
      INPUTS WEIGHT("f", "z") CONVOLUTION("c", "x", "f")
          QUANTIZE("y", "c", "0.5, 10") "outputs: [y]\n",
  };
  for (size_t i = 0; i < sizeof graphs / sizeof *graphs; ++i) {
    expect_floats(graphs[i]);
  }
}

static void the_report_gives_reasons(void** state) {
  (void)state;
  lowered l;
  lowered_open(&l, ETX_TARGET_ETX,
               INPUTS DEQUANTIZE("d", "u", "0.25, 3") WEIGHT("f", "one")
                   CONVOLUTION("y", "d", "f") "outputs: [y]\n");
  lowered_run(&l, PASSES);
  assert_int_equal(l.context.fusions.count, 1);
  assert_string_equal(l.context.fusions.items[0].kind, "quantised convolution");
  assert_string_equal(l.context.fusions.items[0].reason,
                      "its weight has zero points");
  lowered_close(&l);
}

static void sums_that_may_overflow_are_left_alone(void** state) {
  (void)state;
  expect_floats(
      "inputs: [{name: u, type: 'uint8[1, 4096, 3, 3]'}]\n"
      "buffers: [{name: w, type: 'int8[1, 4096, 3, 3]', init: 2}]\n"
      "nodes:\n" DEQUANTIZE("d", "u", "0.25, 3")
      "  - {out: f, op: quantized_decomposed.dequantize_per_tensor.default, "
      "args: [w, 0.5, 0, -127, 127, int8]}\n"
      "  - {out: c, op: aten.conv2d.default, args: [d, f, null]}\n"
          QUANTIZE("y", "c", "0.5, 10") "outputs: [y]\n");
}

// A batch that varies, and convolutions that follow each other.
static void images_stay_channels_last(void** state) {
  (void)state;
  expect(
      "inputs: [{name: u, type: 'uint8[n, 16, 6, 6]'}]\n"
      "dims: {n: {min: 1, max: 4}}\n"
      "buffers: [{name: w, type: 'int8[16, 16, 1, 1]', init: 2}]\n"
      "nodes:\n"
      "  - {out: f, op: quantized_decomposed.dequantize_per_tensor.default, "
      "args: [w, 0.5, 0, -127, 127, int8]}\n" DEQUANTIZE("d", "u", "0.25, 3")
      "  - {out: c, op: aten.conv2d.default, args: [d, f, null]}\n"
          QUANTIZE("a", "c", "0.5, 10") DEQUANTIZE("g", "a", "0.5, 10")
      "  - {out: h, op: aten.conv2d.default, args: [g, f, null]}\n"
          QUANTIZE("y", "h", "0.5, 10") "outputs: [y]\n",
      "a.1: uint8[n, 6, 6, 16] = aten::permute_copy.out(u, [0, 2, 3, 1])\n"
      "a.2: uint8[n, 6, 6, 16] = etx::convolution_u8.out(a.1, 3, const "
      "int8[1, 4, 16, 4], const int32[16], const float32[16], None, [1, 1], "
      "[1, 1], [0, 0], [1, 1], 1, 10, 0, 255, uint8)\n"
      "y.1: uint8[n, 6, 6, 16] = etx::convolution_u8.out(a.2, 10, const "
      "int8[1, 4, 16, 4], const int32[16], const float32[16], None, [1, 1], "
      "[1, 1], [0, 0], [1, 1], 1, 10, 0, 255, uint8)\n"
      "y: uint8[n, 16, 6, 6] = aten::permute_copy.out(y.1, [0, 3, 1, 2])\n"
      "return y\n");
}

static void clamps_after_quantised_values_narrow_their_source(void** state) {
  (void)state;
  expect(INPUTS DEQUANTIZE("d", "u", "0.25, 3") WEIGHT("f", "z")
             CONVOLUTION("c", "d", "f") QUANTIZE("p", "c", "0.05, 10")
                 DEQUANTIZE("g", "p", "0.05, 10")
         "  - {out: r, op: aten.hardtanh.default, args: [g, 0, 6]}\n"
             QUANTIZE("y", "r", "0.05, 10") "outputs: [y]\n",
         "p.1: uint8[1, 6, 6, 4] = aten::permute_copy.out(u, [0, 2, 3, 1])\n"
         "y.1: uint8[1, 6, 6, 16] = etx::convolution_u8.out(p.1, 3, const "
         "int8[1, 9, 16, 4], const int32[16], const float32[16], const "
         "float32[16], [3, 3], [1, 1], [1, 1], [1, 1], 1, 10, 10, 130, "
         "uint8)\n"
         "y: uint8[1, 16, 6, 6] = aten::permute_copy.out(y.1, [0, 3, 1, 2])\n"
         "return y\n");
}

// A line is an image of one row.
static void one_dimensional_convolutions_are_images_of_one_row(void** state) {
  (void)state;
  expect(
      "inputs: [{name: u, type: 'uint8[2, 4, 9]'}]\n"
      "buffers: [{name: w, type: 'int8[16, 4, 3]', init: 2}]\n"
      "nodes:\n"
      "  - {out: f, op: quantized_decomposed.dequantize_per_tensor.default, "
      "args: [w, 0.5, 0, -127, 127, int8]}\n" DEQUANTIZE("d", "u", "0.25, 3")
      "  - {out: c, op: aten.conv1d.default, args: [d, f, null, [2], [1]]}\n"
          QUANTIZE("y", "c", "0.5, 10") "outputs: [y]\n",
      "y.1: uint8[2, 4, 1, 9] = aten::view_copy.out(u, [2, 4, 1, 9])\n"
      "y.2: uint8[2, 1, 9, 4] = aten::permute_copy.out(y.1, [0, 2, 3, 1])\n"
      "y.3: uint8[2, 1, 5, 16] = etx::convolution_u8.out(y.2, 3, const "
      "int8[1, 3, 16, 4], const int32[16], const float32[16], None, [1, 3], "
      "[1, 2], [0, 1], [1, 1], 1, 10, 0, 255, uint8)\n"
      "y.4: uint8[2, 16, 1, 5] = aten::permute_copy.out(y.3, [0, 3, 1, 2])\n"
      "y: uint8[2, 16, 5] = aten::view_copy.out(y.4, [2, 16, 5])\n"
      "return y\n");
}

// ------------------------------------------------ chains

static void elementwise_operators_between_qdq_are_a_chain(void** state) {
  (void)state;
  expect(INPUTS DEQUANTIZE("d", "u", "0.25, 3") DEQUANTIZE("f", "v", "0.5, 4")
         "  - {out: a, op: aten.add.Tensor, args: [d, f]}\n"
         "  - {out: h, op: aten.hardswish.default, args: [a]}\n"
         "  - {out: r, op: aten.relu.default, args: [h]}\n"
             QUANTIZE("y", "r", "0.125, 7") "outputs: [y]\n",
         "y: uint8[1, 4, 6, 6] = etx::chain_u8.out(u, 0.25, 3, [v], [0.5], "
         "[4], 'x 0 add hardswish', 0.125, 7, 7, 255, uint8)\n"
         "return y\n");
}

static void chains_read_floats_and_numbers(void** state) {
  (void)state;
  expect(INPUTS DEQUANTIZE("d", "u", "0.25, 3")
         "  - {out: a, op: aten.mul.Tensor, args: [x, d]}\n"
         "  - {out: r, op: aten.add.Tensor, args: [a, 1.5]}\n"
             QUANTIZE("y", "r", "0.125, 7") "outputs: [y]\n",
         "y: uint8[1, 4, 6, 6] = etx::chain_u8.out(u, 0.25, 3, [x, "
         "1.5:float32], [1, 1], [0, 0], '0 x multiply 1 add', 0.125, 7, "
         "0, 255, uint8)\n"
         "return y\n");
}

static void leaky_relu_is_a_chain(void** state) {
  (void)state;
  expect(INPUTS DEQUANTIZE("d", "u", "0.25, 3")
         "  - {out: r, op: aten.leaky_relu.default, args: [d, 0.125]}\n"
             QUANTIZE("y", "r", "0.125, 7") "outputs: [y]\n",
         "y: uint8[1, 4, 6, 6] = etx::chain_u8.out(u, 0.25, 3, "
         "[0.125:float32], [1], [0], 'x relu x neg relu 0 multiply subtract', "
         "0.125, 7, 0, 255, uint8)\n"
         "return y\n");
  lowered l;
  lowered_open(&l, ETX_TARGET_ETX,
               INPUTS DEQUANTIZE("d", "u", "0.25, 3") WEIGHT("f", "z")
                   CONVOLUTION("c", "d", "f")
               "  - {out: r, op: aten.prelu.default, args: [c, b]}\n"
                   QUANTIZE("y", "r", "0.125, 7") "outputs: [y]\n");
  lowered_run(&l, PASSES);
  assert_non_null(
      strstr(lowered_lines(&l),
             "uint8[1, 6, 6, 16] = etx::chain_u8.out(c.2, 1, 0, [const "
             "float32[16]], [1], [0], 'x relu x neg relu 0 multiply subtract', "
             "0.125, 7, 0, 255, uint8)\n"));
  lowered_close(&l);
}

// After a convolution images are channels last.
static void chains_keep_channels_last(void** state) {
  (void)state;
  lowered l;
  lowered_open(
      &l, ETX_TARGET_ETX,
      INPUTS DEQUANTIZE("d", "u", "0.25, 3") WEIGHT("f", "z")
          CONVOLUTION("c", "d", "f") QUANTIZE("y", "c", "0.5, 10")
              DEQUANTIZE("g", "y", "0.5, 10")
      "  - {out: o, op: aten.view.default, args: [b, [16, 1, 1]]}\n"
      "  - {out: a, op: aten.mul.Tensor, args: [g, o]}\n"
          QUANTIZE("k", "a", "0.5, 10") "outputs: [k]\n");
  lowered_run(&l, PASSES);
  assert_non_null(
      strstr(lowered_lines(&l),
             "uint8[1, 6, 6, 16] = etx::chain_u8.out(y.2, 0.5, "
             "10, [const float32[16]], [1], [0], 'x 0 multiply', 0.5, 10, 0, "
             "255, uint8)\n"));
  lowered_close(&l);
}

static void float_values_with_other_uses_are_left_alone(void** state) {
  (void)state;
  lowered l;
  lowered_open(&l, ETX_TARGET_ETX,
               INPUTS DEQUANTIZE("d", "u", "0.25, 3") WEIGHT("f", "z")
                   CONVOLUTION("c", "d", "f")
                       QUANTIZE("y", "c", "0.5, 10") "outputs: [y, c]\n");
  lowered_run(&l, PASSES);
  assert_non_null(strstr(lowered_lines(&l), "255, float32)"));
  assert_non_null(strstr(lowered_lines(&l), "quantize_per_tensor.out(c, "));
  lowered_close(&l);
}

// ------------------------------------------------ int8

#define SIGNED(op, out, in, numbers)                                       \
  "  - {out: " out ", op: quantized_decomposed." op ".default, args: [" in \
  ", " numbers ", -128, 127, int8]}\n"

static void int8_between_operators_becomes_uint8(void** state) {
  (void)state;
  expect(
      INPUTS SIGNED("quantize_per_tensor", "p", "x", "0.25, -3") SIGNED(
          "dequantize_per_tensor", "d", "p",
          "0.25, -3") "  - {out: r, op: aten.relu.default, args: [d]}\n" SIGNED("quantize_per_tensor",
                                                                                "k",
                                                                                "r",
                                                                                "0.125, -128")
          SIGNED("dequantize_per_tensor", "y", "k",
                 "0.125, -128") "outputs: [y]\n",
      "p.1: uint8[1, 4, 6, 6] = "
      "quantized_decomposed::quantize_per_tensor.out(x, 0.25, 125, 0, 255, "
      "uint8)\n"
      "k.1: uint8[1, 4, 6, 6] = etx::chain_u8.out(p.1, 0.25, 125, [], [], "
      "[], 'x', 0.125, 0, 0, 255, uint8)\n"
      "y: float32[1, 4, 6, 6] = "
      "quantized_decomposed::dequantize_per_tensor.out(k.1, 0.125, 0, 0, "
      "255, uint8, None)\n"
      "return y\n");
}

// int8 inputs would have to be converted to uint8 first.
static void int8_inputs_are_left_alone(void** state) {
  (void)state;
  expect(INPUTS SIGNED("dequantize_per_tensor", "d", "q", "0.25, -3")
         "  - {out: r, op: aten.sigmoid.default, args: [d]}\n"
             SIGNED("quantize_per_tensor", "y", "r", "0.125, -128")
         "outputs: [y]\n",
         "d: float32[1, 4, 6, 6] = "
         "quantized_decomposed::dequantize_per_tensor.out(q, 0.25, -3, -128, "
         "127, int8, None)\n"
         "r: float32[1, 4, 6, 6] = aten::sigmoid.out(d)\n"
         "y: int8[1, 4, 6, 6] = "
         "quantized_decomposed::quantize_per_tensor.out(r, 0.125, -128, -128, "
         "127, int8)\n"
         "return y\n");
}

static void int8_with_other_uses_stays_int8(void** state) {
  (void)state;
  expect(INPUTS DEQUANTIZE("d", "u", "0.25, 3")
         "  - {out: r, op: aten.sigmoid.default, args: [d]}\n"
             SIGNED("quantize_per_tensor", "y", "r", "0.125, -128")
         "outputs: [y]\n",
         "y.1: uint8[1, 4, 6, 6] = etx::chain_u8.out(u, 0.25, 3, [], [], "
         "[], 'x sigmoid', 0.125, 0, 0, 255, uint8)\n"
         "y.2: float32[1, 4, 6, 6] = "
         "quantized_decomposed::dequantize_per_tensor.out(y.1, 1, 128, 0, "
         "255, uint8, None)\n"
         "y: int8[1, 4, 6, 6] = "
         "quantized_decomposed::quantize_per_tensor.out(y.2, 1, 0, -128, "
         "127, int8)\n"
         "return y\n");
}

static void executorch_keeps_floats(void** state) {
  (void)state;
  lowered l;
  lowered_open(&l, ETX_TARGET_EXECUTORCH,
               INPUTS DEQUANTIZE("d", "u", "0.25, 3") WEIGHT("f", "z")
                   CONVOLUTION("c", "d", "f")
                       QUANTIZE("y", "c", "0.5, 10") "outputs: [y]\n");
  lowered_run(&l, PASSES);
  assert_null(strstr(lowered_lines(&l), "_u8"));
  lowered_close(&l);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_convolution_between_qdq_is_quantised),
      cmocka_unit_test(clamps_narrow_the_range_of_bytes),
      cmocka_unit_test(a_layer_may_have_a_float_result),
      cmocka_unit_test(depthwise_weights_are_transposed),
      cmocka_unit_test(per_channel_and_per_tensor_layers_are_quantised),
      cmocka_unit_test(scales_and_offsets_are_converted),
      cmocka_unit_test(other_layers_are_left_alone),
      cmocka_unit_test(the_report_gives_reasons),
      cmocka_unit_test(sums_that_may_overflow_are_left_alone),
      cmocka_unit_test(images_stay_channels_last),
      cmocka_unit_test(clamps_after_quantised_values_narrow_their_source),
      cmocka_unit_test(one_dimensional_convolutions_are_images_of_one_row),
      cmocka_unit_test(elementwise_operators_between_qdq_are_a_chain),
      cmocka_unit_test(chains_read_floats_and_numbers),
      cmocka_unit_test(leaky_relu_is_a_chain),
      cmocka_unit_test(chains_keep_channels_last),
      cmocka_unit_test(float_values_with_other_uses_are_left_alone),
      cmocka_unit_test(int8_between_operators_becomes_uint8),
      cmocka_unit_test(int8_inputs_are_left_alone),
      cmocka_unit_test(int8_with_other_uses_stays_int8),
      cmocka_unit_test(executorch_keeps_floats),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
