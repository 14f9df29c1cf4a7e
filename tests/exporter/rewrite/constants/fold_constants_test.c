// fold_constants: what is folded, its limits, and what stays.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tests/exporter/lowered.h"

static lowered l;

static void fold(const char* yaml) {
  lowered_open(&l, ETX_TARGET_EXECUTORCH, yaml);
  lowered_run(&l, "lower fold_constants");
}

static void assert_floats(size_t output, const float* wanted, size_t count) {
  const etx_ir_constant* const constant = lowered_constant(&l, output);
  assert_int_equal(constant->dtype, ETX_DTYPE_FLOAT32);
  assert_int_equal(constant->data.size, count * sizeof *wanted);
  assert_memory_equal(constant->data.data, wanted, count * sizeof *wanted);
}

static void a_chain_of_constants_is_one_constant(void** state) {
  (void)state;
  fold(
      "nodes:\n"
      "  - {out: a, op: aten.arange.default, args: [6]}\n"
      "  - {out: f, op: aten._to_copy.default, args: [a], kwargs: {dtype: "
      "float32}}\n"
      "  - {out: v, op: aten.view.default, args: [f, [2, 3]]}\n"
      "  - {out: y, op: aten.t.default, args: [v]}\n"
      "outputs: [y]\n");
  const float wanted[] = {0, 3, 1, 4, 2, 5};
  assert_lines(&l, "return const float32[3, 2]\n");
  assert_floats(0, wanted, 6);
  lowered_close(&l);
}

// The second product would need more work than is left.
static void nodes_beyond_the_budget_stay(void** state) {
  (void)state;
  lowered_open(&l, ETX_TARGET_EXECUTORCH,
               "buffers: [{name: w, type: 'float32[100, 100]', init: 1}]\n"
               "nodes:\n"
               "  - {out: y, op: aten.mm.default, args: [w, w]}\n"
               "  - {out: z, op: aten.mm.default, args: [y, y]}\n"
               "outputs: [z]\n");
  l.options.fold_budget = 1500000;
  lowered_run(&l, "lower fold_constants");
  assert_lines(&l,
               "z: float32[100, 100] = aten::mm.out(const float32[100, 100], "
               "const float32[100, 100])\n"
               "return z\n");
  assert_int_equal(l.context.fusions.count, 1);
  assert_string_equal(l.context.fusions.items[0].kind, "constant");
  assert_true(l.context.folding.work < 1500000);
  lowered_close(&l);
}

static void results_beyond_the_limit_of_bytes_stay(void** state) {
  (void)state;
  lowered_open(&l, ETX_TARGET_EXECUTORCH,
               "buffers: [{name: w, type: 'float32[100, 100]', init: 1}]\n"
               "nodes:\n"
               "  - {out: y, op: aten.neg.default, args: [w]}\n"
               "  - {out: z, op: aten.neg.default, args: [y]}\n"
               "outputs: [z]\n");
  l.context.folding.most_bytes = 60000;
  lowered_run(&l, "lower fold_constants");
  assert_lines(&l,
               "z: float32[100, 100] = aten::neg.out(const float32[100, 100])\n"
               "return z\n");
  lowered_close(&l);
}

static void a_transposed_weight_is_computed_once(void** state) {
  (void)state;
  fold(
      "inputs: [{name: x, type: 'float32[2, 4]'}]\n"
      "buffers: [{name: w, type: 'float32[3, 4]', init: 0.5}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.linear.default, args: [x, w]}\n"
      "  - {out: z, op: aten.linear.default, args: [x, w]}\n"
      "outputs: [y, z]\n");
  assert_lines(&l,
               "y: float32[2, 3] = aten::mm.out(x, const float32[4, 3])\n"
               "z: float32[2, 3] = aten::mm.out(x, const float32[4, 3])\n"
               "return y\n"
               "return z\n");
  const etx_ir_method* const method = &l.reading.module.methods[0];
  assert_int_equal(method->nodes[0].args[1].as.value,
                   method->nodes[1].args[1].as.value);
  lowered_close(&l);
}

static void states_are_not_folded(void** state) {
  (void)state;
  fold(
      "buffers: [{name: s, type: 'float32[2]', init: 1}]\n"
      "nodes:\n"
      "  - {out: y, op: aten.neg.default, args: [s]}\n"
      "outputs: [y]\n"
      "mutates: {s: y}\n");
  assert_lines(&l,
               "y: float32[2] = aten::neg.out(s)\n"
               "s <- y\n"
               "return y\n");
  lowered_close(&l);
}

static void symbolic_sizes_are_not_folded(void** state) {
  (void)state;
  fold(
      "dims: {s: {min: 1, max: 8}}\n"
      "inputs: [{name: x, type: 'int64[s]'}]\n"
      "nodes:\n"
      "  - {out: a, op: aten.arange.default, args: [{sym: s}]}\n"
      "  - {out: y, op: aten.add.Tensor, args: [x, a]}\n"
      "outputs: [y]\n");
  assert_lines(&l,
               "a: int64[s] = aten::arange.start_out(0, s, 1)\n"
               "y: int64[s] = aten::add.out(x, a, 1)\n"
               "return y\n");
  lowered_close(&l);
}

// 256 * 256 bytes are the limit; one row more is computed at run time.
static void large_results_of_small_operands_stay(void** state) {
  (void)state;
  fold(
      "nodes:\n"
      "  - {out: a, op: aten.arange.default, args: [256]}\n"
      "  - {out: c, op: aten.arange.default, args: [257]}\n"
      "  - {out: r, op: aten.unsqueeze.default, args: [a, 1]}\n"
      "  - {out: s, op: aten.unsqueeze.default, args: [c, 1]}\n"
      "  - {out: y, op: aten.le.Tensor, args: [a, r]}\n"
      "  - {out: z, op: aten.le.Tensor, args: [a, s]}\n"
      "outputs: [y, z]\n");
  assert_lines(&l,
               "z: bool[257, 256] = aten::le.Tensor_out(const int64[256], "
               "const int64[257, 1])\n"
               "return const bool[256, 256]\n"
               "return z\n");
  lowered_close(&l);
}

// 1 - 1 in 300 * 300 elements, as a mask of ones gives it, is a repeated zero.
// A triangle of as many elements is computed at run time.
static void large_results_of_equal_elements_become_one(void** state) {
  (void)state;
  fold(
      "nodes:\n"
      "  - {out: o, op: aten.full.default, args: [[1, 300], 1.0]}\n"
      "  - {out: e, op: aten.expand.default, args: [o, [300, 300]]}\n"
      "  - {out: y, op: aten.sub.Tensor, args: [o, e]}\n"
      "  - {out: z, op: aten.triu.default, args: [e]}\n"
      "outputs: [y, z]\n");
  assert_lines(
      &l,
      "o: float32[1, 300] = aten::full.out([1, 300], 1)\n"
      "e: float32[300, 300] = aten::expand_copy.out(o, [300, 300], False)\n"
      "y: float32[300, 300] = aten::expand_copy.out(0.0:float32, [300, 300], "
      "False)\n"
      "z.4: bool[300, 300] = aten::ge.Tensor_out(const int64[300], const "
      "int64[300, 1])\n"
      "z: float32[300, 300] = aten::where.self_out(z.4, e, 0.0:float32)\n"
      "return y\n"
      "return z\n");
  lowered_close(&l);
}

static void a_fill_stays_but_its_users_are_folded(void** state) {
  (void)state;
  fold(
      "inputs: [{name: x, type: 'float32[2, 2]'}]\n"
      "nodes:\n"
      "  - {out: f, op: aten.full.default, args: [[2, 2], 3.0]}\n"
      "  - {out: g, op: aten.neg.default, args: [f]}\n"
      "  - {out: y, op: aten.cat.default, args: [[x, f]]}\n"
      "outputs: [y, g]\n");
  const float wanted[] = {-3, -3, -3, -3};
  assert_lines(&l,
               "f: float32[2, 2] = aten::full.out([2, 2], 3)\n"
               "y: float32[4, 2] = aten::cat.out([x, f], 0)\n"
               "return y\n"
               "return const float32[2, 2]\n");
  assert_floats(1, wanted, 4);
  lowered_close(&l);
}

static void a_view_of_a_constant_shares_its_bytes(void** state) {
  (void)state;
  fold(
      "buffers: [{name: w, type: 'float32[2, 3]', init: 0.5}]\n"
      "nodes:\n"
      "  - {out: v, op: aten.view.default, args: [w, [3, 2]]}\n"
      "outputs: [w, v]\n");
  const etx_ir_module* const module = &l.reading.module;
  const etx_ir_constant* const view = lowered_constant(&l, 1);
  const uint32_t initial = module->buffers[0].initial;
  assert_ptr_equal(view->data.data, module->constants[initial].data.data);
  lowered_close(&l);
}

static etx_status no_kernel(void* context, const etx_op* op,
                            const etx_eval_argument* arguments, size_t count,
                            etx_diag* diag) {
  (void)context, (void)op, (void)arguments, (void)count, (void)diag;
  return ETX_MISSING_OPERATOR;
}

static void nodes_without_a_kernel_are_left_alone(void** state) {
  (void)state;
  lowered_open(&l, ETX_TARGET_ETX,
               "nodes:\n"
               "  - {out: a, op: aten.arange.default, args: [6]}\n"
               "  - {out: y, op: aten.neg.default, args: [a]}\n"
               "outputs: [y]\n");
  l.options.evaluator.evaluate = no_kernel;
  lowered_run(&l, "lower fold_constants");
  assert_lines(&l,
               "a: int64[6] = aten::arange.start_out(0, 6, 1)\n"
               "y: int64[6] = aten::neg.out(a)\n"
               "return y\n");
  lowered_close(&l);
}

static void assert_near(const etx_ir_constant* constant, const float* wanted,
                        size_t count) {
  assert_int_equal(constant->data.size, count * sizeof(float));
  for (size_t i = 0; i < count; ++i) {
    float found = 0;
    memcpy(&found, constant->data.data + i * sizeof found, sizeof found);
    assert_float_equal(found, wanted[i], 1e-5f);
  }
}

// The expected values were computed by PyTorch.
static void antialiased_bicubic_upsampling_is_folded(void** state) {
  (void)state;
  static const float halves[] = {3.7665603f, 5.1779938f, 6.5378895f,
                                 3.4907820f, 5.4258118f, 4.8509212f};
  static const float corners[] = {
      2.2793529f, 3.7511315f, 5.4308238f, 5.5259079f, 4.7836542f,
      4.7248731f, 6.8658481f, 6.1005645f, 3.0756304f, 1.7156086f,
      8.0701075f, 6.9084826f, 3.6656580f, 3.5361833f};
  lowered_open(
      &l, ETX_TARGET_ETX,
      "inputs: []\n"
      "nodes:\n"
      "  - {out: a, op: aten.arange.default, args: [20]}\n"
      "  - {out: b, op: aten.mul.Scalar, args: [a, 7]}\n"
      "  - {out: c, op: aten.remainder.Scalar, args: [b, 11]}\n"
      "  - {out: d, op: aten._to_copy.default, args: [c], kwargs: {dtype: "
      "float32}}\n"
      "  - {out: x, op: aten.view.default, args: [d, [1, 1, 4, 5]]}\n"
      "  - {out: y, op: aten._upsample_bicubic2d_aa.vec, args: [x, [2, 3], "
      "false, null]}\n"
      "  - {out: z, op: aten._upsample_bicubic2d_aa.default, args: [x, [2, 7], "
      "true]}\n"
      "outputs: [y, z]\n");
  lowered_run(&l, "lower fold_constants");
  assert_near(lowered_constant(&l, 0), halves, 6);
  assert_near(lowered_constant(&l, 1), corners, 14);
  lowered_close(&l);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_chain_of_constants_is_one_constant),
      cmocka_unit_test(nodes_beyond_the_budget_stay),
      cmocka_unit_test(results_beyond_the_limit_of_bytes_stay),
      cmocka_unit_test(a_transposed_weight_is_computed_once),
      cmocka_unit_test(states_are_not_folded),
      cmocka_unit_test(symbolic_sizes_are_not_folded),
      cmocka_unit_test(large_results_of_small_operands_stay),
      cmocka_unit_test(large_results_of_equal_elements_become_one),
      cmocka_unit_test(a_fill_stays_but_its_users_are_folded),
      cmocka_unit_test(a_view_of_a_constant_shares_its_bytes),
      cmocka_unit_test(antialiased_bicubic_upsampling_is_folded),
      cmocka_unit_test(nodes_without_a_kernel_are_left_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
