// Attention in the forms in which models write it. tests/models compares
// results with PyTorch.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/exporter/fuse/attention/fuse_attention_graphs.h"

static void transposes_of_heads_are_fused(void** state) {
  (void)state;
  expect(HEADS SCORES SOFTMAX("s") JOINED,
         FOUND(CALL("None, None", "1, -inf, False, False")));
}

static void constant_factors_are_one_scale(void** state) {
  (void)state;
  expect(HEADS
         "  - {out: qs, op: aten.mul.Tensor, args: [qh, 0.5]}\n"
         "  - {out: ks, op: aten.div.Tensor, args: [kh, 4.0]}\n"
         "  - {out: kt, op: aten.transpose.int, args: [ks, 2, 3]}\n"
         "  - {out: r, op: aten.matmul.default, args: [qs, kt]}\n"
         "  - {out: s, op: aten.mul.Tensor, args: [r, 2.0]}\n" SOFTMAX("s")
             JOINED,
         FOUND(CALL("None, None", "0.25, -inf, False, False")));
}

// 2 tanh(s / 4), and what is added behind it.
static void tanh_capped_scores_are_fused(void** state) {
  (void)state;
  expect(HEADS SCORES
         "  - {out: d, op: aten.div.Tensor, args: [s, 4.0]}\n"
         "  - {out: h, op: aten.tanh.default, args: [d]}\n"
         "  - {out: r, op: aten.mul.Tensor, args: [h, 2.0]}\n"
         "  - {out: a, op: aten.add.Tensor, args: [r, m]}\n" SOFTMAX("a")
             JOINED,
         FOUND("t: float32[2, 3, 2, 4] = etx::attention_capped.out(q4, k4, v4, "
               "m, None, " ORDERS ", 0.5, -inf, False, False, 2)\n"));
}

// A number for each head or row scales the queries, which are small.
static void a_scale_per_head_scales_queries(void** state) {
  (void)state;
  expect(
      HEADS SCORES
      "  - {out: d, op: aten.mul.Tensor, args: [hs, s]}\n"
      "  - {out: a, op: aten.add.Tensor, args: [d, m]}\n" SOFTMAX("a") JOINED,
      FOUND(
          "o.3.2: float32[1, 1, 2, 1] = aten::view_copy.out(hs, [1, 1, 2, 1])\n"
          "o.3.3: float32[2, 3, 2, 4] = aten::mul.out(q4, o.3.2)\n"
          "t: float32[2, 3, 2, 4] = etx::attention.out(o.3.3, k4, v4, m, "
          "None, " ORDERS ", 1, -inf, False, False)\n"));
  expect(
      HEADS SCORES
      "  - {out: d, op: aten.div.Tensor, args: [s, c1]}\n" SOFTMAX("d") JOINED,
      FOUND(
          "o.3.1: float32[1, 1, 1, 1] = aten::view_copy.out(c1, [1, 1, 1, 1])\n"
          "o.3.2: float32[2, 3, 2, 4] = aten::div.out(q4, o.3.1)\n"
          "t: float32[2, 3, 2, 4] = etx::attention.out(o.3.2, k4, v4, None, "
          "None, " ORDERS ", 1, -inf, False, False)\n"));
}

#define HALVES(softmax_type) \
  "inputs: [{name: q, type: 'float16[2, 4, 8]'}, {name: m, type: "             \
  "'float16[4, 4]'}]\n"                                                        \
  "nodes:\n"                                                                   \
  "  - {out: qs, op: aten.mul.Tensor, args: [q, 0.375]}\n"                     \
  "  - {out: kt, op: aten.transpose.int, args: [q, 1, 2]}\n"                   \
  "  - {out: s, op: aten.matmul.default, args: [qs, kt]}\n"                    \
  "  - {out: a, op: aten.add.Tensor, args: [s, m]}\n"                          \
  "  - {out: c, op: aten._to_copy.default, args: [a], kwargs: {dtype: "         \
  softmax_type "}}\n" SOFTMAX("c")                                             \
  "  - {out: h, op: aten._to_copy.default, args: [w], kwargs: {dtype: "         \
  "float16}}\n"                                                                \
  "  - {out: y, op: aten.matmul.default, args: [h, q]}\n"                      \
  "outputs: [y]\n"

// Whether the softmax is of them or not: the operator computes with more.
static void halves_are_fused(void** state) {
  (void)state;
  static const char* const graphs[] = {HALVES("float16"), HALVES("float32")};
  for (size_t i = 0; i < 2; ++i) {
    expect(graphs[i],
           "y.1: float16[1, 2, 4, 8] = aten::view_copy.out(q, [1, 2, 4, 8])\n"
           "y.4: float16[1, 2, 4, 8] = etx::attention.out(y.1, y.1, y.1, m, "
           "None, [0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3], "
           "0.375, -inf, False, False)\n"
           "y: float16[2, 4, 8] = aten::view_copy.out(y.4, [2, 4, 8])\n"
           "return y\n");
  }
}

// Attention as decompositions to core ATen write it: float32 between float16
// tensors, and keys of one head that are shared by two.
static void casts_of_halves_around_attention_are_removed(void** state) {
  (void)state;
  expect(
      "inputs: [{name: q, type: 'float16[1, 3, 2, 8]'}, {name: k, type: "
      "'float16[1, 1, 5, 8]'}]\n"
      "nodes:\n"
      "  - {out: qh, op: aten.transpose.int, args: [q, 1, 2]}\n"
      "  - {out: k5, op: aten.unsqueeze.default, args: [k, 2]}\n"
      "  - {out: ke, op: aten.expand.default, args: [k5, [1, 1, 2, 5, 8]]}\n"
      "  - {out: kh, op: aten.view.default, args: [ke, [1, 2, 5, 8]]}\n"
      "  - {out: qf, op: aten._to_copy.default, args: [qh], kwargs: {dtype: "
      "float32}}\n"
      "  - {out: kf, op: aten._to_copy.default, args: [kh], kwargs: {dtype: "
      "float32}}\n"
      "  - {out: kt, op: aten.transpose.int, args: [kf, 2, 3]}\n"
      "  - {out: s, op: aten.matmul.default, args: [qf, kt]}\n" SOFTMAX("s")
      "  - {out: o, op: aten.matmul.default, args: [w, kf]}\n"
      "  - {out: h, op: aten._to_copy.default, args: [o], kwargs: {dtype: "
      "float16}}\n"
      "  - {out: y, op: aten.transpose.int, args: [h, 1, 2]}\n"
      "outputs: [y]\n",
      "y: float16[1, 3, 2, 8] = etx::attention.out(q, k, k, None, None, "
      "[0, 2, 1, 3], [0, 1, 2, 3], [0, 1, 2, 3], [0, 2, 1, 3], 1, -inf, "
      "False, False)\n"
      "return y\n");
}

#define CACHES(type) \
  "inputs: [{name: q, type: 'float32[1, 2, 3, 8]'}, {name: k, type: '" type \
  "[1, 1, 5, 8]'}, {name: v, type: '" type                                 \
  "[1, 1, 5, 8]'}]\n"                                                      \
  "nodes:\n"                                                               \
  "  - {out: kf, op: aten._to_copy.default, args: [k], kwargs: {dtype: "    \
  "float32}}\n"                                                            \
  "  - {out: vf, op: aten._to_copy.default, args: [v], kwargs: {dtype: "    \
  "float32}}\n"                                                            \
  "  - {out: k5, op: aten.unsqueeze.default, args: [kf, 2]}\n"              \
  "  - {out: ke, op: aten.expand.default, args: [k5, [1, 1, 2, 5, 8]]}\n"   \
  "  - {out: kh, op: aten.view.default, args: [ke, [1, 2, 5, 8]]}\n"        \
  "  - {out: v5, op: aten.unsqueeze.default, args: [vf, 2]}\n"              \
  "  - {out: ve, op: aten.expand.default, args: [v5, [1, 1, 2, 5, 8]]}\n"   \
  "  - {out: vh, op: aten.view.default, args: [ve, [1, 2, 5, 8]]}\n"        \
  "  - {out: kt, op: aten.transpose.int, args: [kh, 2, 3]}\n"               \
  "  - {out: s, op: aten.matmul.default, args: [q, kt]}\n" SOFTMAX("s")     \
  "  - {out: y, op: aten.matmul.default, args: [w, vh]}\n"                  \
  "outputs: [y]\n"

// A cache of halves beside queries of float32.
static void caches_of_halves_are_read_as_stored(void** state) {
  (void)state;
  static const char* const graphs[] = {CACHES("float16"), CACHES("bfloat16")};
  for (size_t i = 0; i < 2; ++i) {
    expect(graphs[i],
           "y.3.3.1: float32[1, 2, 3, 8] = etx::attention.out(q, k, v, None, "
           "None, "
           "[0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3], 1, -inf, "
           "False, False)\n"
           "return y.3.3.1\n");
  }
}

// PyTorch's own function gives zeros where a row has no key.
static void the_guard_of_safe_softmax_is_fused(void** state) {
  (void)state;
  expect(HEADS
         "  - {out: o, op: aten.scaled_dot_product_attention.default, args: "
         "[qh, kh, vh, b]}\n"
         "  - {out: t, op: aten.transpose.int, args: [o, 1, 2]}\n"
         "  - {out: y, op: aten.reshape.default, args: [t, [2, 3, 8]]}\n"
         "outputs: [y]\n",
         FOUND(CALL("b, None", "0.5, -inf, False, True")));
}

static void grouped_heads_read_keys_once(void** state) {
  (void)state;
  expect("inputs: [{name: q, type: 'float32[2, 4, 3, 8]'}, {name: k, type: "
         "'float32[2, 2, 5, 8]'}, {name: v, type: 'float32[2, 2, 5, 8]'}]\n"
         "nodes:\n"
         "  - {out: k5, op: aten.unsqueeze.default, args: [k, 2]}\n"
         "  - {out: ke, op: aten.expand.default, args: [k5, [2, 2, 2, 5, 8]]}\n"
         "  - {out: kr, op: aten.reshape.default, args: [ke, [2, 4, 5, 8]]}\n"
         "  - {out: v5, op: aten.unsqueeze.default, args: [v, 2]}\n"
         "  - {out: ve, op: aten.expand.default, args: [v5, [2, 2, 2, 5, 8]]}\n"
         "  - {out: vh, op: aten.reshape.default, args: [ve, [2, 4, 5, 8]]}\n"
         "  - {out: kt, op: aten.transpose.int, args: [kr, 2, 3]}\n"
         "  - {out: s, op: aten.matmul.default, args: [q, kt]}\n" SOFTMAX("s")
         "  - {out: y, op: aten.matmul.default, args: [w, vh]}\n"
         "outputs: [y]\n",
         "y.3.3.1: float32[2, 4, 3, 8] = etx::attention.out(q, k, v, None, None, "
         "[0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3], 1, -inf, "
         "False, False)\n"
         "return y.3.3.1\n");
}

// There are as many results as queries, one for each batch of keys.
static void expanded_queries_stay_expanded(void** state) {
  (void)state;
  expect("inputs: [{name: q, type: 'float32[1, 4, 3, 8]'}, {name: k, type: "
         "'float32[2, 4, 5, 8]'}]\n"
         "nodes:\n"
         "  - {out: qe, op: aten.expand.default, args: [q, [2, 4, 3, 8]]}\n"
         "  - {out: kt, op: aten.transpose.int, args: [k, 2, 3]}\n"
         "  - {out: s, op: aten.matmul.default, args: [qe, kt]}\n" SOFTMAX("s")
         "  - {out: y, op: aten.matmul.default, args: [w, k]}\n"
         "outputs: [y]\n",
         "qe: float32[2, 4, 3, 8] = aten::expand_copy.out(q, [2, 4, 3, 8], "
         "False)\n"
         "y.3.2: float32[2, 4, 3, 8] = etx::attention.out(qe, k, k, None, None, "
         "[0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3], 1, -inf, "
         "False, False)\n"
         "return y.3.2\n");
}

// Another node reads the weights or the scores, or keys are hidden twice; keys
// of two heads serve four, which have values of their own; a tensor scales what
// is masked, or each key; what has a least value is masked.
static void other_patterns_are_reported(void** state) {
  (void)state;
  static const char* const graphs[] = {
      "inputs: [{name: q, type: 'float32[2, 4, 3, 8]'}, {name: k, type: "
      "'float32[2, 2, 5, 8]'}, {name: v, type: 'float32[2, 4, 5, 8]'}]\n"
      "nodes:\n"
      "  - {out: k5, op: aten.unsqueeze.default, args: [k, 2]}\n"
      "  - {out: ke, op: aten.expand.default, args: [k5, [2, 2, 2, 5, 8]]}\n"
      "  - {out: kr, op: aten.reshape.default, args: [ke, [2, 4, 5, 8]]}\n"
      "  - {out: kt, op: aten.transpose.int, args: [kr, 2, 3]}\n"
      "  - {out: s, op: aten.matmul.default, args: [q, kt]}\n" SOFTMAX("s")
      "  - {out: y, op: aten.matmul.default, args: [w, v]}\n"
      "outputs: [y]\n",
      HEADS SCORES SOFTMAX("s")
      "  - {out: y, op: aten.matmul.default, args: [w, vh]}\n"
      "outputs: [y, w]\n",
      HEADS SCORES SOFTMAX("s")
      "  - {out: y, op: aten.matmul.default, args: [w, vh]}\n"
      "outputs: [y, s]\n",
      HEADS SCORES
      "  - {out: a, op: aten.masked_fill.Scalar, args: [s, b, -.inf]}\n"
      "  - {out: e, op: aten.masked_fill.Scalar, args: [a, b, -.inf]}\n" SOFTMAX("e")
      "  - {out: y, op: aten.matmul.default, args: [w, vh]}\n"
      "outputs: [y]\n",
      HEADS SCORES
      "  - {out: d, op: aten.sigmoid.default, args: [s]}\n" SOFTMAX("d")
      "  - {out: y, op: aten.matmul.default, args: [w, vh]}\n"
      "outputs: [y]\n",
      HEADS SCORES
      "  - {out: a, op: aten.add.Tensor, args: [s, m]}\n"
      "  - {out: d, op: aten.tanh.default, args: [a]}\n" SOFTMAX("d")
      "  - {out: y, op: aten.matmul.default, args: [w, vh]}\n"
      "outputs: [y]\n",
      HEADS SCORES
      "  - {out: a, op: aten.tanh.default, args: [s]}\n"
      "  - {out: d, op: aten.tanh.default, args: [a]}\n" SOFTMAX("d")
      "  - {out: y, op: aten.matmul.default, args: [w, vh]}\n"
      "outputs: [y]\n",
      HEADS SCORES
      "  - {out: a, op: aten.masked_fill.Scalar, args: [s, b, -10.0]}\n"
      "  - {out: d, op: aten.mul.Tensor, args: [a, -2.0]}\n" SOFTMAX("d")
      "  - {out: y, op: aten.matmul.default, args: [w, vh]}\n"
      "outputs: [y]\n",
      HEADS SCORES
      "  - {out: a, op: aten.add.Tensor, args: [s, m]}\n"
      "  - {out: d, op: aten.mul.Tensor, args: [a, hs]}\n" SOFTMAX("d")
      "  - {out: y, op: aten.matmul.default, args: [w, vh]}\n"
      "outputs: [y]\n",
      HEADS SCORES
      "  - {out: d, op: aten.mul.Tensor, args: [s, n]}\n" SOFTMAX("d")
      "  - {out: y, op: aten.matmul.default, args: [w, vh]}\n"
      "outputs: [y]\n",
      HEADS SCORES LEAST
      "  - {out: x, op: aten.maximum.default, args: [s, l]}\n"
      "  - {out: a, op: aten.add.Tensor, args: [x, m]}\n" SOFTMAX("a")
      "  - {out: y, op: aten.matmul.default, args: [w, vh]}\n"
      "outputs: [y]\n",
      HEADS SCORES
      "  - {out: w, op: aten.softmax.int, args: [s, 2]}\n"
      "  - {out: y, op: aten.matmul.default, args: [w, vh]}\n"
      "outputs: [y]\n",
  };
  // The last graph is not attention at all.
  const size_t last = sizeof graphs / sizeof *graphs - 1;
  for (size_t i = 0; i <= last; ++i) {
    lowered l;
    lowered_open(&l, ETX_TARGET_ETX, graphs[i]);
    lowered_run(&l, PASSES);
    const char* const lines = lowered_lines(&l);
    assert_null(strstr(lines, "attention"));
    assert_non_null(strstr(lines, "_softmax"));
    assert_int_equal(l.context.fusions.count, i == last ? 0 : 1);
    if (i < last) assert_non_null(l.context.fusions.items[0].reason);
    lowered_close(&l);
  }
}

static void executorch_has_no_such_operator(void** state) {
  (void)state;
  lowered l;
  lowered_open(&l, ETX_TARGET_EXECUTORCH, HEADS SCORES SOFTMAX("s") JOINED);
  lowered_run(&l, PASSES);
  assert_null(strstr(lowered_lines(&l), "etx::"));
  lowered_close(&l);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(transposes_of_heads_are_fused),
      cmocka_unit_test(constant_factors_are_one_scale),
      cmocka_unit_test(tanh_capped_scores_are_fused),
      cmocka_unit_test(a_scale_per_head_scales_queries),
      cmocka_unit_test(halves_are_fused),
      cmocka_unit_test(casts_of_halves_around_attention_are_removed),
      cmocka_unit_test(caches_of_halves_are_read_as_stored),
      cmocka_unit_test(the_guard_of_safe_softmax_is_fused),
      cmocka_unit_test(grouped_heads_read_keys_once),
      cmocka_unit_test(expanded_queries_stay_expanded),
      cmocka_unit_test(other_patterns_are_reported),
      cmocka_unit_test(executorch_has_no_such_operator),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
