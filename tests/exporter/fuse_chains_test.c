// Elementwise operators in one pass, and behind a product.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "tests/exporter/lowered.h"

#define PASSES \
  "lower fold_constants simplify fuse_chains fuse_linear fuse_convolution"

#define INPUTS                                                           \
  "inputs: [{name: a, type: 'float32[2, 3]'}, {name: b, type: "          \
  "'float32[2, 3]'}, {name: r, type: 'float32[3]'}, {name: c, type: "    \
  "'float32[2, 1]'}, {name: w, type: 'float32[3, 3]'}, {name: i, type: " \
  "'int64[2, 3]'}]\n"                                                    \
  "nodes:\n"

static void expect(const char* yaml, const char* wanted) {
  expect_lowered(ETX_TARGET_ETX, PASSES, yaml, wanted);
}

static void operators_that_follow_each_other_are_one(void** state) {
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

static void small_powers_are_products(void** state) {
  (void)state;
  expect(INPUTS
         "  - {out: s, op: aten.pow.Tensor_Scalar, args: [a, 3]}\n"
         "  - {out: y, op: aten.mul.Tensor, args: [s, b]}\n"
         "outputs: [y]\n",
         "y: float32[2, 3] = etx::chain.out(a, [b], "
         "'x x multiply x multiply 0 multiply')\n"
         "return y\n");
}

static void what_is_read_twice_is_written_once(void** state) {
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
static void operators_that_are_no_steps_are_left_alone(void** state) {
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
static void long_chains_are_divided(void** state) {
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

static void layers_take_what_follows(void** state) {
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

static void of_two_layers_the_later_one_takes_it(void** state) {
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

static void convolutions_take_what_follows(void** state) {
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

static void convolutions_do_not_take_rows(void** state) {
  (void)state;
  expect(IMAGES
         "  - {out: y, op: aten.add.Tensor, args: [c, l]}\n"
         "outputs: [y]\n",
         "c: float32[1, 2, 3, 3] = aten::convolution.out(x, w, b, [1, 1], "
         "[0, 0], [1, 1], False, [0, 0], 1)\n"
         "y: float32[1, 2, 3, 3] = aten::add.out(c, l, 1)\n"
         "return y\n");
}

static void stock_files_keep_what_follows_convolutions(void** state) {
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

static void a_layer_that_others_read_is_left_alone(void** state) {
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

static void the_stock_runtime_has_no_chains(void** state) {
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
      cmocka_unit_test(operators_that_follow_each_other_are_one),
      cmocka_unit_test(both_operands_may_be_chains),
      cmocka_unit_test(small_powers_are_products),
      cmocka_unit_test(what_is_read_twice_is_written_once),
      cmocka_unit_test(operators_that_are_no_steps_are_left_alone),
      cmocka_unit_test(long_chains_are_divided),
      cmocka_unit_test(layers_take_what_follows),
      cmocka_unit_test(of_two_layers_the_later_one_takes_it),
      cmocka_unit_test(convolutions_take_what_follows),
      cmocka_unit_test(convolutions_do_not_take_rows),
      cmocka_unit_test(stock_files_keep_what_follows_convolutions),
      cmocka_unit_test(a_layer_that_others_read_is_left_alone),
      cmocka_unit_test(the_stock_runtime_has_no_chains),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
