// Fourier transforms and complex numbers after lowering.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/exporter/lowered.h"

// 0 divides by nothing, 1 by the root of the count, 2 by the count.
static void norms_become_factors(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_EXECUTORCH, "lower",
      "inputs: [{name: x, type: 'float32[2, 8]'}]\n"
      "nodes:\n"
      "  - {out: a, op: aten.fft_rfft.default, args: [x]}\n"
      "  - {out: b, op: aten.fft_rfft.default, args: [x, 2, 0, {str: "
      "ortho}]}\n"
      "  - {out: c, op: aten.fft_rfft2.default, args: [x, null, [-2, -1], "
      "{str: forward}]}\n"
      "  - {out: y, op: aten.fft_irfft.default, args: [a]}\n"
      "  - {out: z, op: aten.fft_irfft.default, args: [a, 9, -1, {str: "
      "forward}]}\n"
      "outputs: [b, c, y, z]\n",
      "a: complex64[2, 5] = aten::_fft_r2c.out(x, [1], 0, True)\n"
      "b: complex64[2, 8] = aten::_fft_r2c.out(x, [0], 1, True)\n"
      "c: complex64[2, 5] = aten::_fft_r2c.out(x, [0, 1], 2, True)\n"
      "y: float32[2, 8] = aten::_fft_c2r.out(a, [1], 2, 8)\n"
      "z: float32[2, 9] = aten::_fft_c2r.out(a, [1], 0, 9)\n"
      "return b\n"
      "return c\n"
      "return y\n"
      "return z\n");
}

static void lines_are_cut_or_padded_to_their_length(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_EXECUTORCH, "lower",
      "inputs: [{name: x, type: 'float32[2, 8, 3]'}]\n"
      "nodes:\n"
      "  - {out: a, op: aten.fft_rfft.default, args: [x, 16, -2]}\n"
      "  - {out: b, op: aten.fft_rfft.default, args: [x, 2]}\n"
      "outputs: [a, b]\n",
      "a.1: float32[2, 16, 3] = aten::constant_pad_nd.out(x, [0, 0, 0, 8], 0)\n"
      "a: complex64[2, 9, 3] = aten::_fft_r2c.out(a.1, [1], 0, True)\n"
      "b.1: float32[2, 8, 2] = aten::slice_copy.Tensor_out(x, 2, 0, 2, 1)\n"
      "b: complex64[2, 8, 2] = aten::_fft_r2c.out(b.1, [2], 0, True)\n"
      "return a\n"
      "return b\n");
}

static void two_sided_real_transforms_are_refused_for_executorch(void** state) {
  (void)state;
  expect_refused(
      ETX_TARGET_EXECUTORCH, "lower",
      "inputs: [{name: x, type: 'float32[8]'}]\n"
      "nodes: [{out: y, op: aten._fft_r2c.default, args: [x, [0], 0, false]}]\n"
      "outputs: [y]\n",
      "'aten._fft_r2c.default' with onesided=False runs only in etx's");
}

static void core_forms_count_dimensions_from_the_front(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower",
      "inputs: [{name: x, type: 'float64[2, 8]'}]\n"
      "nodes:\n"
      "  - {out: a, op: aten._fft_r2c.default, args: [x, [-1], 0, false]}\n"
      "  - {out: b, op: aten._conj_physical.default, args: [a]}\n"
      "  - {out: c, op: aten._fft_c2r.default, args: [b, [-2], 2, 2]}\n"
      "  - {out: d, op: aten.view_as_real.default, args: [b]}\n"
      "  - {out: e, op: aten.view_as_real_copy.default, args: [b]}\n"
      "outputs: [c, d, e]\n",
      "a: complex128[2, 8] = aten::_fft_r2c.out(x, [1], 0, False)\n"
      "b: complex128[2, 8] = aten::_conj_physical.out(a)\n"
      "c: float64[2, 8] = aten::_fft_c2r.out(b, [0], 2, 2)\n"
      "d: float64[2, 8, 2] = aten::view_as_real_copy.out(b)\n"
      "e: float64[2, 8, 2] = aten::view_as_real_copy.out(b)\n"
      "return c\n"
      "return d\n"
      "return e\n");
}

static void other_lengths_and_norms_are_refused(void** state) {
  lowered l;
  (void)state;
  lowered_open(&l, ETX_TARGET_ETX,
               "inputs: [{name: x, type: 'float32[2, 8]'}]\n"
               "nodes: [{out: y, op: aten.fft_rfft.default, args: [x, 0]}]\n"
               "outputs: [y]\n");
  assert_pass_refuses(&l, "lower", "'n' is 0, expected at least 1");
  lowered_close(&l);
  lowered_open(
      &l, ETX_TARGET_ETX,
      "inputs: [{name: x, type: 'float32[2, 8]'}]\n"
      "nodes: [{out: y, op: aten.fft_rfft2.default, args: [x, [4, 4]]}]"
      "\noutputs: [y]\n");
  assert_pass_refuses(&l, "lower", "with 's' is not supported");
  lowered_close(&l);
  lowered_open(&l, ETX_TARGET_ETX,
               "inputs: [{name: x, type: 'float32[2, 8]'}]\n"
               "nodes: [{out: y, op: aten.fft_rfft.default, args: [x, null, 1, "
               "{str: half}]}]\n"
               "outputs: [y]\n");
  assert_pass_refuses(&l, "lower", "'norm' is 'half', expected 'backward'");
  lowered_close(&l);
  lowered_open(&l, ETX_TARGET_ETX,
               "inputs: [{name: x, type: 'complex64[]'}]\n"
               "nodes: [{out: y, op: aten.fft_irfft.default, args: [x]}]\n"
               "outputs: [y]\n");
  assert_pass_refuses(&l, "lower", "expects a tensor of rank 1 or more");
  lowered_close(&l);
}

static void gradients_of_a_convolution_are_three(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_EXECUTORCH, "lower",
      "inputs: [{name: g, type: 'float32[1, 3, 4]'}, {name: x, type: "
      "'float32[1, 2, 6]'}, {name: w, type: 'float32[3, 2, 3]'}]\n"
      "nodes:\n"
      "  - {out: [a, b, c], op: aten.convolution_backward.default, args: [g, "
      "x, w, [3], [1], [0], [1], false, [0], 1, [true, true, true]]}\n"
      "outputs: [a, b, c]\n",
      "a: float32[1, 2, 6], b: float32[3, 2, 3], c: float32[3] = "
      "aten::convolution_backward.out(g, x, w, [3], [1], [0], [1], False, [0], "
      "1, [True, True, True])\n"
      "return a\n"
      "return b\n"
      "return c\n");
}

static void complex_numbers_are_put_together_from_parts(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'float32[3, 2]'}, {name: y, type: 'float32[3, "
      "2]'}]\n"
      "nodes:\n"
      "  - {out: a, op: aten.view_as_complex.default, args: [x]}\n"
      "  - {out: b, op: aten.view_as_complex_copy.default, args: [y]}\n"
      "  - {out: c, op: aten.mul.Tensor, args: [a, b]}\n"
      "  - {out: d, op: aten.abs.default, args: [c]}\n"
      "  - {out: e, op: aten.complex.default, args: [d, d]}\n"
      "outputs: [d, e]\n",
      "a: complex64[3] = etx::view_as_complex_copy.out(x)\n"
      "b: complex64[3] = etx::view_as_complex_copy.out(y)\n"
      "c: complex64[3] = aten::mul.out(a, b)\n"
      "d: float32[3] = aten::abs.out(c)\n"
      "e.1: float32[3, 1] = aten::view_copy.out(d, [3, 1])\n"
      "e.3: float32[3, 2] = aten::cat.out([e.1, e.1], 1)\n"
      "e: complex64[3] = etx::view_as_complex_copy.out(e.3)\n"
      "return d\n"
      "return e\n");
  expect_lowered(ETX_TARGET_EXECUTORCH, "lower simplify",
                 "inputs: [{name: z, type: 'complex64[2, 8]'}]\n"
                 "nodes:\n"
                 "  - {out: a, op: aten.abs.default, args: [z]}\n"
                 "  - {out: b, op: aten.real.default, args: [z]}\n"
                 "  - {out: c, op: aten.imag.default, args: [z]}\n"
                 "  - {out: d, op: aten.angle.default, args: [z]}\n"
                 "  - {out: e, op: aten.mul.Scalar, args: [z, 2]}\n"
                 "outputs: [a, b, c, d, e]\n",
                 "a: float32[2, 8] = aten::abs.out(z)\n"
                 "b.1: float32[2, 8, 2] = aten::view_as_real_copy.out(z)\n"
                 "b: float32[2, 8] = aten::select_copy.int_out(b.1, 2, 0)\n"
                 "c: float32[2, 8] = aten::select_copy.int_out(b.1, 2, 1)\n"
                 "d: float32[2, 8] = aten::atan2.out(c, b)\n"
                 "e: complex64[2, 8] = aten::mul.out(z, const complex64[])\n"
                 "return a\n"
                 "return b\n"
                 "return c\n"
                 "return d\n"
                 "return e\n");
}

static void a_real_operand_becomes_complex(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_ETX, "lower simplify",
                 "inputs: [{name: z, type: 'complex64[2, 8]'}, {name: w, type: "
                 "'float32[8]'}]\n"
                 "nodes:\n"
                 "  - {out: y, op: aten.mul.Tensor, args: [z, w]}\n"
                 "outputs: [y]\n",
                 "y.1: float32[8] = aten::full.out([8], 0)\n"
                 "y.2: float32[8, 1] = aten::view_copy.out(w, [8, 1])\n"
                 "y.3: float32[8, 1] = aten::view_copy.out(y.1, [8, 1])\n"
                 "y.4: float32[8, 2] = aten::cat.out([y.2, y.3], 1)\n"
                 "y.5: complex64[8] = etx::view_as_complex_copy.out(y.4)\n"
                 "y: complex64[2, 8] = aten::mul.out(z, y.5)\n"
                 "return y\n");
}

static void sizes_of_pairs_are_those_of_complex_numbers(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'float16[3]'}, {name: y, type: "
      "'float16[3]'}]\n"
      "nodes:\n"
      "  - {out: z, op: aten.hypot.default, args: [x, y]}\n"
      "outputs: [z]\n",
      "z.1: float32[3] = dim_order_ops::_to_dim_order_copy.out(x, False, "
      "[0])\n"
      "z.2: float32[3] = dim_order_ops::_to_dim_order_copy.out(y, False, "
      "[0])\n"
      "z.3: float32[3, 1] = aten::view_copy.out(z.1, [3, 1])\n"
      "z.4: float32[3, 1] = aten::view_copy.out(z.2, [3, 1])\n"
      "z.5: float32[3, 2] = aten::cat.out([z.3, z.4], 1)\n"
      "z.6: complex64[3] = etx::view_as_complex_copy.out(z.5)\n"
      "z.7: float32[3] = aten::abs.out(z.6)\n"
      "z: float16[3] = dim_order_ops::_to_dim_order_copy.out(z.7, False, "
      "[0])\n"
      "return z\n");
  expect_lowered(ETX_TARGET_ETX, "lower simplify",
                 "inputs: [{name: r, type: 'float32[3]'}, {name: t, type: "
                 "'float32[3]'}]\n"
                 "nodes:\n"
                 "  - {out: z, op: aten.polar.default, args: [r, t]}\n"
                 "outputs: [z]\n",
                 "z.1: float32[3] = aten::cos.out(t)\n"
                 "z.2: float32[3] = aten::sin.out(t)\n"
                 "z.3: float32[3] = aten::mul.out(r, z.1)\n"
                 "z.4: float32[3] = aten::mul.out(r, z.2)\n"
                 "z.5: float32[3, 1] = aten::view_copy.out(z.3, [3, 1])\n"
                 "z.6: float32[3, 1] = aten::view_copy.out(z.4, [3, 1])\n"
                 "z.7: float32[3, 2] = aten::cat.out([z.5, z.6], 1)\n"
                 "z: complex64[3] = etx::view_as_complex_copy.out(z.7)\n"
                 "return z\n");
}

// Real inputs use the real transform; its inverse is the conjugate.
static void transforms_become_the_kernels_that_exist(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'float32[2, 8]'}, {name: z, type: "
      "'complex64[2, 8]'}]\n"
      "nodes:\n"
      "  - {out: a, op: aten.fft_fft.default, args: [x]}\n"
      "  - {out: b, op: aten.fft_fftn.default, args: [x, null, null, {str: "
      "ortho}]}\n"
      "  - {out: c, op: aten.fft_ifft.default, args: [x, null, 0]}\n"
      "  - {out: d, op: aten.fft_fft2.default, args: [z]}\n"
      "  - {out: e, op: aten.fft_ifft.default, args: [z, 4, -1, {str: "
      "forward}]}\n"
      "  - {out: f, op: aten._fft_c2c.default, args: [z, [-1], 0, true]}\n"
      "outputs: [a, b, c, d, e, f]\n",
      "a: complex64[2, 8] = aten::_fft_r2c.out(x, [1], 0, False)\n"
      "b: complex64[2, 8] = aten::_fft_r2c.out(x, [0, 1], 1, False)\n"
      "c.1: complex64[2, 8] = aten::_fft_r2c.out(x, [0], 2, False)\n"
      "c: complex64[2, 8] = aten::_conj_physical.out(c.1)\n"
      "d: complex64[2, 8] = etx::_fft_c2c.out(z, [0, 1], 0, True)\n"
      "e.1: complex64[2, 4] = aten::slice_copy.Tensor_out(z, 1, 0, 4, 1)\n"
      "e: complex64[2, 4] = etx::_fft_c2c.out(e.1, [1], 0, False)\n"
      "f: complex64[2, 8] = etx::_fft_c2c.out(z, [1], 0, True)\n"
      "return a\n"
      "return b\n"
      "return c\n"
      "return d\n"
      "return e\n"
      "return f\n");
}

static void frames_are_seen_through_windows(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: x, type: 'float32[2, 16]'}]\n"
      "nodes:\n"
      "  - {out: w, op: aten.hann_window.default, args: [6]}\n"
      "  - {out: y, op: aten.stft.default, args: [x, 8, 2, 6, w, false, true, "
      "true]}\n"
      "outputs: [y]\n",
      "w.1: int64[6] = aten::arange.start_out(0, 6, 1)\n"
      "w.2: float32[6] = dim_order_ops::_to_dim_order_copy.out(w.1, False, "
      "[0])\n"
      "w.3: float32[6] = aten::mul.out(w.2, 1.0471975803375244:float32)\n"
      "w.4: float32[6] = aten::cos.out(w.3)\n"
      "w.5: float32[6] = aten::mul.out(w.4, -0.5:float32)\n"
      "w: float32[6] = aten::add.out(w.5, 0.5:float32, 1)\n"
      "y.1: float32[8] = aten::constant_pad_nd.out(w, [1, 1], 0)\n"
      "y.2: float32[2, 5, 8] = aten::unfold_copy.out(x, 1, 8, 2)\n"
      "y.3: float32[2, 5, 8] = aten::mul.out(y.2, y.1)\n"
      "y.4: complex64[2, 5, 5] = aten::_fft_r2c.out(y.3, [2], 0, True)\n"
      "y: complex64[2, 5, 5] = aten::permute_copy.out(y.4, [0, 2, 1])\n"
      "return y\n");
  expect_lowered(
      ETX_TARGET_EXECUTORCH, "lower simplify",
      "inputs: [{name: x, type: 'float32[16]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.stft.default, args: [x, 8]}\n"
      "outputs: [y]\n",
      "y.1: float32[5, 8] = aten::unfold_copy.out(x, 0, 8, 2)\n"
      "y.2: complex64[5, 5] = aten::_fft_r2c.out(y.1, [1], 0, True)\n"
      "y.3: complex64[5, 5] = aten::permute_copy.out(y.2, [1, 0])\n"
      "y: float32[5, 5, 2] = aten::view_as_real_copy.out(y.3)\n"
      "return y\n");
}

static void complex_results_are_refused_for_executorch(void** state) {
  (void)state;
  expect_refused(ETX_TARGET_EXECUTORCH, "lower",
                 "inputs: [{name: x, type: 'float32[3, 2]'}]\n"
                 "nodes:\n"
                 "  - {out: y, op: aten.view_as_complex.default, args: [x]}\n"
                 "outputs: [y]\n",
                 "'aten.view_as_complex.default' runs only in etx's runtime");
  expect_refused(ETX_TARGET_EXECUTORCH, "lower",
                 "inputs: [{name: z, type: 'complex64[2, 8]'}]\n"
                 "nodes:\n"
                 "  - {out: y, op: aten.fft_fft.default, args: [z]}\n"
                 "outputs: [y]\n",
                 "'aten.fft_fft.default' runs only in etx's runtime");
}

static void complex_padding_pads_the_real_view(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower simplify",
      "inputs: [{name: z, type: 'complex64[2, 8]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.constant_pad_nd.default, args: [z, [1, 2]]}\n"
      "  - {out: a, op: aten.fft_fft.default, args: [z, 9]}\n"
      "outputs: [y, a]\n",
      "y.1: float32[2, 8, 2] = aten::view_as_real_copy.out(z)\n"
      "y.2: float32[2, 11, 2] = aten::constant_pad_nd.out(y.1, [0, 0, 1, 2], "
      "0)\n"
      "y: complex64[2, 11] = etx::view_as_complex_copy.out(y.2)\n"
      "a.2: float32[2, 9, 2] = aten::constant_pad_nd.out(y.1, [0, 0, 0, 1], "
      "0)\n"
      "a.3: complex64[2, 9] = etx::view_as_complex_copy.out(a.2)\n"
      "a: complex64[2, 9] = etx::_fft_c2c.out(a.3, [1], 0, True)\n"
      "return y\n"
      "return a\n");
}

static void complex_padding_with_other_numbers_is_refused(void** state) {
  (void)state;
  expect_refused(
      ETX_TARGET_ETX, "lower",
      "inputs: [{name: z, type: 'complex64[2, 8]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.constant_pad_nd.default, args: [z, [1, 2], "
      "1.5]}\n"
      "outputs: [y]\n",
      "of complex tensors is supported only with the value 0");
  expect_refused(
      ETX_TARGET_EXECUTORCH, "lower",
      "inputs: [{name: z, type: 'complex64[2, 8]'}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.constant_pad_nd.default, args: [z, [1, 2]]}\n"
      "outputs: [y]\n",
      "runs only in etx's runtime");
}

static void a_conjugate_is_computed_where_there_is_one(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_EXECUTORCH, "lower simplify",
                 "inputs: [{name: z, type: 'complex64[2, 8]'}, {name: x, type: "
                 "'float32[2]'}]\n"
                 "nodes:\n"
                 "  - {out: a, op: aten._conj.default, args: [z]}\n"
                 "  - {out: b, op: aten.conj.default, args: [x]}\n"
                 "  - {out: d, op: aten.resolve_conj.default, args: [a]}\n"
                 "outputs: [a, b, d]\n",
                 "a: complex64[2, 8] = aten::_conj_physical.out(z)\n"
                 "return a\n"
                 "return x\n"
                 "return a\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(norms_become_factors),
      cmocka_unit_test(lines_are_cut_or_padded_to_their_length),
      cmocka_unit_test(two_sided_real_transforms_are_refused_for_executorch),
      cmocka_unit_test(core_forms_count_dimensions_from_the_front),
      cmocka_unit_test(other_lengths_and_norms_are_refused),
      cmocka_unit_test(gradients_of_a_convolution_are_three),
      cmocka_unit_test(complex_numbers_are_put_together_from_parts),
      cmocka_unit_test(a_real_operand_becomes_complex),
      cmocka_unit_test(sizes_of_pairs_are_those_of_complex_numbers),
      cmocka_unit_test(transforms_become_the_kernels_that_exist),
      cmocka_unit_test(frames_are_seen_through_windows),
      cmocka_unit_test(complex_results_are_refused_for_executorch),
      cmocka_unit_test(complex_padding_pads_the_real_view),
      cmocka_unit_test(complex_padding_with_other_numbers_is_refused),
      cmocka_unit_test(a_conjugate_is_computed_where_there_is_one),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
