// Matrix products with transposed operands, as core ATen has them.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/exporter/lowered.h"

static const char addmm_of_rows[] =
    "dims: {s: {min: 1, max: 8}}\n"
    "inputs: [{name: x, type: 'float32[1, s, 4]'}]\n"
    "buffers: [{name: w, type: 'float32[3, 4]', init: 1}, {name: b, type: "
    "'float32[3]', init: 1}]\n"
    "nodes:\n"
    "  - {out: v, op: aten.view.default, args: [x, [{sym: s}, 4]]}\n"
    "  - {out: t, op: aten.permute.default, args: [w, [1, 0]]}\n"
    "  - {out: m, op: aten.addmm.default, args: [b, v, t]}\n"
    "  - {out: y, op: aten.view.default, args: [m, [1, {sym: s}, 3]]}\n"
    "outputs: [y]\n";

static void addmm_with_a_transposed_weight_is_linear(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_ETX, "lower fold_matmul_transposes simplify",
                 addmm_of_rows,
                 "y: float32[1, s, 3] = aten::linear.out(x, w, b)\n"
                 "return y\n");
}

static void executorch_keeps_addmm(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_EXECUTORCH, "lower fold_matmul_transposes simplify",
                 addmm_of_rows,
                 "v: float32[s, 4] = aten::view_copy.out(x, [s, 4])\n"
                 "t: float32[4, 3] = aten::permute_copy.out(w, [1, 0])\n"
                 "m: float32[s, 3] = aten::addmm.out(b, v, t, 1, 1)\n"
                 "y: float32[1, s, 3] = aten::view_copy.out(m, [1, s, 3])\n"
                 "return y\n");
}

static void mm_with_a_transposed_weight_is_linear(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower fold_matmul_transposes simplify",
      "inputs: [{name: x, type: 'float32[2, 4]'}]\n"
      "buffers: [{name: w, type: 'float32[3, 4]', init: 1}, {name: b, type: "
      "'float32[3]', init: 1}]\n"
      "nodes:\n"
      "  - {out: t, op: aten.t.default, args: [w]}\n"
      "  - {out: y, op: aten.mm.default, args: [x, t]}\n"
      "outputs: [y]\n",
      "y: float32[2, 3] = aten::linear.out(x, w, None)\n"
      "return y\n");
}

static void scaled_addmm_is_left_alone(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower fold_matmul_transposes simplify",
      "inputs: [{name: x, type: 'float32[2, 4]'}]\n"
      "buffers: [{name: w, type: 'float32[3, 4]', init: 1}, {name: b, type: "
      "'float32[3]', init: 1}]\n"
      "nodes:\n"
      "  - {out: t, op: aten.permute.default, args: [w, [1, 0]]}\n"
      "  - {out: y, op: aten.addmm.default, args: [b, x, t], kwargs: {beta: "
      "2}}\n"
      "outputs: [y]\n",
      "t: float32[4, 3] = aten::permute_copy.out(w, [1, 0])\n"
      "y: float32[2, 3] = aten::addmm.out(b, x, t, 2, 1)\n"
      "return y\n");
}

static void transposed_keys_are_bmm_nt(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower fold_matmul_transposes simplify",
      "inputs: [{name: q, type: 'float32[4, 2, 8]'}, {name: k, type: "
      "'float32[4, 6, 8]'}]\n"
      "nodes:\n"
      "  - {out: t, op: aten.transpose.int, args: [k, 1, 2]}\n"
      "  - {out: y, op: aten.bmm.default, args: [q, t]}\n"
      "outputs: [y]\n",
      "y: float32[4, 2, 6] = etx::bmm_nt.out(q, k)\n"
      "return y\n");
}

static void executorch_exchanges_operands_for_one_query(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_EXECUTORCH, "lower fold_matmul_transposes simplify",
      "inputs: [{name: q, type: 'float32[4, 1, 8]'}, {name: k, type: "
      "'float32[4, 6, 8]'}]\n"
      "nodes:\n"
      "  - {out: t, op: aten.transpose.int, args: [k, 1, 2]}\n"
      "  - {out: y, op: aten.bmm.default, args: [q, t]}\n"
      "outputs: [y]\n",
      "y.1: float32[4, 8, 1] = aten::view_copy.out(q, [4, 8, 1])\n"
      "y.2: float32[4, 6, 1] = aten::bmm.out(k, y.1)\n"
      "y: float32[4, 1, 6] = aten::view_copy.out(y.2, [4, 1, 6])\n"
      "return y\n");
}

static void executorch_exchanges_operands_for_few_queries(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_EXECUTORCH, "lower fold_matmul_transposes simplify",
      "inputs: [{name: q, type: 'float32[4, 2, 8]'}, {name: k, type: "
      "'float32[4, 6, 8]'}]\n"
      "nodes:\n"
      "  - {out: t, op: aten.transpose.int, args: [k, 1, 2]}\n"
      "  - {out: y, op: aten.bmm.default, args: [q, t]}\n"
      "outputs: [y]\n",
      "y.1: float32[4, 8, 2] = aten::permute_copy.out(q, [0, 2, 1])\n"
      "y.2: float32[4, 6, 2] = aten::bmm.out(k, y.1)\n"
      "y: float32[4, 2, 6] = aten::permute_copy.out(y.2, [0, 2, 1])\n"
      "return y\n");
}

static void executorch_keeps_many_queries(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_EXECUTORCH, "lower fold_matmul_transposes simplify",
      "inputs: [{name: q, type: 'float32[4, 4, 8]'}, {name: k, type: "
      "'float32[4, 6, 8]'}]\n"
      "nodes:\n"
      "  - {out: t, op: aten.transpose.int, args: [k, 1, 2]}\n"
      "  - {out: y, op: aten.bmm.default, args: [q, t]}\n"
      "outputs: [y]\n",
      "t: float32[4, 8, 6] = aten::permute_copy.out(k, [0, 2, 1])\n"
      "y: float32[4, 4, 6] = aten::bmm.out(q, t)\n"
      "return y\n");
}

static void batched_transposed_keys_are_bmm_nt(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower fold_matmul_transposes simplify",
      "dims: {s: {min: 1, max: 8}}\n"
      "inputs: [{name: q, type: 'float32[2, 3, s, 8]'}, {name: k, type: "
      "'float32[2, s, 3, 8]'}]\n"
      "nodes:\n"
      "  - {out: h, op: aten.permute.default, args: [k, [0, 2, 3, 1]]}\n"
      "  - {out: y, op: aten.matmul.default, args: [q, h]}\n"
      "outputs: [y]\n",
      "y.1: float32[6, s, 8] = aten::view_copy.out(q, [6, s, 8])\n"
      "y.3.1: float32[2, 3, s, 8] = aten::permute_copy.out(k, [0, 2, 1, 3])\n"
      "y.3.2: float32[6, s, 8] = aten::view_copy.out(y.3.1, [6, s, 8])\n"
      "y.3: float32[6, s, s] = etx::bmm_nt.out(y.1, y.3.2)\n"
      "y: float32[2, 3, s, s] = aten::view_copy.out(y.3, [2, 3, s, s])\n"
      "return y\n");
}

static void a_factor_of_the_keys_moves_to_the_queries(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower fold_matmul_transposes simplify",
      "inputs: [{name: q, type: 'float32[1, 4, 2, 8]'}, {name: k, type: "
      "'float32[1, 4, 6, 8]'}]\n"
      "nodes:\n"
      "  - {out: t, op: aten.permute.default, args: [k, [0, 1, 3, 2]]}\n"
      "  - {out: f, op: aten.mul.Scalar, args: [t, 0.5]}\n"
      "  - {out: e, op: aten.expand.default, args: [f, [1, 4, 8, 6]]}\n"
      "  - {out: v, op: aten.view.default, args: [e, [4, 8, 6]]}\n"
      "  - {out: u, op: aten.view.default, args: [q, [4, 2, 8]]}\n"
      "  - {out: y, op: aten.bmm.default, args: [u, v]}\n"
      "outputs: [y]\n",
      "u: float32[4, 2, 8] = aten::view_copy.out(q, [4, 2, 8])\n"
      "y.1: float32[4, 6, 8] = aten::view_copy.out(k, [4, 6, 8])\n"
      "y.2: float32[4, 2, 8] = aten::mul.out(u, 0.5:float32)\n"
      "y: float32[4, 2, 6] = etx::bmm_nt.out(y.2, y.1)\n"
      "return y\n");
}

static void a_permute_of_other_dimensions_is_left_alone(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower fold_matmul_transposes simplify",
      "inputs: [{name: q, type: 'float32[4, 2, 8]'}, {name: k, type: "
      "'float32[8, 4, 6]'}]\n"
      "nodes:\n"
      "  - {out: t, op: aten.permute.default, args: [k, [1, 0, 2]]}\n"
      "  - {out: y, op: aten.bmm.default, args: [q, t]}\n"
      "outputs: [y]\n",
      "t: float32[4, 8, 6] = aten::permute_copy.out(k, [1, 0, 2])\n"
      "y: float32[4, 2, 6] = aten::bmm.out(q, t)\n"
      "return y\n");
}

// Folding stores the constant the other way round.
static void mm_with_a_constant_is_linear(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower fold_matmul_transposes",
      "inputs: [{name: x, type: 'float32[5, 4]'}, {name: v, type: "
      "'float32[4, 6]'}]\n"
      "buffers: [{name: w, type: 'float32[4, 6]', init: 1}, {name: b, type: "
      "'float32[6]', init: 2}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.addmm.default, args: [b, x, w]}\n"
      "  - {out: z, op: aten.mm.default, args: [x, v]}\n"
      "outputs: [y, z]\n",
      "y.1: float32[6, 4] = aten::permute_copy.out(w, [1, 0])\n"
      "y: float32[5, 6] = aten::linear.out(x, y.1, b)\n"
      "z: float32[5, 6] = aten::mm.out(x, v)\n"
      "return y\n"
      "return z\n");
}

// With one batch, both forms of an einsum become this.
static void einsum_with_a_weight_is_linear(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower fold_matmul_transposes fold_constants simplify",
      "inputs: [{name: x, type: 'float32[2, 5, 4]'}]\n"
      "buffers: [{name: w, type: 'float32[3, 4]', init: 1}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.einsum.default, args: [{str: 'bti,oi->bto'}, [x, "
      "w]]}\n"
      "outputs: [y]\n",
      "y.4.1: float32[10, 4] = aten::view_copy.out(x, [10, 4])\n"
      "y.4.4: float32[10, 3] = aten::linear.out(y.4.1, const float32[3, 4], "
      "None)\n"
      "y: float32[2, 5, 3] = aten::view_copy.out(y.4.4, [2, 5, 3])\n"
      "return y\n");
  expect_lowered(
      ETX_TARGET_ETX, "lower fold_matmul_transposes fold_constants simplify",
      "inputs: [{name: x, type: 'float32[2, 4]'}]\n"
      "buffers: [{name: w, type: 'float32[3, 4]', init: 1}]\n"
      "nodes:\n"
      "  - {out: a, op: aten.unsqueeze.default, args: [x, 2]}\n"
      "  - {out: b, op: aten.permute.default, args: [a, [0, 2, 1]]}\n"
      "  - {out: c, op: aten.permute.default, args: [b, [0, 2, 1]]}\n"
      "  - {out: d, op: aten.view.default, args: [c, [1, 2, 4]]}\n"
      "  - {out: e, op: aten.unsqueeze.default, args: [w, 2]}\n"
      "  - {out: f, op: aten.permute.default, args: [e, [1, 2, 0]]}\n"
      "  - {out: g, op: aten.view.default, args: [f, [1, 4, 3]]}\n"
      "  - {out: h, op: aten.bmm.default, args: [d, g]}\n"
      "  - {out: y, op: aten.view.default, args: [h, [2, 3]]}\n"
      "outputs: [y]\n",
      "h.4: float32[2, 3] = aten::linear.out(x, const float32[3, 4], None)\n"
      "return h.4\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(mm_with_a_constant_is_linear),
      cmocka_unit_test(addmm_with_a_transposed_weight_is_linear),
      cmocka_unit_test(executorch_keeps_addmm),
      cmocka_unit_test(mm_with_a_transposed_weight_is_linear),
      cmocka_unit_test(einsum_with_a_weight_is_linear),
      cmocka_unit_test(scaled_addmm_is_left_alone),
      cmocka_unit_test(transposed_keys_are_bmm_nt),
      cmocka_unit_test(executorch_exchanges_operands_for_one_query),
      cmocka_unit_test(executorch_exchanges_operands_for_few_queries),
      cmocka_unit_test(executorch_keeps_many_queries),
      cmocka_unit_test(batched_transposed_keys_are_bmm_nt),
      cmocka_unit_test(a_factor_of_the_keys_moves_to_the_queries),
      cmocka_unit_test(a_permute_of_other_dimensions_is_left_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
