// Elementwise chains, and epilogues of linear layers and convolutions.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "tests/exporter/lowered.h"

#define PASSES                                                           \
  "lower fold_constants simplify fuse_elementwise fuse_linear_epilogue " \
  "fuse_convolution_epilogue"

#define INPUTS                                                           \
  "inputs: [{name: a, type: 'float32[2, 3]'}, {name: b, type: "          \
  "'float32[2, 3]'}, {name: r, type: 'float32[3]'}, {name: c, type: "    \
  "'float32[2, 1]'}, {name: w, type: 'float32[3, 3]'}, {name: i, type: " \
  "'int64[2, 3]'}]\n"                                                    \
  "nodes:\n"

static void expect(const char* yaml, const char* wanted) {
  expect_lowered(ETX_TARGET_ETX, PASSES, yaml, wanted);
}

static void consecutive_operators_are_fused(void** state) {
  (void)state;
  expect(INPUTS
         "  - {out: s, op: aten.silu.default, args: [a]}\n"
         "  - {out: m, op: aten.mul.Tensor, args: [s, b]}\n"
         "  - {out: p, op: aten.add.Tensor, args: [m, r]}\n"
         "  - {out: y, op: aten.mul.Tensor, args: [p, 2.0]}\n"
         "outputs: [y]\n",
         "y: float32[2, 3] = etx::chain.out(a, [b, r, 2.0:float32], "
         "'x silu 0 multiply 1 add 2 multiply')\n"
         "return y\n");
}

static void both_operands_may_be_chains(void** state) {
  (void)state;
  expect(INPUTS
         "  - {out: s, op: aten.mul.Tensor, args: [a, r]}\n"
         "  - {out: t, op: aten.mul.Tensor, args: [b, r]}\n"
         "  - {out: y, op: aten.sub.Tensor, args: [t, s]}\n"
         "outputs: [y]\n",
         "y: float32[2, 3] = etx::chain.out(b, [r, a], "
         "'x 0 multiply 1 0 multiply subtract')\n"
         "return y\n");
}

static void squares_and_cubes_are_multiplications(void** state) {
  (void)state;
  expect(INPUTS
         "  - {out: s, op: aten.pow.Tensor_Scalar, args: [a, 3]}\n"
         "  - {out: y, op: aten.mul.Tensor, args: [s, b]}\n"
         "outputs: [y]\n",
         "y: float32[2, 3] = etx::chain.out(a, [b], "
         "'x x multiply x multiply 0 multiply')\n"
         "return y\n");
}

static void parameters_become_operands(void** state) {
  (void)state;
  static const struct {
    const char *node, *wanted;
  } cases[] = {
      {"aten.clamp.default, args: [s, -1, null]",
       "[-1.0:float32, .inf:float32], 'x neg 0 1 clamp')\n"},
      {"aten.hardtanh.default, args: [s, 0.0, 6.0]", "[], 'x neg relu6')\n"},
      {"aten.leaky_relu.default, args: [s, 0.5]",
       "[0.5:float32, 0.0:float32], 'x neg 0 1 leaky_relu')\n"},
      {"aten.softplus.default, args: [s, 2, 5]",
       "[2.0:float32, 5.0:float32], 'x neg 0 1 softplus')\n"},
      {"aten.elu.default, args: [s, 0.5, 3, 1]",
       "[3.0:float32, 1.5:float32, 1.0:float32], 'x neg 0 1 2 elu')\n"},
      {"aten.prelu.default, args: [s, r]", "[r], 'x neg 0 prelu')\n"},
      {"aten.log_sigmoid.default, args: [s]", "[], 'x neg log_sigmoid')\n"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    char yaml[1024], wanted[256];
    snprintf(yaml, sizeof yaml,
             INPUTS
             "  - {out: s, op: aten.neg.default, args: [a]}\n"
             "  - {out: y, op: %s}\n"
             "outputs: [y]\n",
             cases[i].node);
    snprintf(wanted, sizeof wanted,
             "y: float32[2, 3] = etx::chain.out(a, %sreturn y\n",
             cases[i].wanted);
    expect(yaml, wanted);
  }
}

// Its weight runs along dimension 1, which is not that of rows here.
static void prelu_of_images_is_left_alone(void** state) {
  (void)state;
  lowered l;
  lowered_open(&l, ETX_TARGET_ETX,
               "inputs: [{name: a, type: 'float32[2, 3, 3]'}, {name: r, type: "
               "'float32[3]'}]\n"
               "nodes:\n"
               "  - {out: s, op: aten.neg.default, args: [a]}\n"
               "  - {out: y, op: aten.prelu.default, args: [s, r]}\n"
               "outputs: [y]\n");
  lowered_run(&l, PASSES);
  assert_null(strstr(lowered_lines(&l), "chain"));
  lowered_close(&l);
}

static void where_is_fused_with_its_comparison(void** state) {
  (void)state;
  static const struct {
    const char *test, *wanted;
  } cases[] = {
      {"gt.Scalar, args: [a, 0.5]",
       "a, [0.5:float32, b], '0 x less x 1 select')"},
      {"le.Tensor, args: [a, b]", "a, [b], 'x 0 less_equal x 0 select')"},
      {"ge.Tensor, args: [a, b]", "b, [a], 'x 0 less_equal 0 x select')"},
      {"ne.Scalar, args: [a, 2]",
       "a, [2.0:float32, b], 'x 0 equal 1 x select')"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    char yaml[1024], wanted[256];
    snprintf(yaml, sizeof yaml,
             INPUTS
             "  - {out: t, op: aten.%s}\n"
             "  - {out: y, op: aten.where.self, args: [t, a, b]}\n"
             "outputs: [y]\n",
             cases[i].test);
    snprintf(wanted, sizeof wanted,
             "y: float32[2, 3] = etx::chain.out(%s\nreturn y\n",
             cases[i].wanted);
    expect(yaml, wanted);
  }
}

// Operators in the form of core ATen.
static void idioms_are_one_step(void** state) {
  (void)state;
  expect(INPUTS
         "  - {out: t, op: aten.add.Tensor, args: [a, 3]}\n"
         "  - {out: k, op: aten.clamp.default, args: [t, 0]}\n"
         "  - {out: d, op: aten.clamp.default, args: [k, null, 6]}\n"
         "  - {out: m, op: aten.mul.Tensor, args: [a, d]}\n"
         "  - {out: y, op: aten.div.Tensor, args: [m, 6]}\n"
         "outputs: [y]\n",
         "y: float32[2, 3] = etx::chain.out(a, [], 'x hardswish')\n"
         "return y\n");
  expect(INPUTS
         "  - {out: e, op: aten.exp.default, args: [a]}\n"
         "  - {out: l, op: aten.log1p.default, args: [e]}\n"
         "  - {out: t, op: aten.gt.Scalar, args: [a, 20]}\n"
         "  - {out: f, op: aten.where.self, args: [t, a, l]}\n"
         "  - {out: h, op: aten.tanh.default, args: [f]}\n"
         "  - {out: m, op: aten.mul.Tensor, args: [a, h]}\n"
         "  - {out: y, op: aten.add.Tensor, args: [m, b]}\n"
         "outputs: [y]\n",
         "y: float32[2, 3] = etx::chain.out(a, [b], 'x mish 0 add')\n"
         "return y\n");
  expect(INPUTS
         "  - {out: h, op: aten.mul.Tensor, args: [a, 0.5]}\n"
         "  - {out: p, op: aten.pow.Tensor_Scalar, args: [a, 3.0]}\n"
         "  - {out: q, op: aten.mul.Tensor, args: [p, 0.044715]}\n"
         "  - {out: s, op: aten.add.Tensor, args: [a, q]}\n"
         "  - {out: m, op: aten.mul.Tensor, args: [s, 0.7978845608028654]}\n"
         "  - {out: t, op: aten.tanh.default, args: [m]}\n"
         "  - {out: o, op: aten.add.Tensor, args: [t, 1.0]}\n"
         "  - {out: y, op: aten.mul.Tensor, args: [h, o]}\n"
         "outputs: [y]\n",
         "y: float32[2, 3] = etx::chain.out(a, [], 'x gelu_tanh')\n"
         "return y\n");
  expect(INPUTS
         "  - {out: t, op: aten.add.Tensor, args: [a, 2]}\n"
         "  - {out: d, op: aten.hardtanh.default, args: [t, 0.0, 6.0]}\n"
         "  - {out: y, op: aten.div.Tensor, args: [d, 6]}\n"
         "outputs: [y]\n",
         "y: float32[2, 3] = etx::chain.out(a, [2.0:float32, 6.0:float32], "
         "'x 0 add relu6 1 divide')\n"
         "return y\n");
}

static void values_with_two_uses_are_not_inlined(void** state) {
  (void)state;
  expect(INPUTS
         "  - {out: s, op: aten.exp.default, args: [a]}\n"
         "  - {out: t, op: aten.neg.default, args: [s]}\n"
         "  - {out: y, op: aten.mul.Tensor, args: [t, s]}\n"
         "outputs: [y]\n",
         "s: float32[2, 3] = aten::exp.out(a)\n"
         "y: float32[2, 3] = etx::chain.out(s, [], 'x neg x multiply')\n"
         "return y\n");
}

// Another broadcast, another type, other sizes, another factor: left alone.
static void other_operators_are_left_alone(void** state) {
  (void)state;
  static const char* const graphs[] = {
      INPUTS
      "  - {out: s, op: aten.exp.default, args: [a]}\n"
      "  - {out: y, op: aten.mul.Tensor, args: [s, c]}\n"
      "outputs: [y]\n",
      INPUTS
      "  - {out: s, op: aten.neg.default, args: [i]}\n"
      "  - {out: y, op: aten.mul.Tensor, args: [s, i]}\n"
      "outputs: [y]\n",
      INPUTS
      "  - {out: s, op: aten.exp.default, args: [r]}\n"
      "  - {out: y, op: aten.mul.Tensor, args: [s, a]}\n"
      "outputs: [y]\n",
      INPUTS
      "  - {out: s, op: aten.exp.default, args: [a]}\n"
      "  - {out: y, op: aten.add.Tensor, args: [s, b], kwargs: {alpha: 2}}\n"
      "outputs: [y]\n",
      INPUTS
      "  - {out: s, op: aten.exp.default, args: [a]}\n"
      "  - {out: y, op: aten.neg.default, args: [s]}\n"
      "outputs: [y, s]\n",
  };
  for (size_t i = 0; i < sizeof graphs / sizeof *graphs; ++i) {
    lowered l;
    lowered_open(&l, ETX_TARGET_ETX, graphs[i]);
    lowered_run(&l, PASSES);
    assert_null(strstr(lowered_lines(&l), "chain"));
    lowered_close(&l);
  }
}

// More steps than a chain holds make two.
static void long_chains_are_split(void** state) {
  (void)state;
  char yaml[4096] = INPUTS "  - {out: v0, op: aten.exp.default, args: [a]}\n";
  for (int i = 1; i < 60; ++i) {
    char line[96];
    snprintf(line, sizeof line,
             "  - {out: v%d, op: aten.%s.default, args: [v%d]}\n", i,
             i % 2 == 0 ? "exp" : "neg", i - 1);
    strcat(yaml, line);
  }
  strcat(yaml, "outputs: [v59]\n");
  lowered l;
  lowered_open(&l, ETX_TARGET_ETX, yaml);
  lowered_run(&l, PASSES);
  size_t count = 0;
  for (const char* at = lowered_lines(&l); (at = strstr(at, "out(")); ++at) {
    ++count;
  }
  assert_int_equal(count, 2);
  lowered_close(&l);
}

static void linear_epilogues_are_fused(void** state) {
  (void)state;
  expect(INPUTS
         "  - {out: l, op: aten.linear.default, args: [a, w, r]}\n"
         "  - {out: s, op: aten.gelu.default, args: [l]}\n"
         "  - {out: y, op: aten.add.Tensor, args: [b, s]}\n"
         "outputs: [y]\n",
         "y: float32[2, 3] = etx::linear_chain.out(a, w, r, [b], "
         "'0 x gelu add')\n"
         "return y\n");
}

static void of_two_layers_the_later_one_gets_the_epilogue(void** state) {
  (void)state;
  expect(INPUTS
         "  - {out: l, op: aten.linear.default, args: [a, w]}\n"
         "  - {out: k, op: aten.linear.default, args: [b, w]}\n"
         "  - {out: s, op: aten.silu.default, args: [l]}\n"
         "  - {out: y, op: aten.mul.Tensor, args: [s, k]}\n"
         "outputs: [y]\n",
         "l: float32[2, 3] = aten::linear.out(a, w, None)\n"
         "y: float32[2, 3] = etx::linear_chain.out(b, w, None, [l], "
         "'0 silu x multiply')\n"
         "return y\n");
}

#define IMAGES                                                              \
  "inputs: [{name: x, type: 'float32[1, 2, 5, 5]'}, {name: r, type: "       \
  "'float32[1, 2, 3, 3]'}, {name: w, type: 'float32[2, 2, 3, 3]'}, {name: " \
  "b, type: 'float32[2]'}, {name: l, type: 'float32[3]'}]\n"                \
  "nodes:\n"                                                                \
  "  - {out: c, op: aten.convolution.default, args: [x, w, b, [1, 1], "     \
  "[0, 0], [1, 1], false, [0, 0], 1]}\n"

static void convolution_epilogues_are_fused(void** state) {
  (void)state;
  expect(IMAGES
         "  - {out: s, op: aten.add.Tensor, args: [c, r]}\n"
         "  - {out: y, op: aten.relu.default, args: [s]}\n"
         "outputs: [y]\n",
         "y: float32[1, 2, 3, 3] = etx::convolution_chain.out(x, w, b, [1, "
         "1], [0, 0], [1, 1], False, [0, 0], 1, [r], 'x 0 add relu')\n"
         "return y\n");
  expect(IMAGES
         "  - {out: y, op: aten.hardtanh.default, args: [c, 0.0, 6.0]}\n"
         "outputs: [y]\n",
         "y: float32[1, 2, 3, 3] = etx::convolution_chain.out(x, w, b, [1, "
         "1], [0, 0], [1, 1], False, [0, 0], 1, [], 'x relu6')\n"
         "return y\n");
}

static void convolution_epilogues_do_not_broadcast_rows(void** state) {
  (void)state;
  expect(IMAGES
         "  - {out: y, op: aten.add.Tensor, args: [c, l]}\n"
         "outputs: [y]\n",
         "c: float32[1, 2, 3, 3] = aten::convolution.out(x, w, b, [1, 1], "
         "[0, 0], [1, 1], False, [0, 0], 1)\n"
         "y: float32[1, 2, 3, 3] = aten::add.out(c, l, 1)\n"
         "return y\n");
}

static void executorch_keeps_operators_after_convolutions(void** state) {
  (void)state;
  lowered l;
  lowered_open(&l, ETX_TARGET_EXECUTORCH,
               IMAGES
               "  - {out: y, op: aten.relu.default, args: [c]}\n"
               "outputs: [y]\n");
  lowered_run(&l, PASSES);
  assert_null(strstr(lowered_lines(&l), "chain"));
  lowered_close(&l);
}

static void a_layer_with_other_uses_is_left_alone(void** state) {
  (void)state;
  lowered l;
  lowered_open(&l, ETX_TARGET_ETX,
               INPUTS
               "  - {out: l, op: aten.linear.default, args: [a, w]}\n"
               "  - {out: y, op: aten.relu.default, args: [l]}\n"
               "outputs: [y, l]\n");
  lowered_run(&l, PASSES);
  assert_null(strstr(lowered_lines(&l), "chain"));
  lowered_close(&l);
}

static void executorch_has_no_chains(void** state) {
  (void)state;
  lowered l;
  lowered_open(&l, ETX_TARGET_EXECUTORCH,
               INPUTS
               "  - {out: l, op: aten.linear.default, args: [a, w]}\n"
               "  - {out: s, op: aten.relu.default, args: [l]}\n"
               "  - {out: y, op: aten.neg.default, args: [s]}\n"
               "outputs: [y]\n");
  lowered_run(&l, PASSES);
  assert_null(strstr(lowered_lines(&l), "etx::"));
  lowered_close(&l);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(consecutive_operators_are_fused),
      cmocka_unit_test(both_operands_may_be_chains),
      cmocka_unit_test(squares_and_cubes_are_multiplications),
      cmocka_unit_test(parameters_become_operands),
      cmocka_unit_test(prelu_of_images_is_left_alone),
      cmocka_unit_test(where_is_fused_with_its_comparison),
      cmocka_unit_test(idioms_are_one_step),
      cmocka_unit_test(values_with_two_uses_are_not_inlined),
      cmocka_unit_test(other_operators_are_left_alone),
      cmocka_unit_test(long_chains_are_split),
      cmocka_unit_test(linear_epilogues_are_fused),
      cmocka_unit_test(of_two_layers_the_later_one_gets_the_epilogue),
      cmocka_unit_test(convolution_epilogues_are_fused),
      cmocka_unit_test(convolution_epilogues_do_not_broadcast_rows),
      cmocka_unit_test(executorch_keeps_operators_after_convolutions),
      cmocka_unit_test(a_layer_with_other_uses_is_left_alone),
      cmocka_unit_test(executorch_has_no_chains),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
