// QDQ graphs: data movement, pooling and means over uint8.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "exporter/rewrite/ir_rewrite.h"
#include "tests/exporter/quantize/fuse_qdq_graphs.h"

// ------------------------------------------------ moves

static void data_movement_with_equal_parameters_moves_bytes(void** state) {
  (void)state;
  static const struct {
    const char* node;
    const char* wanted;
  } moves[] = {
      {"aten.view.default, args: [d, [4, 36]]",
       "y: uint8[4, 36] = aten::view_copy.out(u, [4, 36])\n"},
      {"aten.permute.default, args: [d, [0, 2, 1, 3]]",
       "y: uint8[1, 6, 4, 6] = aten::permute_copy.out(u, [0, 2, 1, 3])\n"},
      {"aten.slice.Tensor, args: [d, 1, 1, 3]",
       "c.1: uint8[1, 2, 6, 6] = aten::slice_copy.Tensor_out(u, 1, 1, 3, 1)\n"},
      {"aten.cat.default, args: [[d, f], 1]",
       "y: uint8[1, 8, 6, 6] = aten::cat.out([u, v], 1)\n"},
      {"aten.constant_pad_nd.default, args: [d, [1, 2], 1.0]",
       "y: uint8[1, 4, 6, 9] = aten::constant_pad_nd.out(u, [1, 2], 7)\n"},
      {"aten.expand.default, args: [d, [2, 4, 6, 6]]",
       "y: uint8[2, 4, 6, 6] = aten::expand_copy.out(u, [2, 4, 6, 6], "
       "False)\n"},
  };
  for (size_t i = 0; i < sizeof moves / sizeof *moves; ++i) {
    char yaml[4096], wanted[512];
    snprintf(yaml, sizeof yaml, "%s  - {out: c, op: %s}\n%s",
             INPUTS DEQUANTIZE("d", "u", "0.25, 3")
                 DEQUANTIZE("f", "v", "0.25, 3"),
             moves[i].node, QUANTIZE("y", "c", "0.25, 3") "outputs: [y]\n");
    snprintf(wanted, sizeof wanted, "%sreturn %.*s\n", moves[i].wanted,
             (int)strcspn(moves[i].wanted, ":"), moves[i].wanted);
    expect(yaml, wanted);
  }
}

static void max_pooling_is_channels_last(void** state) {
  (void)state;
  expect(INPUTS DEQUANTIZE("d", "u", "0.25, 3")
         "  - {out: c, op: aten.max_pool2d.default, args: [d, [2, 2]]}\n"
             QUANTIZE("y", "c", "0.25, 3") "outputs: [y]\n",
         PERMUTED("c.1", "u")
         "c.2: uint8[1, 3, 3, 4] = etx::max_pool2d_u8.out(c.1, [2, 2], [], "
         "[0, 0], [1, 1], False)\n"
         "y: uint8[1, 4, 3, 3] = aten::permute_copy.out(c.2, [0, 3, 1, 2])\n"
         "return y\n");
}

// A window that covers padding only has no byte as result, and the inverse of
// 1e-40 is not a float32.
static void values_without_a_byte_are_left_alone(void** state) {
  (void)state;
  expect_floats(INPUTS DEQUANTIZE(
      "d", "u",
      "0.25, 3") "  - {out: c, op: aten.max_pool2d.default, args: [d, [2, 2], "
                 "[1, 1], [1, 1], [5, 5]]}\n" QUANTIZE(
                     "y", "c", "0.25, 3") "outputs: [y]\n");
  expect_floats(INPUTS DEQUANTIZE("d", "u", "1.0e-40, 3")
                "  - {out: c, op: aten.relu.default, args: [d]}\n" QUANTIZE(
                    "y", "c", "1.0e-40, 3") "outputs: [y]\n");
  expect_floats("inputs: [{name: u, type: 'uint8[1, 4100, 4100, 1]'}]\n"
                "nodes:\n"
                "  - {out: p, op: aten.permute.default, args: [u, [0, 3, 1, "
                "2]]}\n" DEQUANTIZE("d", "p", "0.25, 3")
                "  - {out: c, op: aten.mean.dim, args: [d, [2, 3]]}\n"
                    QUANTIZE("y", "c", "0.25, 3") "outputs: [y]\n");
  // No later node reads bytes.
  expect_floats(INPUTS DEQUANTIZE(
      "d", "u",
      "0.25, 3") "  - {out: y, op: aten.leaky_relu.default, args: [d, 0.3]}\n"
                 "outputs: [y]\n");
}

// A batch of one that is exchanged with the channels is not an image of one
// row.
static void other_permutes_are_not_images(void** state) {
  (void)state;
  lowered l;
  lowered_open(
      &l, ETX_TARGET_ETX,
      "inputs: [{name: u, type: 'uint8[2, 1, 2, 2]'}]\n"
      "buffers: [{name: w, type: 'int8[3, 2, 2]', init: 2}]\n"
      "nodes:\n"
      "  - {out: p, op: aten.permute.default, args: [u, [2, 3, 1, 0]]}\n"
      "  - {out: k, op: aten.view.default, args: [p, [2, 2, 2]]}\n" DEQUANTIZE(
          "d", "k", "0.02, 3")
      "  - {out: f, op: quantized_decomposed.dequantize_per_tensor.default, "
      "args: [w, 0.01, 0, -127, 127, int8]}\n"
      "  - {out: y, op: aten.conv1d.default, args: [d, f, null]}\n"
      "outputs: [y]\n");
  lowered_run(&l, PASSES);
  assert_null(strstr(lowered_lines(&l), "convolution_u8.out(u,"));
  lowered_close(&l);
}

// If two nodes read the bytes of a layer, the layer is computed once, even if
// one of them applies bounds.
static void a_layer_with_two_uses_is_computed_once(void** state) {
  (void)state;
  lowered l;
  lowered_open(&l, ETX_TARGET_ETX,
               INPUTS DEQUANTIZE("d", "u", "0.25, 3") WEIGHT("f", "z")
                   CONVOLUTION("c", "d", "f") QUANTIZE("p", "c", "0.5, 120")
                       DEQUANTIZE("g", "p", "0.5, 120")
               "  - {out: r, op: aten.relu.default, args: [g]}\n"
               "  - {out: a, op: aten.add.Tensor, args: [g, g]}\n"
                   QUANTIZE("y", "r", "0.5, 120") QUANTIZE("k", "a", "0.5, 120")
               "outputs: [y, k]\n");
  lowered_run(&l, PASSES);
  const char* first = strstr(lowered_lines(&l), "convolution_u8.out");
  assert_non_null(first);
  assert_null(strstr(first + 1, "convolution_u8.out"));
  lowered_close(&l);
}

// A channel shuffle of two groups, with and without requantisation inside it.
// The next operator reads its result as it is, in channels-last order.
static void channel_shuffles_are_channels_last(void** state) {
  (void)state;
  static const char* const graphs[] = {
      INPUTS DEQUANTIZE("d", "u", "0.25, 3") WEIGHT("f", "z")
          CONVOLUTION("c", "d", "f") QUANTIZE("y", "c", "0.5, 10")
              DEQUANTIZE("g", "y", "0.5, 10")
      "  - {out: a, op: aten.view.default, args: [g, [1, 2, 8, 6, 6]]}\n"
      "  - {out: h, op: aten.transpose.int, args: [a, 1, 2]}\n"
      "  - {out: o, op: aten.view.default, args: [h, [1, 16, 6, 6]]}\n"
      "  - {out: p, op: aten.max_pool2d.default, args: [o, [2, 2]]}\n"
          QUANTIZE("k", "p", "0.5, 10") "outputs: [k]\n",
      INPUTS DEQUANTIZE("d", "u", "0.25, 3") WEIGHT("f", "z")
          CONVOLUTION("c", "d", "f") QUANTIZE("y", "c", "0.5, 10")
              DEQUANTIZE("g", "y", "0.5, 10")
      "  - {out: a, op: aten.view.default, args: [g, [1, 2, 8, 6, 6]]}\n"
          QUANTIZE("a1", "a", "0.5, 10") DEQUANTIZE("a2", "a1", "0.5, 10")
      "  - {out: h, op: aten.transpose.int, args: [a2, 1, 2]}\n"
          QUANTIZE("h1", "h", "0.5, 10") DEQUANTIZE("h2", "h1", "0.5, 10")
      "  - {out: o, op: aten.view.default, args: [h2, [1, 16, 6, 6]]}\n"
          QUANTIZE("o1", "o", "0.5, 10") DEQUANTIZE("o2", "o1", "0.5, 10")
      "  - {out: p, op: aten.max_pool2d.default, args: [o2, [2, 2]]}\n"
          QUANTIZE("k", "p", "0.5, 10") "outputs: [k]\n",
  };
  for (size_t i = 0; i < sizeof graphs / sizeof *graphs; ++i) {
    lowered l;
    lowered_open(&l, ETX_TARGET_ETX, graphs[i]);
    lowered_run(&l, PASSES);
    const char* const lines = lowered_lines(&l);
    assert_non_null(strstr(lines, ": uint8[1, 6, 6, 2, 8] = aten::view_copy"));
    assert_non_null(strstr(lines, ": uint8[1, 6, 6, 8, 2] = aten::permute_co"));
    assert_non_null(strstr(lines, ": uint8[1, 6, 6, 16] = aten::view_copy"));
    assert_null(strstr(lines, "uint8[1, 16, 6, 6]"));
    lowered_close(&l);
  }
}

// Slices are smaller than the whole.
static void slices_are_requantised(void** state) {
  (void)state;
  lowered l;
  lowered_open(&l, ETX_TARGET_ETX,
               INPUTS DEQUANTIZE("d", "u", "0.25, 3") WEIGHT("f", "z")
                   CONVOLUTION("c", "d", "f") QUANTIZE("y", "c", "0.5, 10")
                       DEQUANTIZE("g", "y", "0.5, 10")
               "  - {out: a, op: aten.slice.Tensor, args: [g, 1, 4, 12]}\n"
                   QUANTIZE("k", "a", "0.25, 10")
               "  - {out: p, op: aten.max_pool2d.default, args: [g, [2, 2]]}\n"
                   QUANTIZE("n", "p", "0.125, 10") "outputs: [k, n]\n");
  lowered_run(&l, PASSES);
  const char* const lines = lowered_lines(&l);
  assert_non_null(strstr(lines,
                         ": uint8[1, 6, 6, 8] = "
                         "aten::slice_copy.Tensor_out(y.2, 3, 4, 12, 1)\n"));
  assert_non_null(strstr(lines, "uint8[1, 6, 6, 8] = etx::chain_u8.out("));
  assert_non_null(strstr(lines,
                         ": uint8[1, 3, 3, 16] = etx::max_pool2d_u8.out(y.2, "
                         "[2, 2], [], [0, 0], [1, 1], False)\n"));
  assert_non_null(strstr(lines, "uint8[1, 3, 3, 16] = etx::chain_u8.out("));
  assert_null(strstr(lines, "uint8[1, 6, 6, 16] = etx::chain_u8.out("));
  lowered_close(&l);
}

// The part of a tensor that steps read.
static void chains_over_slices_are_quantised(void** state) {
  (void)state;
  expect(INPUTS DEQUANTIZE("d", "u", "0.25, 3")
         "  - {out: c, op: aten.slice.Tensor, args: [d, 1, 1, 3]}\n"
         "  - {out: r, op: aten.sigmoid.default, args: [c]}\n"
             QUANTIZE("y", "r", "0.125, 7") "outputs: [y]\n",
         "c.1: uint8[1, 2, 6, 6] = aten::slice_copy.Tensor_out(u, 1, 1, 3, "
         "1)\n"
         "y: uint8[1, 2, 6, 6] = etx::chain_u8.out(c.1, 0.25, 3, [], [], [], "
         "'x sigmoid', 0.125, 7, 0, 255, uint8)\n"
         "return y\n");
}

// Zeros are bytes too; equal ones around an image are the layer's padding.
static void padding_before_a_layer_is_quantised(void** state) {
  (void)state;
  lowered l;
  lowered_open(&l, ETX_TARGET_ETX,
               INPUTS DEQUANTIZE("d", "u", "0.25, 3") WEIGHT("f", "z")
               "  - {out: a, op: aten.constant_pad_nd.default, args: [d, [1, 1, "
               "1, 1], 0.0]}\n"
               "  - {out: c, op: aten.conv2d.default, args: [a, f, b]}\n"
                   QUANTIZE("y", "c", "0.5, 10") DEQUANTIZE("g", "y", "0.5, 10")
               "  - {out: o, op: aten.constant_pad_nd.default, args: [g, [0, 1, "
               "0, 1], 0.0]}\n"
               "  - {out: p, op: quantized_decomposed.dequantize_per_tensor."
               "default, args: [pixel, 0.5, 0, -127, 127, int8]}\n"
               "  - {out: h, op: aten.conv2d.default, args: [o, p, null]}\n"
               "outputs: [h]\n");
  lowered_run(&l, "lower fold_padding fuse_qdq fold_constants simplify");
  const char* const lines = lowered_lines(&l);
  assert_non_null(strstr(lines,
                         "[3, 3], [1, 1], [1, 1], [1, 1], 1, 10, 0, 255, "
                         "uint8)\n"));
  assert_non_null(strstr(lines,
                         "uint8[1, 7, 7, 16] = aten::constant_pad_nd.out(y.2, "
                         "[0, 0, 0, 1, 0, 1, 0, 0], 10)\n"));
  assert_non_null(strstr(lines, "float32[1, 7, 7, 1] = etx::convolution_u8"));
  lowered_close(&l);
}

// Each pixel is repeated, then each row.
static void upsampled_images_stay_channels_last(void** state) {
  (void)state;
  lowered l;
  lowered_open(
      &l, ETX_TARGET_ETX,
      INPUTS DEQUANTIZE("d", "u", "0.25, 3") WEIGHT("f", "z")
          CONVOLUTION("c", "d", "f") QUANTIZE("y", "c", "0.5, 10")
              DEQUANTIZE("g", "y", "0.5, 10")
      "  - {out: a, op: aten.upsample_nearest2d.vec, args: [g, null, [2.0, "
      "2.0]]}\n" QUANTIZE("r", "a", "0.5, 10")
      "  - {out: o, op: aten.upsample_nearest2d.vec, args: [g, [18, 18], "
      "null]}\n" QUANTIZE("p", "o", "0.5, 10") "outputs: [r, p]\n");
  lowered_run(&l, PASSES);
  const char* const lines = lowered_lines(&l);
  assert_non_null(
      strstr(lines,
             "r.1: uint8[1, 6, 6, 32] = aten::cat.out([y.2, y.2], 3)\n"
             "r.2: uint8[1, 6, 192] = aten::view_copy.out(r.1, [1, 6, 192])\n"
             "r.3: uint8[1, 6, 384] = aten::cat.out([r.2, r.2], 2)\n"
             "r.4: uint8[1, 12, 12, 16] = aten::view_copy.out(r.3, [1, 12, 12, "
             "16])\n"));
  assert_non_null(strstr(lines, "p: uint8[1, 16, 18, 18] = aten::upsample_"));
  lowered_close(&l);
}

// The scale of a sum: 0.5 / 36 pixels, in steps of 0.25 where it is bytes.
static void means_of_images_are_quantised(void** state) {
  (void)state;
  lowered l;
  lowered_open(
      &l, ETX_TARGET_ETX,
      INPUTS DEQUANTIZE("d", "u", "0.25, 3") WEIGHT("f", "z")
          CONVOLUTION("c", "d", "f") QUANTIZE("y", "c", "0.5, 10")
              DEQUANTIZE("g", "y", "0.5, 10")
      "  - {out: a, op: aten.mean.dim, args: [g, [-1, -2], true]}\n"
          QUANTIZE("k", "a", "0.25, 10")
      "  - {out: h, op: aten.mean.dim, args: [g, [2, 3]]}\n"
      "  - {out: o, op: aten.mean.dim, args: [g, [1, 2]]}\n"
      "  - {out: p, op: aten.avg_pool2d.default, args: [g, [7, 6], [9, 9], [0, "
      "0], true]}\n" QUANTIZE("n", "p", "0.5, 10")
      "outputs: [k, h, o, n]\n");
  lowered_run(&l, PASSES);
  assert_non_null(strstr(lowered_lines(&l),
                         "uint8[1, 1, 1, 16] = etx::mean_u8.out(y.2, 10, "
                         "0.0277777778, 10, 0, 255, uint8)\n"));
  assert_non_null(strstr(lowered_lines(&l),
                         "uint8[1, 1, 1, 16] = etx::mean_u8.out(y.2, 10, "
                         "0.0555555556, 10, 0, 255, uint8)\n"));
  assert_non_null(strstr(lowered_lines(&l),
                         "float32[1, 1, 1, 16] = etx::mean_u8.out(y.2, 10, "
                         "0.0138888889, 0, 0, 255, float32)\n"));
  assert_non_null(strstr(lowered_lines(&l), "o: float32[1, 6] = aten::mean"));
  lowered_close(&l);
}

// Floats are computed as the image lies, whether others compute them too or
// not.
static void means_of_chains_are_float_and_channels_last(void** state) {
  (void)state;
  lowered l;
  lowered_open(
      &l, ETX_TARGET_ETX,
      INPUTS DEQUANTIZE("d", "u", "0.25, 3") WEIGHT("f", "z")
          CONVOLUTION("c", "d", "f") QUANTIZE("y", "c", "0.5, 10")
              DEQUANTIZE("g", "y", "0.5, 10")
      "  - {out: r, op: aten.hardswish.default, args: [g]}\n"
      "  - {out: a, op: aten.mean.dim, args: [r, [-1, -2], true]}\n"
          QUANTIZE("k", "a", "0.25, 10") QUANTIZE("n", "r", "0.5, 10")
      "  - {out: h, op: aten.mean.dim, args: [r, [2, 3]]}\n"
      "outputs: [k, n, h]\n");
  lowered_run(&l, PASSES);
  const char* const lines = lowered_lines(&l);
  assert_non_null(strstr(
      lines,
      "k.1: float32[1, 6, 6, 16] = etx::chain_u8.out(y.2, 0.5, 10, [], [], [], "
      "'x hardswish', 1, 0, 0, 255, float32)\n"
      "k.2: float32[1, 1, 1, 16] = aten::mean.out(k.1, [1, 2], True, None)\n"
      "k.3: uint8[1, 1, 1, 16] = quantized_decomposed::quantize_per_tensor.out("
      "k.2, 0.25, 10, 0, 255, uint8)\n"));
  assert_non_null(
      strstr(lines, "h: float32[1, 16] = aten::mean.out(k.1, [1, 2], False"));
  assert_null(strstr(lines, "dequantize"));
  lowered_close(&l);
}

// A move between other numbers is a change of them, and a move.
static void values_with_other_parameters_are_requantised(void** state) {
  (void)state;
  expect(INPUTS DEQUANTIZE("d", "u", "0.25, 3")
         "  - {out: c, op: aten.view.default, args: [d, [4, 36]]}\n"
             QUANTIZE("y", "c", "0.5, 3") "outputs: [y]\n",
         "y.1: uint8[1, 4, 6, 6] = etx::chain_u8.out(u, 0.25, 3, [], [], [], "
         "'x', 0.5, 3, 0, 255, uint8)\n"
         "y: uint8[4, 36] = aten::view_copy.out(y.1, [4, 36])\n"
         "return y\n");
}

static void data_movement_of_floats_is_left_alone(void** state) {
  (void)state;
  expect_floats(
      INPUTS
      "  - {out: c, op: aten.view.default, args: [x, [4, 36]]}\n" QUANTIZE(
          "y", "c", "0.5, 3") "outputs: [y]\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(data_movement_with_equal_parameters_moves_bytes),
      cmocka_unit_test(max_pooling_is_channels_last),
      cmocka_unit_test(values_without_a_byte_are_left_alone),
      cmocka_unit_test(other_permutes_are_not_images),
      cmocka_unit_test(a_layer_with_two_uses_is_computed_once),
      cmocka_unit_test(channel_shuffles_are_channels_last),
      cmocka_unit_test(slices_are_requantised),
      cmocka_unit_test(chains_over_slices_are_quantised),
      cmocka_unit_test(padding_before_a_layer_is_quantised),
      cmocka_unit_test(upsampled_images_stay_channels_last),
      cmocka_unit_test(means_of_images_are_quantised),
      cmocka_unit_test(means_of_chains_are_float_and_channels_last),
      cmocka_unit_test(values_with_other_parameters_are_requantised),
      cmocka_unit_test(data_movement_of_floats_is_left_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
