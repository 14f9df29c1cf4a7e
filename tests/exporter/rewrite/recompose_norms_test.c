// Spelled-out norms; batch norms and padding that are folded into convolutions.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "tests/exporter/lowered.h"

#define PASSES "lower fold_constants simplify recompose_norms simplify"

#define INPUTS                                                     \
  "inputs: [{name: x, type: 'float32[2, 3, 4]'}, {name: w, type: " \
  "'float32[4]'}, {name: b, type: 'float32[4]'}]\n"                \
  "nodes:\n"

#define MEAN_SQUARE(of)                                      \
  "  - {out: p, op: aten.pow.Tensor_Scalar, args: [" of      \
  ", 2]}\n"                                                  \
  "  - {out: m, op: aten.mean.dim, args: [p, [-1], true]}\n" \
  "  - {out: e, op: aten.add.Tensor, args: [m, 0.5]}\n"

#define CENTRED                                              \
  "  - {out: u, op: aten.mean.dim, args: [x, [-1], true]}\n" \
  "  - {out: d, op: aten.sub.Tensor, args: [x, u]}\n"

static void expect(const char* yaml, const char* wanted) {
  expect_lowered(ETX_TARGET_ETX, PASSES, yaml, wanted);
}

static void multiplication_by_rsqrt_of_mean_square_is_rms_norm(void** state) {
  (void)state;
  expect(INPUTS MEAN_SQUARE("x")
         "  - {out: r, op: aten.rsqrt.default, args: [e]}\n"
         "  - {out: n, op: aten.mul.Tensor, args: [x, r]}\n"
         "  - {out: y, op: aten.mul.Tensor, args: [w, n]}\n"
         "outputs: [y]\n",
         "y: float32[2, 3, 4] = etx::rms_norm.out(x, [4], w, 0.5)\n"
         "return y\n");
}

static void division_by_sqrt_of_mean_square_is_rms_norm(void** state) {
  (void)state;
  expect(INPUTS MEAN_SQUARE("x")
         "  - {out: r, op: aten.sqrt.default, args: [e]}\n"
         "  - {out: y, op: aten.div.Tensor, args: [x, r]}\n"
         "outputs: [y]\n",
         "y: float32[2, 3, 4] = etx::rms_norm.out(x, [4], None, 0.5)\n"
         "return y\n");
}

static void a_centred_rms_norm_is_layer_norm(void** state) {
  (void)state;
  expect(INPUTS CENTRED MEAN_SQUARE("d")
         "  - {out: r, op: aten.rsqrt.default, args: [e]}\n"
         "  - {out: n, op: aten.mul.Tensor, args: [d, r]}\n"
         "  - {out: s, op: aten.mul.Tensor, args: [n, w]}\n"
         "  - {out: y, op: aten.add.Tensor, args: [b, s]}\n"
         "outputs: [y]\n",
         "y: float32[2, 3, 4], y.2: float32[2, 3, 1], y.3: float32[2, 3, 1] = "
         "aten::native_layer_norm.out(x, [4], w, b, 0.5)\n"
         "return y\n");
}

// Each with the same result: x [2, 3, 4] over its last dimension, weighted.
static void spellings_of_an_rms_norm_are_equal(void** state) {
  (void)state;
  static const char* const graphs[] = {
      // The weight first, and a power for the root.
      MEAN_SQUARE("x")
      "  - {out: r, op: aten.pow.Tensor_Scalar, args: [e, -0.5]}\n"
      "  - {out: n, op: aten.mul.Tensor, args: [w, x]}\n"
      "  - {out: y, op: aten.mul.Tensor, args: [n, r]}\n",
      // A sum that is divided; one over the root.
      "  - {out: p, op: aten.mul.Tensor, args: [x, x]}\n"
      "  - {out: s, op: aten.sum.dim_IntList, args: [p, [2], true]}\n"
      "  - {out: m, op: aten.div.Tensor, args: [s, 4]}\n"
      "  - {out: e, op: aten.add.Tensor, args: [m, 0.5]}\n"
      "  - {out: q, op: aten.sqrt.default, args: [e]}\n"
      "  - {out: r, op: aten.reciprocal.default, args: [q]}\n"
      "  - {out: n, op: aten.mul.Tensor, args: [r, x]}\n"
      "  - {out: y, op: aten.mul.Tensor, args: [n, w]}\n",
      // A sum times the inverse of its count; a weight that is divided.
      "  - {out: p, op: aten.mul.Tensor, args: [x, x]}\n"
      "  - {out: s, op: aten.sum.dim_IntList, args: [p, [-1], true]}\n"
      "  - {out: m, op: aten.mul.Tensor, args: [s, 0.25]}\n"
      "  - {out: e, op: aten.add.Tensor, args: [m, 0.5]}\n"
      "  - {out: r, op: aten.sqrt.default, args: [e]}\n"
      "  - {out: n, op: aten.mul.Tensor, args: [x, w]}\n"
      "  - {out: y, op: aten.div.Tensor, args: [n, r]}\n",
      // In float64.
      "  - {out: d, op: aten._to_copy.default, args: [x], kwargs: {dtype: "
      "float64}}\n" MEAN_SQUARE("d")
      "  - {out: r, op: aten.rsqrt.default, args: [e]}\n"
      "  - {out: n, op: aten.mul.Tensor, args: [d, r]}\n"
      "  - {out: f, op: aten._to_copy.default, args: [n], kwargs: {dtype: "
      "float32}}\n"
      "  - {out: y, op: aten.mul.Tensor, args: [w, f]}\n",
  };
  for (size_t i = 0; i < sizeof graphs / sizeof *graphs; ++i) {
    char yaml[2048];
    snprintf(yaml, sizeof yaml, INPUTS "%soutputs: [y]\n", graphs[i]);
    expect(yaml,
           "y: float32[2, 3, 4] = etx::rms_norm.out(x, [4], w, 0.5)\n"
           "return y\n");
  }
}

static void spellings_of_a_layer_norm_are_equal(void** state) {
  (void)state;
  static const char* const graphs[] = {
      CENTRED
      "  - {out: v, op: aten.var.correction, args: [x, [-1]], kwargs: "
      "{correction: 0, keepdim: true}}\n"
      "  - {out: e, op: aten.add.Tensor, args: [v, 0.5]}\n"
      "  - {out: r, op: aten.sqrt.default, args: [e]}\n"
      "  - {out: n, op: aten.div.Tensor, args: [d, r]}\n",
      "  - {out: [v, u], op: aten.var_mean.correction, args: [x, [2]], kwargs: "
      "{correction: 0, keepdim: true}}\n"
      "  - {out: d, op: aten.sub.Tensor, args: [x, u]}\n"
      "  - {out: e, op: aten.add.Tensor, args: [v, 0.5]}\n"
      "  - {out: r, op: aten.rsqrt.default, args: [e]}\n"
      "  - {out: n, op: aten.mul.Tensor, args: [d, r]}\n",
  };
  for (size_t i = 0; i < sizeof graphs / sizeof *graphs; ++i) {
    char yaml[2048];
    snprintf(yaml, sizeof yaml,
             INPUTS
             "%s"
             "  - {out: s, op: aten.mul.Tensor, args: [n, w]}\n"
             "  - {out: y, op: aten.add.Tensor, args: [s, b]}\n"
             "outputs: [y]\n",
             graphs[i]);
    expect(yaml,
           "y: float32[2, 3, 4], y.2: float32[2, 3, 1], y.3: float32[2, 3, 1] "
           "= aten::native_layer_norm.out(x, [4], w, b, 0.5)\n"
           "return y\n");
  }
}

static void a_layer_norm_over_channels_is_permuted(void** state) {
  (void)state;
  expect(
      "inputs: [{name: x, type: 'float32[2, 3, 4, 5]'}, {name: w, type: "
      "'float32[3]'}, {name: b, type: 'float32[1, 3, 1, 1]'}]\n"
      "nodes:\n"
      "  - {out: u, op: aten.mean.dim, args: [x, [1], true]}\n"
      "  - {out: d, op: aten.sub.Tensor, args: [x, u]}\n"
      "  - {out: p, op: aten.pow.Tensor_Scalar, args: [d, 2]}\n"
      "  - {out: m, op: aten.mean.dim, args: [p, [1], true]}\n"
      "  - {out: e, op: aten.add.Tensor, args: [m, 0.5]}\n"
      "  - {out: r, op: aten.sqrt.default, args: [e]}\n"
      "  - {out: n, op: aten.div.Tensor, args: [d, r]}\n"
      "  - {out: v, op: aten.view.default, args: [w, [3, 1, 1]]}\n"
      "  - {out: s, op: aten.mul.Tensor, args: [v, n]}\n"
      "  - {out: y, op: aten.add.Tensor, args: [s, b]}\n"
      "outputs: [y]\n",
      "n.1: float32[2, 4, 5, 3] = aten::permute_copy.out(x, [0, 2, 3, 1])\n"
      "y.1: float32[3] = aten::view_copy.out(b, [3])\n"
      "y.2: float32[2, 4, 5, 3], y.3: float32[2, 4, 5, 1], y.4: float32[2, "
      "4, 5, 1] = aten::native_layer_norm.out(n.1, [3], w, y.1, 0.5)\n"
      "y: float32[2, 3, 4, 5] = aten::permute_copy.out(y.2, [0, 3, 1, 2])\n"
      "return y\n");
}

// Models with half types often compute the norm in float32.
static void casts_around_norms_of_halves_are_removed(void** state) {
  (void)state;
  expect("inputs: [{name: x, type: 'float16[2, 4]'}, {name: w, type: "
         "'float16[4]'}]\n"
         "nodes:\n"
         "  - {out: d, op: aten._to_copy.default, args: [x], kwargs: {dtype: "
         "float32}}\n" MEAN_SQUARE("d")
         "  - {out: r, op: aten.rsqrt.default, args: [e]}\n"
         "  - {out: n, op: aten.mul.Tensor, args: [d, r]}\n"
         "  - {out: f, op: aten._to_copy.default, args: [n], kwargs: {dtype: "
         "float16}}\n"
         "  - {out: y, op: aten.mul.Tensor, args: [w, f]}\n"
         "outputs: [y]\n",
         "y: float16[2, 4] = etx::rms_norm.out(x, [4], w, 0.5)\n"
         "return y\n");
}

// Graphs that are not norms: other dimensions, another dividend, an unbiased
// variance, a sum instead of a mean.
static void other_expressions_are_left_alone(void** state) {
  (void)state;
  static const char* const graphs[] = {
      INPUTS
      "  - {out: p, op: aten.mul.Tensor, args: [x, x]}\n"
      "  - {out: m, op: aten.mean.dim, args: [p, [1], true]}\n"
      "  - {out: e, op: aten.add.Tensor, args: [m, 0.5]}\n"
      "  - {out: r, op: aten.rsqrt.default, args: [e]}\n"
      "  - {out: y, op: aten.mul.Tensor, args: [x, r]}\n"
      "outputs: [y]\n",
      INPUTS MEAN_SQUARE("x")
      "  - {out: r, op: aten.rsqrt.default, args: [e]}\n"
      "  - {out: z, op: aten.neg.default, args: [x]}\n"
      "  - {out: y, op: aten.mul.Tensor, args: [z, r]}\n"
      "outputs: [y]\n",
      INPUTS MEAN_SQUARE("x")
      "  - {out: r, op: aten.sqrt.default, args: [e]}\n"
      "  - {out: y, op: aten.div.Tensor, args: [r, x]}\n"
      "outputs: [y]\n",
      INPUTS CENTRED
      "  - {out: v, op: aten.var.correction, args: [x, [-1]], kwargs: "
      "{correction: 1, keepdim: true}}\n"
      "  - {out: e, op: aten.add.Tensor, args: [v, 0.5]}\n"
      "  - {out: r, op: aten.sqrt.default, args: [e]}\n"
      "  - {out: y, op: aten.div.Tensor, args: [d, r]}\n"
      "outputs: [y]\n",
      INPUTS
      "  - {out: p, op: aten.mul.Tensor, args: [x, x]}\n"
      "  - {out: s, op: aten.sum.dim_IntList, args: [p, [-1], true]}\n"
      "  - {out: m, op: aten.div.Tensor, args: [s, 3]}\n"
      "  - {out: e, op: aten.add.Tensor, args: [m, 0.5]}\n"
      "  - {out: r, op: aten.rsqrt.default, args: [e]}\n"
      "  - {out: y, op: aten.mul.Tensor, args: [x, r]}\n"
      "outputs: [y]\n",
  };
  for (size_t i = 0; i < sizeof graphs / sizeof *graphs; ++i) {
    lowered l;
    lowered_open(&l, ETX_TARGET_ETX, graphs[i]);
    lowered_run(&l, PASSES);
    assert_null(strstr(lowered_lines(&l), "norm"));
    lowered_close(&l);
  }
}

// A factor with one element per row is not a weight.
static void other_factors_are_not_weights(void** state) {
  (void)state;
  expect("inputs: [{name: x, type: 'float32[2, 3, 4]'}, {name: w, type: "
         "'float32[3, 1]'}]\n"
         "nodes:\n" MEAN_SQUARE("x")
         "  - {out: r, op: aten.rsqrt.default, args: [e]}\n"
         "  - {out: n, op: aten.mul.Tensor, args: [x, r]}\n"
         "  - {out: y, op: aten.mul.Tensor, args: [n, w]}\n"
         "outputs: [y]\n",
         "n: float32[2, 3, 4] = etx::rms_norm.out(x, [4], None, 0.5)\n"
         "y: float32[2, 3, 4] = aten::mul.out(n, w)\n"
         "return y\n");
}

// ------------------------------------------------ batch norms

#define CONVOLUTION                                                       \
  "inputs: [{name: x, type: 'float32[1, 1, 3, 3]'}]\n"                    \
  "buffers: [{name: w, type: 'float32[2, 1, 1, 1]', init: 3}, {name: "    \
  "one, type: 'float32[2]', init: 1}, {name: two, type: 'float32[2]', "   \
  "init: 2}, {name: v, type: 'float32[2]', init: 0.25}]\n"                \
  "nodes:\n"                                                              \
  "  - {out: c, op: aten.convolution.default, args: [x, w, one, [1, 1], " \
  "[0, 0], [1, 1], false, [0, 0], 1]}\n"

#define NORM                                                                \
  "  - {out: [n, s, t], op: "                                               \
  "aten._native_batch_norm_legit_no_training.default, args: [c, two, one, " \
  "two, v, 0.1, 0.0]}\n"

// Weight 3 * 2 / sqrt(0.25), bias (1 - 2) * 4 + 1.
static void a_batch_norm_is_folded_into_the_convolution(void** state) {
  (void)state;
  static const etx_target targets[] = {ETX_TARGET_ETX, ETX_TARGET_EXECUTORCH};
  for (size_t i = 0; i < 2; ++i) {
    expect_lowered(
        targets[i],
        "lower fold_constants simplify fold_batch_norms fold_constants "
        "simplify",
        CONVOLUTION NORM "outputs: [n]\n",
        "n: float32[1, 2, 3, 3] = aten::convolution.out(x, const float32[2, 1, "
        "1, 1], const float32[2], [1, 1], [0, 0], [1, 1], False, [0, 0], 1)\n"
        "return n\n");
  }
}

#define TRANSPOSED(channels, groups)                                           \
  "inputs: [{name: x, type: 'float32[1, " channels                             \
  ", 3, 3]'}]\n"                                                               \
  "buffers: [{name: w, type: 'float32[" channels                               \
  ", 2, 1, 1]', init: 3}, "                                                    \
  "{name: two, type: 'float32[4]', init: 2}, {name: v, type: 'float32[4]', "   \
  "init: 0.25}, {name: c2, type: 'float32[2]', init: 2}, {name: v2, type: "    \
  "'float32[2]', init: 0.25}]\n"                                               \
  "nodes:\n"                                                                   \
  "  - {out: c, op: aten.convolution.default, args: [x, w, null, [1, 1], [0, " \
  "0], [1, 1], true, [0, 0], " groups "]}\n"

// Channels of results are the second dimension there, and the first one too if
// there are groups.
static void a_batch_norm_is_folded_into_a_transposed_convolution(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX,
      "lower fold_constants simplify fold_batch_norms fold_constants simplify",
      TRANSPOSED("3", "1")
      "  - {out: [n, s, t], op: "
      "aten._native_batch_norm_legit_no_training.default, args: [c, c2, c2, "
      "c2, v2, 0.1, 0.0]}\n"
      "outputs: [n]\n",
      "n: float32[1, 2, 3, 3] = aten::convolution.out(x, const float32[3, 2, "
      "1, 1], const float32[2], [1, 1], [0, 0], [1, 1], True, [0, 0], 1)\n"
      "return n\n");
  lowered l;
  lowered_open(&l, ETX_TARGET_ETX,
               TRANSPOSED("4", "2")
               "  - {out: [n, s, t], op: "
               "aten._native_batch_norm_legit_no_training.default, args: [c, "
               "two, two, two, v, 0.1, 0.0]}\n"
               "outputs: [n]\n");
  lowered_run(&l, "lower fold_constants fold_batch_norms");
  assert_non_null(strstr(lowered_lines(&l), "batch_norm"));
  lowered_close(&l);
}

static void a_convolution_with_other_uses_is_not_folded(void** state) {
  (void)state;
  lowered l;
  lowered_open(&l, ETX_TARGET_ETX, CONVOLUTION NORM "outputs: [n, c]\n");
  lowered_run(&l, "lower fold_constants fold_batch_norms");
  assert_non_null(strstr(lowered_lines(&l), "batch_norm"));
  lowered_close(&l);
}

// ------------------------------------------------ padding

#define PADDED(ends, value)                                                   \
  "inputs: [{name: x, type: 'float32[1, 1, 3, 3]'}, {name: w, type: "         \
  "'float32[2, 1, 2, 2]'}]\n"                                                 \
  "nodes:\n"                                                                  \
  "  - {out: p, op: aten.constant_pad_nd.default, args: [x, " ends ", " value \
  "]}\n"                                                                      \
  "  - {out: y, op: aten.convolution.default, args: [p, w, null, [1, 1], "    \
  "[1, 0], [1, 1], false, [0, 0], 1]}\n"                                      \
  "outputs: [y]\n"

static void symmetric_padding_is_folded_into_the_convolution(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_ETX, "lower fold_padding",
                 PADDED("[2, 2, 3, 3]", "0.0"),
                 "y: float32[1, 2, 10, 6] = aten::convolution.out(x, w, None, "
                 "[1, 1], [4, 2], [1, 1], False, [0, 0], 1)\n"
                 "return y\n");
}

static void other_padding_stays(void** state) {
  (void)state;
  static const char* const graphs[] = {
      PADDED("[0, 1, 0, 1]", "0.0"), PADDED("[1, 1, 1, 1]", "2.0"),
      PADDED("[1, 1, 1, 1, 0, 0, 1, 1]", "0.0"),
      PADDED("[0, 0, -1, -1]", "0.0")};
  // In the third graph the batch is padded, so its result differs.
  for (size_t i = 0; i < sizeof graphs / sizeof *graphs; ++i) {
    lowered l;
    lowered_open(&l, ETX_TARGET_ETX, graphs[i]);
    lowered_run(&l, "lower fold_padding");
    assert_non_null(strstr(lowered_lines(&l), "constant_pad_nd"));
    lowered_close(&l);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(multiplication_by_rsqrt_of_mean_square_is_rms_norm),
      cmocka_unit_test(division_by_sqrt_of_mean_square_is_rms_norm),
      cmocka_unit_test(a_centred_rms_norm_is_layer_norm),
      cmocka_unit_test(spellings_of_an_rms_norm_are_equal),
      cmocka_unit_test(spellings_of_a_layer_norm_are_equal),
      cmocka_unit_test(a_layer_norm_over_channels_is_permuted),
      cmocka_unit_test(casts_around_norms_of_halves_are_removed),
      cmocka_unit_test(other_expressions_are_left_alone),
      cmocka_unit_test(other_factors_are_not_weights),
      cmocka_unit_test(a_batch_norm_is_folded_into_the_convolution),
      cmocka_unit_test(a_batch_norm_is_folded_into_a_transposed_convolution),
      cmocka_unit_test(a_convolution_with_other_uses_is_not_folded),
      cmocka_unit_test(symmetric_padding_is_folded_into_the_convolution),
      cmocka_unit_test(other_padding_stays),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
