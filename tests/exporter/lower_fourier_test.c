// Fourier transforms and complex numbers after lowering.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/exporter/lowered.h"

// 0 divides by nothing, 1 by the root of the count, 2 by the count.
static void norms_are_numbers(void** state) {
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

static void core_forms_count_dimensions_from_the_front(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_EXECUTORCH, "lower",
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
  lowered_open(&l, ETX_TARGET_ETX,
               "inputs: [{name: x, type: 'float32[2, 8]'}]\n"
               "nodes: [{out: y, op: aten.fft_rfft2.default, args: [x, [4, 4]]}]"
               "\noutputs: [y]\n");
  assert_pass_refuses(&l, "lower", "with 's': pad or cut the input instead");
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
  assert_pass_refuses(&l, "lower", "of a tensor without dimensions");
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(norms_are_numbers),
      cmocka_unit_test(lines_are_cut_or_padded_to_their_length),
      cmocka_unit_test(core_forms_count_dimensions_from_the_front),
      cmocka_unit_test(other_lengths_and_norms_are_refused),
      cmocka_unit_test(gradients_of_a_convolution_are_three),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
