// Pooling and resampling after lowering.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/exporter/lowered.h"

static void max_pool1d_becomes_max_pool2d_of_one_row(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "dims: {s: {min: 1, max: 8}}\n"
      "inputs: [{name: x, type: 'float32[1, 4, s + 4]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.max_pool1d.default, args: [x, [2], [2]]}\n"
      "outputs: [y]\n",
      "y.1: float32[1, 4, 1, s + 4] = aten::view_copy.out(x, [1, 4, 1, s + "
      "4])\n"
      "y.2: float32[1, 4, 1, s//2 + 2] = etx::max_pool2d.out(y.1, [1, 2], "
      "[1, 2], [0, 0], [1, 1], False)\n"
      "y: float32[1, 4, s//2 + 2] = aten::view_copy.out(y.2, [1, 4, s//2 + "
      "2])\n"
      "return y\n");
}

static void indices_that_are_not_read_are_left_out(void** state) {
  (void)state;
  static const char yaml[] =
      "inputs: [{name: x, type: 'float32[1, 4, 4]'}]\n"
      "nodes:\n"
      "  - {out: [y, i], op: aten.max_pool2d_with_indices.default,\n"
      "     args: [x, [2, 2]]}\n"
      "outputs: [y]\n";
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify", yaml,
      "y: float32[1, 2, 2] = etx::max_pool2d.out(x, [2, 2], [], [0, 0], [1, "
      "1], False)\n"
      "return y\n");
  expect_lowered(
      ETX_TARGET_EXECUTORCH, "lower simplify", yaml,
      "y: float32[1, 2, 2], y.2: int64[1, 2, 2] = "
      "aten::max_pool2d_with_indices.out(x, [2, 2], [], [0, 0], [1, 1], "
      "False)\n"
      "return y\n");
}

static void indices_that_are_read_are_kept(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'float32[1, 4, 4]'}]\n"
      "nodes:\n"
      "  - {out: [y, i], op: aten.max_pool1d_with_indices.default,\n"
      "     args: [x, [2]]}\n"
      "outputs: [y, i]\n",
      "y.1: float32[1, 4, 1, 4] = aten::view_copy.out(x, [1, 4, 1, 4])\n"
      "y.2: float32[1, 4, 1, 2], y.3: int64[1, 4, 1, 2] = "
      "aten::max_pool2d_with_indices.out(y.1, [1, 2], [], [0, 0], [1, 1], "
      "False)\n"
      "i: int64[1, 4, 2] = aten::view_copy.out(y.3, [1, 4, 2])\n"
      "y: float32[1, 4, 2] = aten::view_copy.out(y.2, [1, 4, 2])\n"
      "return y\n"
      "return i\n");
}

static void avg_pool3d_becomes_two_2d_poolings(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'float32[1, 2, 4, 6, 6]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.avg_pool3d.default,\n"
      "     args: [x, [2, 3, 3], [2, 3, 3], [0, 1, 1], false, false, 5]}\n"
      "outputs: [y]\n",
      "y.1: float32[1, 8, 6, 6] = aten::view_copy.out(x, [1, 8, 6, 6])\n"
      "y.2: float32[1, 8, 2, 2] = aten::avg_pool2d.out(y.1, [3, 3], [3, 3], "
      "[1, 1], False, False, 1)\n"
      "y.4: float32[1, 2, 4, 4] = aten::view_copy.out(y.2, [1, 2, 4, 4])\n"
      "y.5: float32[1, 2, 2, 4] = aten::avg_pool2d.out(y.4, [2, 1], [2, 1], "
      "[0, 0], False, False, 5)\n"
      "y: float32[1, 2, 2, 2, 2] = aten::view_copy.out(y.5, [1, 2, 2, 2, 2])\n"
      "return y\n");
}

static void a_global_average_pooling_becomes_a_mean(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'float32[2, 4, 5, 6]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.adaptive_avg_pool2d.default, args: [x, [1, 1]]}\n"
      "  - {out: z, op: aten.adaptive_avg_pool2d.default, args: [x, [2, 1]]}\n"
      "outputs: [y, z]\n",
      "y: float32[2, 4, 1, 1] = aten::mean.out(x, [-1, -2], True, None)\n"
      "z: float32[2, 4, 2, 1] = aten::_adaptive_avg_pool2d.out(x, [2, 1])\n"
      "return y\n"
      "return z\n");
}

static void adaptive_pooling_becomes_maxima_of_windows(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'float32[2, 4, 6]'}]\n"
      "nodes:\n"
      "  - {out: [y, i], op: aten.adaptive_max_pool1d.default, args: [x, "
      "[3]]}\n"
      "  - {out: [z, j], op: aten.adaptive_max_pool1d.default, args: [x, "
      "[4]]}\n"
      "outputs: [y, z]\n",
      "y.1: float32[2, 4, 3, 2] = aten::view_copy.out(x, [2, 4, 3, 2])\n"
      "y: float32[2, 4, 3] = aten::amax.out(y.1, [3], False)\n"
      "z.1: float32[2, 4, 2] = aten::slice_copy.Tensor_out(x, 2, 0, 2, 1)\n"
      "z.2: float32[2, 4, 1] = aten::amax.out(z.1, [2], True)\n"
      "z.3: float32[2, 4, 2] = aten::slice_copy.Tensor_out(x, 2, 1, 3, 1)\n"
      "z.4: float32[2, 4, 1] = aten::amax.out(z.3, [2], True)\n"
      "z.5: float32[2, 4, 2] = aten::slice_copy.Tensor_out(x, 2, 3, 5, 1)\n"
      "z.6: float32[2, 4, 1] = aten::amax.out(z.5, [2], True)\n"
      "z.7: float32[2, 4, 2] = aten::slice_copy.Tensor_out(x, 2, 4, 6, 1)\n"
      "z.8: float32[2, 4, 1] = aten::amax.out(z.7, [2], True)\n"
      "z: float32[2, 4, 4] = aten::cat.out([z.2, z.4, z.6, z.8], 2)\n"
      "return y\n"
      "return z\n");
}

static void windows_of_a_varying_size_are_slices(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "dims: {n: {min: 1, max: 9}}\n"
      "inputs: [{name: x, type: 'float32[2, 4, n]'}]\n"
      "nodes:\n"
      "  - {out: [y, i], op: aten.adaptive_max_pool1d.default, args: [x, "
      "[2]]}\n"
      "outputs: [y]\n",
      "y.1: float32[2, 4, (n + 1)//2] = aten::slice_copy.Tensor_out(x, 2, 0, "
      "(n + 1)//2, 1)\n"
      "y.2: float32[2, 4, 1] = aten::amax.out(y.1, [2], True)\n"
      "y.3: float32[2, 4, n - (n//2)] = aten::slice_copy.Tensor_out(x, 2, "
      "n//2, n, 1)\n"
      "y.4: float32[2, 4, 1] = aten::amax.out(y.3, [2], True)\n"
      "y: float32[2, 4, 2] = aten::cat.out([y.2, y.4], 2)\n"
      "return y\n");
}

static void nearest_exact_of_a_varying_size_selects_by_positions(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "dims: {n: {min: 1, max: 9}}\n"
      "inputs: [{name: x, type: 'float32[1, 4, n]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten._upsample_nearest_exact1d.vec, args: [x, null, "
      "[2.0]]}\n"
      "outputs: [y]\n",
      "y.1: int64[2*n] = aten::arange.start_out(0, 2*n, 1)\n"
      "y.2: float32[2*n] = dim_order_ops::_to_dim_order_copy.out(y.1, False, "
      "[0])\n"
      "y.3: float32[2*n] = aten::add.out(y.2, 0.5:float32, 1)\n"
      "y.4: float32[2*n] = aten::mul.out(y.3, 0.5:float32)\n"
      "y.5: float32[2*n] = aten::floor.out(y.4)\n"
      "y.6: int64[2*n] = dim_order_ops::_to_dim_order_copy.out(y.5, False, "
      "[0])\n"
      "y.7: int64[] = aten::scalar_tensor.out(n - 1)\n"
      "y.8: int64[2*n] = aten::minimum.out(y.6, y.7)\n"
      "y: float32[1, 4, 2*n] = aten::index_select.out(x, 2, y.8)\n"
      "return y\n");
}

static void interpolations_take_dynamic_sizes(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "dims: {s: {min: 1, max: 8}}\n"
      "inputs: [{name: x, type: 'float32[1, 2, s, 4]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.upsample_bilinear2d.vec,\n"
      "     args: [x, null, false, [1.5, 2.0]]}\n"
      "  - {out: z, op: aten.upsample_nearest2d.vec,\n"
      "     args: [x, [3, {sym: 2*s}], null]}\n"
      "outputs: [y, z]\n",
      "y: float32[1, 2, (3*s)//2, 8] = aten::upsample_bilinear2d.vec_out(x, "
      "None, False, [1.5, 2])\n"
      "z: float32[1, 2, 3, 2*s] = aten::upsample_nearest2d.vec_out(x, [3, "
      "2*s], None)\n"
      "return y\n"
      "return z\n");
}

static void trilinear_becomes_two_bilinear_interpolations(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'float32[1, 2, 3, 4, 5]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.upsample_trilinear3d.vec,\n"
      "     args: [x, null, true, [2, 3, 2]]}\n"
      "outputs: [y]\n",
      "y.1: float32[1, 6, 4, 5] = aten::view_copy.out(x, [1, 6, 4, 5])\n"
      "y.2: float32[1, 6, 12, 10] = aten::upsample_bilinear2d.vec_out(y.1, "
      "None, True, [3, 2])\n"
      "y.4: float32[1, 2, 3, 120] = aten::view_copy.out(y.2, [1, 2, 3, 120])\n"
      "y.5: float32[1, 2, 6, 120] = aten::upsample_bilinear2d.vec_out(y.4, "
      "None, True, [2, 1])\n"
      "y: float32[1, 2, 6, 12, 10] = aten::view_copy.out(y.5, [1, 2, 6, 12, "
      "10])\n"
      "return y\n");
}

static void bicubic_becomes_matrix_products(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'float32[1, 2, 3, 4]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.upsample_bicubic2d.vec,\n"
      "     args: [x, [6, 7], false, null]}\n"
      "outputs: [y]\n",
      "y.1: float32[6, 3] = dim_order_ops::_to_dim_order_copy.out(const "
      "float64[6, 3], False, [0, 1])\n"
      "y.2: float32[7, 4] = dim_order_ops::_to_dim_order_copy.out(const "
      "float64[7, 4], False, [0, 1])\n"
      "y.3: float32[1, 2, 3, 7] = aten::linear.out(x, y.2, None)\n"
      "y.4: float32[1, 2, 6, 3] = aten::expand_copy.out(y.1, [1, 2, 6, 3], "
      "False)\n"
      "y.5: float32[2, 6, 3] = aten::view_copy.out(y.4, [2, 6, 3])\n"
      "y.6: float32[2, 3, 7] = aten::view_copy.out(y.3, [2, 3, 7])\n"
      "y.7: float32[2, 6, 7] = aten::bmm.out(y.5, y.6)\n"
      "y: float32[1, 2, 6, 7] = aten::view_copy.out(y.7, [1, 2, 6, 7])\n"
      "return y\n");
}

static void unsupported_interpolations_are_refused(void** state) {
  (void)state;
  expect_refused(ETX_TARGET_ETX, "lower",
                 "inputs: [{name: x, type: 'float32[1, 2, 0, 4]'}]\n"
                 "nodes:\n"
                 "  - {out: y, op: aten._upsample_bicubic2d_aa.vec,\n"
                 "     args: [x, [6, 7], false, null]}\n"
                 "outputs: [y]\n",
                 "of dynamic, empty or very large sizes");
  expect_refused(ETX_TARGET_ETX, "lower",
                 "inputs: [{name: x, type: 'float32[1, 2, 3, 4]'}]\n"
                 "nodes:\n"
                 "  - {out: y, op: aten.upsample_bilinear2d.default,\n"
                 "     args: [x, [6, 7], false, 2.0, 2.0]}\n"
                 "outputs: [y]\n",
                 "does not give the output size");
}

// The portable library has 1-D and 2-D convolutions.
static void conv3d_becomes_conv2d_for_executorch(void** state) {
  (void)state;
  static const char yaml[] =
      "inputs: [{name: x, type: 'float32[1, 2, 3, 4, 4]'},\n"
      "         {name: w, type: 'float32[3, 2, 2, 3, 3]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.conv3d.default, args: [x, w]}\n"
      "outputs: [y]\n";
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify", yaml,
      "y: float32[1, 3, 2, 2, 2] = aten::convolution.out(x, w, None, [1, 1, "
      "1], [0, 0, 0], [1, 1, 1], False, [0, 0, 0], 1)\n"
      "return y\n");
  expect_lowered(
      ETX_TARGET_EXECUTORCH, "lower simplify", yaml,
      "y.1: float32[1, 2, 2, 4, 4] = aten::slice_copy.Tensor_out(x, 2, 0, "
      "2, 1)\n"
      "y.2: float32[1, 2, 2, 4, 4] = aten::permute_copy.out(y.1, [0, 2, 1, "
      "3, 4])\n"
      "y.3: float32[2, 2, 4, 4] = aten::view_copy.out(y.2, [2, 2, 4, 4])\n"
      "y.4: float32[3, 2, 1, 3, 3] = aten::slice_copy.Tensor_out(w, 2, 0, "
      "1, 1)\n"
      "y.5: float32[3, 2, 3, 3] = aten::view_copy.out(y.4, [3, 2, 3, 3])\n"
      "y.6: float32[2, 3, 2, 2] = aten::convolution.out(y.3, y.5, None, [1, "
      "1], [0, 0], [1, 1], False, [0, 0], 1)\n"
      "y.7: float32[1, 2, 2, 4, 4] = aten::slice_copy.Tensor_out(x, 2, 1, "
      "3, 1)\n"
      "y.8: float32[1, 2, 2, 4, 4] = aten::permute_copy.out(y.7, [0, 2, 1, "
      "3, 4])\n"
      "y.9: float32[2, 2, 4, 4] = aten::view_copy.out(y.8, [2, 2, 4, 4])\n"
      "y.10: float32[3, 2, 1, 3, 3] = aten::slice_copy.Tensor_out(w, 2, 1, "
      "2, 1)\n"
      "y.11: float32[3, 2, 3, 3] = aten::view_copy.out(y.10, [3, 2, 3, 3])\n"
      "y.12: float32[2, 3, 2, 2] = aten::convolution.out(y.9, y.11, None, "
      "[1, 1], [0, 0], [1, 1], False, [0, 0], 1)\n"
      "y.13: float32[2, 3, 2, 2] = aten::add.out(y.6, y.12, 1)\n"
      "y.14: float32[1, 2, 3, 2, 2] = aten::view_copy.out(y.13, [1, 2, 3, "
      "2, 2])\n"
      "y: float32[1, 3, 2, 2, 2] = aten::permute_copy.out(y.14, [0, 2, 1, "
      "3, 4])\n"
      "return y\n");
  expect_refused(ETX_TARGET_EXECUTORCH, "lower",
                 "inputs: [{name: x, type: 'float32[1, 2, 3, 4, 4]'},\n"
                 "         {name: w, type: 'float32[2, 3, 2, 3, 3]'}]\n"
                 "nodes:\n"
                 "  - {out: y, op: aten.conv_transpose3d.input, args: [x, w]}\n"
                 "outputs: [y]\n",
                 "in 3-D and transposed");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(max_pool1d_becomes_max_pool2d_of_one_row),
      cmocka_unit_test(indices_that_are_not_read_are_left_out),
      cmocka_unit_test(indices_that_are_read_are_kept),
      cmocka_unit_test(avg_pool3d_becomes_two_2d_poolings),
      cmocka_unit_test(a_global_average_pooling_becomes_a_mean),
      cmocka_unit_test(adaptive_pooling_becomes_maxima_of_windows),
      cmocka_unit_test(windows_of_a_varying_size_are_slices),
      cmocka_unit_test(nearest_exact_of_a_varying_size_selects_by_positions),
      cmocka_unit_test(interpolations_take_dynamic_sizes),
      cmocka_unit_test(trilinear_becomes_two_bilinear_interpolations),
      cmocka_unit_test(bicubic_becomes_matrix_products),
      cmocka_unit_test(unsupported_interpolations_are_refused),
      cmocka_unit_test(conv3d_becomes_conv2d_for_executorch),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
