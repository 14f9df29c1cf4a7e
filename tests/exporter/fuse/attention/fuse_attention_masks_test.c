// Masks of attention: added tensors, where() and masked_fill.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "tests/exporter/fuse/attention/fuse_attention_graphs.h"

static void a_mask_that_is_added_is_an_operand(void** state) {
  (void)state;
  expect(HEADS SCORES
         "  - {out: d, op: aten.mul.Tensor, args: [s, 0.5]}\n"
         "  - {out: a, op: aten.add.Tensor, args: [m, d]}\n" SOFTMAX("a")
             JOINED,
         FOUND(CALL("m, None", "0.5, -inf, False, False")));
}

// (s + m) 0.5 = 0.5 s + 0.5 m, and what is hidden stays hidden.
static void a_scale_after_a_mask_scales_the_mask(void** state) {
  (void)state;
  expect(
      HEADS SCORES
      "  - {out: a, op: aten.add.Tensor, args: [s, m]}\n"
      "  - {out: d, op: aten.div.Tensor, args: [a, 2.0]}\n" SOFTMAX("d") JOINED,
      FOUND("o.3.1: float32[2, 1, 3, 5] = aten::mul.out(m, 0.5:float32)\n" CALL(
          "o.3.1, None", "0.5, -inf, False, False")));
  expect(HEADS SCORES
         "  - {out: a, op: aten.add.Tensor, args: [s, n]}\n"
         "  - {out: e, op: aten.masked_fill.Scalar, args: [a, b, -.inf]}\n"
         "  - {out: d, op: aten.div.Tensor, args: [e, 2.0]}\n" SOFTMAX("d")
             JOINED,
         FOUND("o.3.1: float32[2, 1, 5] = aten::mul.out(n, 0.5:float32)\n"
               "o.3.2: float32[2, 2, 3, 5] = aten::where.self_out(b, "
               "-.inf:float32, o.3.1)\n" CALL("o.3.2, None",
                                              "0.5, -inf, False, False")));
}

// The score of a hidden key is multiplied by the scale, too, and becomes
// -infinity if the product is not a finite float.
static void a_scale_after_where_scales_its_number(void** state) {
  (void)state;
  expect(HEADS SCORES
         "  - {out: a, op: aten.masked_fill.Scalar, args: [s, b, -10.0]}\n"
         "  - {out: d, op: aten.mul.Tensor, args: [a, 2.0]}\n" SOFTMAX("d")
             JOINED,
         FOUND("o.3.1: bool[2, 1, 3, 5] = aten::logical_not.out(b)\n" CALL(
             "o.3.1, None", "2, -20, False, False")));
  expect(HEADS SCORES
         "  - {out: a, op: aten.masked_fill.Scalar, args: [s, b, "
         "-3.0e+38]}\n"
         "  - {out: d, op: aten.mul.Tensor, args: [a, 2.0]}\n" SOFTMAX("d")
             JOINED,
         FOUND("o.3.1: bool[2, 1, 3, 5] = aten::logical_not.out(b)\n" CALL(
             "o.3.1, None", "2, -inf, False, False")));
}

// A bias and a mask that hides keys, in either order and with either operator.
static void two_masks_become_one(void** state) {
  (void)state;
  expect(HEADS SCORES
         "  - {out: d, op: aten.mul.Tensor, args: [s, 0.5]}\n"
         "  - {out: a, op: aten.add.Tensor, args: [d, m]}\n"
         "  - {out: e, op: aten.add.Tensor, args: [a, n]}\n" SOFTMAX("e")
             JOINED,
         FOUND("o.3.1: float32[2, 2, 3, 5] = aten::add.out(n, m, 1)\n" CALL(
             "o.3.1, None", "0.5, -inf, False, False")));
  expect(HEADS SCORES
         "  - {out: a, op: aten.add.Tensor, args: [s, n]}\n"
         "  - {out: e, op: aten.masked_fill.Scalar, args: [a, b, "
         "-.inf]}\n" SOFTMAX("e") JOINED,
         FOUND("o.3.1: float32[2, 2, 3, 5] = aten::where.self_out(b, "
               "-.inf:float32, n)\n" CALL("o.3.1, None",
                                          "1, -inf, False, False")));
  expect(
      HEADS SCORES
      "  - {out: l, op: aten.full.default, args: [[], -.inf]}\n"
      "  - {out: a, op: aten.where.self, args: [b, s, l]}\n"
      "  - {out: e, op: aten.add.Tensor, args: [n, a]}\n" SOFTMAX("e") JOINED,
      FOUND("o.3.1: float32[2, 2, 3, 5] = aten::where.self_out(b, n, "
            "-.inf:float32)\n" CALL("o.3.1, None", "1, -inf, False, False")));
}

// A bias that is added after the where() is also added to the score of hidden
// keys: a row may see no key at all. If that score is -infinity, the addition
// makes no difference.
static void a_mask_added_after_where_is_added_to_hidden_keys(void** state) {
  (void)state;
  expect(HEADS SCORES
         "  - {out: e, op: aten.masked_fill.Scalar, args: [s, b, -1.0e+32]}\n"
         "  - {out: a, op: aten.add.Tensor, args: [e, n]}\n" SOFTMAX("a")
             JOINED,
         FOUND("o.3.1: float32[2, 1, 3, 5] = aten::where.self_out(b, "
               "-1.0000000331813535e+32:float32, 0.0:float32)\n"
               "o.3.2: float32[2, 2, 3, 5] = aten::add.out(o.3.1, n, 1)\n" CALL(
                   "o.3.2, None", "1, -1.00000003e+32, False, False")));
  expect(HEADS SCORES
         "  - {out: e, op: aten.add.Tensor, args: [s, m]}\n"
         "  - {out: f, op: aten.masked_fill.Scalar, args: [e, b, -1.0e+32]}\n"
         "  - {out: g, op: aten.add.Tensor, args: [f, n]}\n"
         "  - {out: a, op: aten.add.Tensor, args: [g, m]}\n" SOFTMAX("a")
             JOINED,
         FOUND("o.3.1: float32[2, 1, 3, 5] = aten::where.self_out(b, "
               "-1.0000000331813535e+32:float32, m)\n"
               "o.3.2: float32[2, 1, 3, 5] = aten::add.out(o.3.1, m, 1)\n"
               "o.3.3: float32[2, 2, 3, 5] = aten::add.out(o.3.2, n, 1)\n" CALL(
                   "o.3.3, None", "1, -1.00000003e+32, False, False")));
  expect(
      HEADS SCORES
      "  - {out: e, op: aten.masked_fill.Scalar, args: [s, b, -.inf]}\n"
      "  - {out: a, op: aten.add.Tensor, args: [e, n]}\n" SOFTMAX("a") JOINED,
      FOUND(
          "o.3.1: float32[2, 2, 3, 5] = aten::where.self_out(b, "
          "-.inf:float32, n)\n" CALL("o.3.1, None", "1, -inf, False, False")));
}

// Scores minus a mask, or plus a multiple of one.
static void a_mask_may_be_subtracted_or_scaled(void** state) {
  (void)state;
  expect(
      HEADS SCORES
      "  - {out: d, op: aten.mul.Tensor, args: [s, 0.5]}\n"
      "  - {out: a, op: aten.sub.Tensor, args: [d, m]}\n" SOFTMAX("a") JOINED,
      FOUND("o.3.1: float32[2, 1, 3, 5] = aten::mul.out(m, "
            "-1.0:float32)\n" CALL("o.3.1, None", "0.5, -inf, False, False")));
  expect(
      HEADS SCORES
      "  - {out: a, op: aten.add.Tensor, args: [s, m], kwargs: {alpha: "
      "3}}\n"
      "  - {out: d, op: aten.mul.Tensor, args: [a, 0.5]}\n" SOFTMAX("d") JOINED,
      FOUND("o.3.1: float32[2, 1, 3, 5] = aten::mul.out(m, "
            "1.5:float32)\n" CALL("o.3.1, None", "0.5, -inf, False, False")));
}

// A mask that hides keys by their position is not stored as a tensor; the bias
// becomes the mask.
static void a_bias_and_a_position_mask_are_two_operands(void** state) {
  (void)state;
  expect(HEADS SCORES
         "  - {out: a, op: aten.add.Tensor, args: [s, n]}\n"
         "  - {out: r, op: aten.arange.default, args: [5]}\n"
         "  - {out: u, op: aten.unsqueeze.default, args: [p, 1]}\n"
         "  - {out: g, op: aten.gt.Tensor, args: [r, u]}\n"
         "  - {out: e, op: aten.masked_fill.Scalar, args: [a, g, "
         "-.inf]}\n" SOFTMAX("e") JOINED,
         FOUND(POSITIONS CALL("n, u", "1, -inf, False, False")));
}

// Products of all heads begin with a bias of their own (baddbmm).
static void a_bias_of_baddbmm_becomes_a_mask(void** state) {
  (void)state;
  expect(HEADS
         "  - {out: qc, op: aten.reshape.default, args: [qh, [4, 3, 4]]}\n"
         "  - {out: kt, op: aten.transpose.int, args: [kh, 2, 3]}\n"
         "  - {out: kc, op: aten.reshape.default, args: [kt, [4, 4, 5]]}\n"
         "  - {out: s, op: aten.baddbmm.default, args: [bz, qc, kc], kwargs: "
         "{alpha: 0.5}}\n"
         "  - {out: d, op: aten.view.default, args: [s, [2, 2, 3, 5]]}\n"
         "  - {out: a, op: aten.add.Tensor, args: [d, m]}\n" SOFTMAX("a")
             JOINED,
         FOUND("o.3.1: float32[2, 2, 1, 5] = aten::view_copy.out(bz, [2, 2, 1, "
               "5])\n"
               "o.3.2: float32[2, 2, 3, 5] = aten::add.out(m, o.3.1, 1)\n" CALL(
                   "o.3.2, None", "0.5, -inf, False, False")));
}

// A bias that is added twice is doubled and added once.
static void a_mask_that_is_added_twice_is_one(void** state) {
  (void)state;
  expect(
      HEADS SCORES
      "  - {out: d, op: aten.mul.Tensor, args: [s, 0.5]}\n"
      "  - {out: a, op: aten.add.Tensor, args: [d, m]}\n"
      "  - {out: e, op: aten.add.Tensor, args: [a, m]}\n" SOFTMAX("e") JOINED,
      FOUND("o.3.1: float32[2, 1, 3, 5] = aten::mul.out(m, 2.0:float32)\n" CALL(
          "o.3.1, None", "0.5, -inf, False, False")));
}

// Rows are pixels of an image of 2 x 2, keys of one of 3 x 2.
#define IMAGES                                                                 \
  "inputs: [{name: q, type: 'float32[2, 4, 8]'}, {name: k, type: "             \
  "'float32[2, 6, 8]'}, {name: v, type: 'float32[2, 6, 8]'}, {name: a, type: " \
  "'float32[2, 2, 2, 3, 1]'}, {name: b, type: 'float32[2, 2, 2, 1, 2]'}]\n"    \
  "nodes:\n"                                                                   \
  "  - {out: kt, op: aten.transpose.int, args: [k, 1, 2]}\n"                   \
  "  - {out: s, op: aten.matmul.default, args: [q, kt]}\n"                     \
  "  - {out: g, op: aten.view.default, args: [s, [2, 2, 2, 3, 2]]}\n"

#define IMAGES_END                                              \
  "  - {out: f, op: aten.view.default, args: [e, [2, 4, 6]]}\n" \
  "  - {out: w, op: aten.softmax.int, args: [f, -1]}\n"         \
  "  - {out: y, op: aten.matmul.default, args: [w, v]}\n"       \
  "outputs: [y]\n"

#define IMAGES_FOUND(mask)                                                   \
  mask "y.1: float32[1, 2, 4, 8] = aten::view_copy.out(q, [1, 2, 4, 8])\n"   \
       "y.2: float32[1, 2, 6, 8] = aten::view_copy.out(k, [1, 2, 6, 8])\n"   \
       "y.3: float32[1, 2, 6, 8] = aten::view_copy.out(v, [1, 2, 6, 8])\n"   \
       "y.4: float32[1, 2, 4, 6] = aten::view_copy.out(w.1, [1, 2, 4, 6])\n" \
       "y.5: float32[1, 2, 4, 8] = etx::attention.out(y.1, y.2, y.3, y.4, "  \
       "None, "                                                              \
       "[0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3], 1, -inf, "   \
       "False, "                                                             \
       "False)\n"                                                            \
       "y: float32[2, 4, 8] = aten::view_copy.out(y.5, [2, 4, 8])\n"         \
       "return y\n"

static void biases_of_image_scores_are_one_mask(void** state) {
  (void)state;
  expect(
      IMAGES
      "  - {out: d, op: aten.add.Tensor, args: [g, a]}\n"
      "  - {out: e, op: aten.add.Tensor, args: [b, d]}\n" IMAGES_END,
      IMAGES_FOUND("w.1: float32[2, 2, 2, 3, 2] = aten::add.out(b, a, 1)\n"));
  expect(IMAGES "  - {out: e, op: aten.add.Tensor, args: [g, a]}\n" IMAGES_END,
         IMAGES_FOUND("w.1: float32[2, 2, 2, 3, 2] = aten::expand_copy.out(a, "
                      "[2, 2, 2, 3, 2], False)\n"));
}

// A second mask is added in float32.
static void half_masks_are_added_in_float32(void** state) {
  (void)state;
  expect("inputs: [{name: q, type: 'bfloat16[2, 4, 8]'}, {name: m, type: "
         "'bfloat16[4, 4]'}, {name: n, type: 'bfloat16[2, 1, 4]'}]\n"
         "nodes:\n"
         "  - {out: kt, op: aten.transpose.int, args: [q, 1, 2]}\n"
         "  - {out: s, op: aten.matmul.default, args: [q, kt]}\n"
         "  - {out: a, op: aten.add.Tensor, args: [s, m]}\n"
         "  - {out: e, op: aten.add.Tensor, args: [a, n]}\n" SOFTMAX("e")
         "  - {out: y, op: aten.matmul.default, args: [w, q]}\n"
         "outputs: [y]\n",
         "y.1: bfloat16[1, 2, 4, 8] = aten::view_copy.out(q, [1, 2, 4, 8])\n"
         "y.4: float32[2, 1, 4] = dim_order_ops::_to_dim_order_copy.out(n, "
         "False, [0, 1, 2])\n"
         "y.5: float32[1, 2, 1, 4] = aten::view_copy.out(y.4, [1, 2, 1, 4])\n"
         "y.6: float32[4, 4] = dim_order_ops::_to_dim_order_copy.out(m, False, "
         "[0, 1])\n"
         "y.7: float32[1, 2, 4, 4] = aten::add.out(y.5, y.6, 1)\n"
         "y.8: bfloat16[1, 2, 4, 8] = etx::attention.out(y.1, y.1, y.1, y.7, "
         "None, [0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3], 1, "
         "-inf, False, False)\n"
         "y: bfloat16[2, 4, 8] = aten::view_copy.out(y.8, [2, 4, 8])\n"
         "return y\n");
}

// Scores are nothing beside the number: max(s + m, l) = s + max(m, l).
static void a_maximum_of_scores_becomes_a_maximum_of_the_mask(void** state) {
  (void)state;
  expect(HEADS SCORES LEAST
         "  - {out: a, op: aten.add.Tensor, args: [s, m]}\n"
         "  - {out: x, op: aten.maximum.default, args: [a, l]}\n" SOFTMAX("x")
             JOINED,
         FOUND("o.3.1: float32[2, 1, 3, 5] = aten::maximum.out(m, "
               "-9.999999680285692e+37:float32)\n" CALL(
                   "o.3.1, None", "1, -inf, False, False")));
  expect(HEADS SCORES LEAST
         "  - {out: a, op: aten.masked_fill.Scalar, args: [s, b, -.inf]}\n"
         "  - {out: x, op: aten.maximum.default, args: [l, a]}\n" SOFTMAX("x")
             JOINED,
         FOUND("o.3.1: bool[2, 1, 3, 5] = aten::logical_not.out(b)\n" CALL(
             "o.3.1, None", "1, -9.99999968e+37, False, False")));
}

#define WINDOWS                                                       \
  "inputs: [{name: q, type: 'float32[6, 2, 4, 8]'}, {name: b, type: " \
  "'float32[2, 4, 4]'}, {name: m, type: 'float32[3, 4, 4]'}]\n"       \
  "nodes:\n"                                                          \
  "  - {out: kt, op: aten.transpose.int, args: [q, 2, 3]}\n"          \
  "  - {out: s, op: aten.matmul.default, args: [q, kt]}\n"

// Scores of two pictures of three windows each: the bias is one of heads, the
// mask one of windows.
static void a_mask_per_window_is_expanded_over_the_batch(void** state) {
  (void)state;
  expect(WINDOWS
         "  - {out: a, op: aten.add.Tensor, args: [s, b]}\n"
         "  - {out: a5, op: aten.view.default, args: [a, [2, 3, 2, 4, 4]]}\n"
         "  - {out: m5, op: aten.view.default, args: [m, [1, 3, 1, 4, 4]]}\n"
         "  - {out: e, op: aten.add.Tensor, args: [a5, m5]}\n"
         "  - {out: f, op: aten.view.default, args: [e, [6, 2, 4, 4]]}\n"
         SOFTMAX("f")
         "  - {out: y, op: aten.matmul.default, args: [w, q]}\n"
         "outputs: [y]\n",
         "m5: float32[1, 3, 1, 4, 4] = aten::view_copy.out(m, [1, 3, 1, 4, 4])\n"
         "y.3.1: float32[2, 3, 1, 4, 4] = aten::expand_copy.out(m5, [2, 3, 1, "
         "4, 4], False)\n"
         "y.3.2: float32[6, 1, 4, 4] = aten::view_copy.out(y.3.1, [6, 1, 4, "
         "4])\n"
         "y.3.3: float32[6, 2, 4, 4] = aten::add.out(y.3.2, b, 1)\n"
         "y.3.4: float32[6, 2, 4, 8] = etx::attention.out(q, q, q, y.3.3, None, "
         "[0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3], 1, -inf, "
         "False, False)\n"
         "return y.3.4\n");
}

static void bool_masks_hide_keys(void** state) {
  (void)state;
  expect(HEADS SCORES
         "  - {out: l, op: aten.full.default, args: [[], -1.0e+30]}\n"
         "  - {out: a, op: aten.where.self, args: [b, s, l]}\n" SOFTMAX("a")
             JOINED,
         FOUND(CALL("b, None", "1, -1.00000002e+30, False, False")));
  expect(HEADS SCORES
         "  - {out: a, op: aten.masked_fill.Scalar, args: [s, b, "
         "-1.0e+9]}\n" SOFTMAX("a") JOINED,
         FOUND("o.3.1: bool[2, 1, 3, 5] = aten::logical_not.out(b)\n" CALL(
             "o.3.1, None", "1, -1e+09, False, False")));
}

static void position_masks_need_no_tensor(void** state) {
  (void)state;
  expect(HEADS SCORES
         "  - {out: i, op: aten.arange.default, args: [5]}\n"
         "  - {out: u, op: aten.unsqueeze.default, args: [p, 1]}\n"
         "  - {out: g, op: aten.gt.Tensor, args: [i, u]}\n"
         "  - {out: l, op: aten.full.default, args: [[], -1.0e+9]}\n"
         "  - {out: z, op: aten.full.default, args: [[], 0.0]}\n"
         "  - {out: h, op: aten.where.self, args: [g, l, z]}\n"
         "  - {out: f, op: aten.view.default, args: [h, [1, 1, 3, 5]]}\n"
         "  - {out: a, op: aten.add.Tensor, args: [s, f]}\n" SOFTMAX("a")
             JOINED,
         FOUND(POSITIONS CALL("None, u", "1, -1e+09, False, False")));
  expect(HEADS SCORES
         "  - {out: i, op: aten.arange.default, args: [5]}\n"
         "  - {out: u, op: aten.unsqueeze.default, args: [p, 1]}\n"
         "  - {out: g, op: aten.lt.Tensor, args: [i, u]}\n"
         "  - {out: l, op: aten.full.default, args: [[], -.inf]}\n"
         "  - {out: a, op: aten.where.self, args: [g, s, l]}\n" SOFTMAX("a")
             JOINED,
         FOUND(POSITIONS
               "o.3.1: int64[3, 1] = aten::add.out(u, -1:int64, 1)\n" CALL(
                   "None, o.3.1", "1, -inf, False, False")));
}

// Keys up to `u`, of which other tests hide some. The mask stays an operand,
// and the operator knows that it need not read keys after `u`.
#define TESTS                                                     \
  "  - {out: i, op: aten.arange.default, args: [5]}\n"            \
  "  - {out: u, op: aten.unsqueeze.default, args: [p, 1]}\n"      \
  "  - {out: g, op: aten.le.Tensor, args: [i, u]}\n"              \
  "  - {out: x, op: aten.logical_and.default, args: [b, g]}\n"    \
  "  - {out: z, op: aten.bitwise_and.Tensor, args: [x, b]}\n"     \
  "  - {out: l, op: aten.full.default, args: [[], -.inf]}\n"      \
  "  - {out: c1e9, op: aten.full.default, args: [[], -1.0e+9]}\n" \
  "  - {out: c0, op: aten.full.default, args: [[], 0.0]}\n"

#define TESTED                                               \
  POSITIONS                                                  \
  "g: bool[3, 5] = aten::le.Tensor_out(const int64[5], u)\n" \
  "x: bool[2, 1, 3, 5] = aten::logical_and.out(b, g)\n"      \
  "z: bool[2, 1, 3, 5] = aten::bitwise_and.Tensor_out(x, b)\n"

static void a_position_may_be_one_of_several_tests(void** state) {
  (void)state;
  expect(HEADS SCORES TESTS
         "  - {out: a, op: aten.where.self, args: [z, s, l]}\n" SOFTMAX("a")
             JOINED,
         FOUND(TESTED CALL("z, u", "1, -inf, False, False")));
  expect(HEADS SCORES TESTS
         "  - {out: h, op: aten.where.self, args: [z, c0, c1e9]}\n"
         "  - {out: a, op: aten.add.Tensor, args: [s, h]}\n" SOFTMAX("a")
             JOINED,
         FOUND(TESTED CALL("z, u", "1, -1e+09, False, False")));
  expect(HEADS SCORES TESTS
         "  - {out: e, op: aten.add.Tensor, args: [s, n]}\n"
         "  - {out: a, op: aten.where.self, args: [z, e, l]}\n" SOFTMAX("a")
             JOINED,
         FOUND(TESTED
               "o.3.1: float32[2, 2, 3, 5] = aten::where.self_out(z, n, "
               "-.inf:float32)\n" CALL("o.3.1, u", "1, -inf, False, False")));
}

// With a bias beside it, a number that hides keys is part of one mask of
// floats, from which the operator cannot tell rows that see no key.
static void a_bias_beside_tests_with_a_number_stays_one_mask(void** state) {
  (void)state;
  expect(HEADS SCORES TESTS
         "  - {out: e, op: aten.add.Tensor, args: [s, n]}\n"
         "  - {out: h, op: aten.where.self, args: [z, c0, c1e9]}\n"
         "  - {out: a, op: aten.add.Tensor, args: [e, h]}\n" SOFTMAX("a")
             JOINED,
         FOUND(TESTED
               "h: float32[2, 1, 3, 5] = aten::where.self_out(z, 0.0:float32, "
               "-1000000000.0:float32)\n"
               "o.3.1: float32[2, 2, 3, 5] = aten::add.out(h, n, 1)\n" CALL(
                   "o.3.1, None", "1, -inf, False, False")));
}

static void a_constant_triangle_is_causal(void** state) {
  (void)state;
  expect(HEADS
         "  - {out: o, op: aten.scaled_dot_product_attention.default, args: "
         "[qh, kh, vh, null, 0.0, true]}\n"
         "  - {out: t, op: aten.transpose.int, args: [o, 1, 2]}\n"
         "  - {out: y, op: aten.reshape.default, args: [t, [2, 3, 8]]}\n"
         "outputs: [y]\n",
         FOUND(CALL("None, None", "0.5, -inf, True, False")));
}

// A mask of zeros, for all keys or for each key, as constant folding leaves it.
static void a_mask_that_hides_nothing_is_removed(void** state) {
  (void)state;
  expect(HEADS SCORES
         "  - {out: z, op: aten.full.default, args: [[], 0.0]}\n"
         "  - {out: a, op: aten.add.Tensor, args: [s, z]}\n" SOFTMAX("a")
             JOINED,
         FOUND(CALL("None, None", "1, -inf, False, False")));
  expect(HEADS SCORES
         "  - {out: z, op: aten.full.default, args: [[1, 1, 1, 5], 0.0]}\n"
         "  - {out: a, op: aten.add.Tensor, args: [s, z]}\n" SOFTMAX("a")
             JOINED,
         FOUND(CALL("None, None", "1, -inf, False, False")));
  expect(HEADS SCORES
         "  - {out: z, op: aten.full.default, args: [[], -1.0]}\n"
         "  - {out: a, op: aten.add.Tensor, args: [s, z]}\n" SOFTMAX("a")
             JOINED,
         FOUND(CALL("-1.0:float32, None", "1, -inf, False, False")));
}

// -4 is too large to hide a key.
static void other_numbers_stay_a_mask(void** state) {
  (void)state;
  expect(HEADS SCORES
         "  - {out: i, op: aten.arange.default, args: [5]}\n"
         "  - {out: u, op: aten.unsqueeze.default, args: [p, 1]}\n"
         "  - {out: g, op: aten.le.Tensor, args: [i, u]}\n"
         "  - {out: l, op: aten.full.default, args: [[], -4.0]}\n"
         "  - {out: a, op: aten.where.self, args: [g, s, l]}\n" SOFTMAX("a")
             JOINED,
         FOUND(POSITIONS
               "g: bool[3, 5] = aten::le.Tensor_out(const int64[5], u)\n" CALL(
                   "g, None", "1, -4, False, False")));
}

// Attention of s rows over themselves, with a mask of which `slices` makes `a`.
#define OWN_ROWS(slices)                                     \
  "dims: {s: {min: 1, max: 9}}\n"                            \
  "inputs: [{name: x, type: 'float32[1, s, 4]'}, {name: m, " \
  "type: 'float32[9, 9]'}]\n"                                \
  "nodes:\n" slices                                          \
  "  - {out: t, op: aten.transpose.int, args: [x, 1, 2]}\n"  \
  "  - {out: p, op: aten.matmul.default, args: [x, t]}\n"    \
  "  - {out: e, op: aten.add.Tensor, args: [p, a]}\n"        \
  "  - {out: w, op: aten.softmax.int, args: [e, -1]}\n"      \
  "  - {out: y, op: aten.matmul.default, args: [w, x]}\n"    \
  "outputs: [y]\n"

// The mask operand is `mask`, and a slice is made if `slices` is true.
static void expect_mask(const char* yaml, const char* mask, bool slices) {
  lowered l;
  char wanted[64];
  lowered_open(&l, ETX_TARGET_ETX, yaml);
  lowered_run(&l, PASSES);
  const char* const lines = lowered_lines(&l);
  (void)snprintf(wanted, sizeof wanted, ", %s, None, [0, 1, 2, 3]", mask);
  assert_non_null(strstr(lines, "etx::attention.out("));
  assert_non_null(strstr(lines, wanted));
  assert_int_equal(strstr(lines, "slice_copy") != NULL, slices);
  lowered_close(&l);
}

static void the_first_rows_and_keys_of_a_mask_are_no_copy(void** state) {
  (void)state;
  expect_mask(
      OWN_ROWS(
          "  - {out: r, op: aten.slice.Tensor, args: [m, 0, 0, {sym: s}]}\n"
          "  - {out: a, op: aten.slice.Tensor, args: [r, 1, 0, {sym: s}]}\n"),
      "m", false);
  expect_mask(
      OWN_ROWS(
          "  - {out: r, op: aten.slice.Tensor, args: [m, 0, 0, {sym: s}]}\n"
          "  - {out: c, op: aten.slice.Tensor, args: [r, 1, 0, {sym: s}]}\n"
          "  - {out: a, op: aten.unsqueeze.default, args: [c, 0]}\n"),
      "m", false);
}

// A single row that all rows of scores share must not become row i of row i.
// Behind an operator that computes, nothing is skipped.
static void other_parts_of_a_mask_stay_slices(void** state) {
  (void)state;
  expect_mask(
      OWN_ROWS(
          "  - {out: r, op: aten.slice.Tensor, args: [m, 0, 0, 1]}\n"
          "  - {out: a, op: aten.slice.Tensor, args: [r, 1, 0, {sym: s}]}\n"),
      "r", true);
  expect_mask(
      OWN_ROWS(
          "  - {out: c, op: aten.slice.Tensor, args: [m, 1, 0, {sym: s}]}\n"
          "  - {out: f, op: aten.flip.default, args: [c, [0]]}\n"
          "  - {out: r, op: aten.slice.Tensor, args: [f, 0, 0, {sym: s}]}\n"
          "  - {out: a, op: aten.unsqueeze.default, args: [r, 0]}\n"),
      "f", true);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_mask_that_is_added_is_an_operand),
      cmocka_unit_test(a_scale_after_a_mask_scales_the_mask),
      cmocka_unit_test(a_scale_after_where_scales_its_number),
      cmocka_unit_test(two_masks_become_one),
      cmocka_unit_test(a_mask_added_after_where_is_added_to_hidden_keys),
      cmocka_unit_test(a_mask_may_be_subtracted_or_scaled),
      cmocka_unit_test(a_bias_and_a_position_mask_are_two_operands),
      cmocka_unit_test(a_bias_of_baddbmm_becomes_a_mask),
      cmocka_unit_test(a_mask_that_is_added_twice_is_one),
      cmocka_unit_test(biases_of_image_scores_are_one_mask),
      cmocka_unit_test(half_masks_are_added_in_float32),
      cmocka_unit_test(a_maximum_of_scores_becomes_a_maximum_of_the_mask),
      cmocka_unit_test(a_mask_per_window_is_expanded_over_the_batch),
      cmocka_unit_test(bool_masks_hide_keys),
      cmocka_unit_test(position_masks_need_no_tensor),
      cmocka_unit_test(a_position_may_be_one_of_several_tests),
      cmocka_unit_test(a_bias_beside_tests_with_a_number_stays_one_mask),
      cmocka_unit_test(a_constant_triangle_is_causal),
      cmocka_unit_test(a_mask_that_hides_nothing_is_removed),
      cmocka_unit_test(other_numbers_stay_a_mask),
      cmocka_unit_test(the_first_rows_and_keys_of_a_mask_are_no_copy),
      cmocka_unit_test(other_parts_of_a_mask_stay_slices),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
