// Linear layers that share a one-row input.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/exporter/lowered.h"

#define PASSES "lower fold_matmul_transposes fuse_parallel_linear"

#define BUFFERS                                     \
  "buffers:\n"                                      \
  "  - {name: q, type: 'float32[6, 4]', init: 1}\n" \
  "  - {name: k, type: 'float32[2, 4]', init: 2}\n" \
  "  - {name: v, type: 'float32[2, 4]', init: 3}\n" \
  "  - {name: qb, type: 'float32[6]', init: 4}\n"   \
  "  - {name: kb, type: 'float32[2]', init: 5}\n"

#define ROW "inputs: [{name: x, type: 'float32[1, 1, 4]'}]\n" BUFFERS "nodes:\n"

static void layers_of_one_row_are_fused(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, PASSES,
      ROW
      "  - {out: a, op: aten.linear.default, args: [x, q]}\n"
      "  - {out: n, op: aten.neg.default, args: [a]}\n"
      "  - {out: b, op: aten.linear.default, args: [x, k]}\n"
      "  - {out: c, op: aten.linear.default, args: [x, v]}\n"
      "outputs: [n, b, c]\n",
      "v9: float32[1, 1, 10] = aten::linear.out(x, const float32[10, 4], "
      "None)\n"
      "a: float32[1, 1, 6] = aten::slice_copy.Tensor_out(v9, 2, 0, 6, 1)\n"
      "b: float32[1, 1, 2] = aten::slice_copy.Tensor_out(v9, 2, 6, 8, 1)\n"
      "c: float32[1, 1, 2] = aten::slice_copy.Tensor_out(v9, 2, 8, 10, 1)\n"
      "n: float32[1, 1, 6] = aten::neg.out(a)\n"
      "return n\n"
      "return b\n"
      "return c\n");
}

// The constants that the product reads, in the order of its parts.
static void weights_and_biases_are_concatenated_in_order(void** state) {
  (void)state;
  lowered l;
  lowered_open(&l, ETX_TARGET_ETX,
               ROW
               "  - {out: a, op: aten.linear.default, args: [x, k, kb]}\n"
               "  - {out: b, op: aten.linear.default, args: [x, q, qb]}\n"
               "outputs: [a, b]\n");
  lowered_run(&l, PASSES);
  const etx_ir_module* const module = &l.reading.module;
  const etx_ir_method* const method = &module->methods[0];
  const etx_ir_node* const product = &method->nodes[0];
  static const float rows[2] = {2, 1}, biases[2] = {5, 4};
  for (size_t i = 1; i < 3; ++i) {
    const etx_ir_value* const value =
        &method->values[product->args[i].as.value];
    assert_int_equal(value->origin, ETX_IR_FROM_CONSTANT);
    const etx_ir_constant* const c = &module->constants[value->index];
    const size_t width = i == 1 ? 4 : 1;
    assert_int_equal(c->data.size, 8 * width * sizeof(float));
    const float* const data = (const float*)(const void*)c->data.data;
    for (size_t e = 0; e < 8 * width; ++e) {
      const float* const wanted = i == 1 ? rows : biases;
      assert_true(data[e] == wanted[e >= 2 * width]);
    }
  }
  lowered_close(&l);
}

typedef struct missed_fusion {
  const char* yaml;
  const char* reason;  // in the report
} missed_fusion;

static void other_layers_are_reported(void** state) {
  (void)state;
  static const missed_fusion refusals[] = {
      {"inputs: [{name: x, type: 'float32[1, 2, 4]'}]\n" BUFFERS "nodes:\n"
       "  - {out: a, op: aten.linear.default, args: [x, q]}\n"
       "  - {out: b, op: aten.linear.default, args: [x, k]}\n"
       "outputs: [a, b]\n",
       "the input has several rows, so slices of one result would not be "
       "contiguous"},
      {ROW "  - {out: a, op: aten.linear.default, args: [x, q]}\n"
           "  - {out: b, op: aten.linear.default, args: [x, k]}\n"
           "  - {out: c, op: aten.neg.default, args: [k]}\n"
           "outputs: [a, b, c]\n",
       "a weight has other uses"},
      {"inputs: [{name: x, type: 'float32[1, 4]'}, {name: w, type: "
       "'float32[6, 4]'}]\n" BUFFERS "nodes:\n"
       "  - {out: a, op: aten.linear.default, args: [x, w]}\n"
       "  - {out: b, op: aten.linear.default, args: [x, k]}\n"
       "outputs: [a, b]\n",
       "a weight is computed at run time"},
      // One has a bias and the other none.
      {ROW "  - {out: a, op: aten.linear.default, args: [x, q, qb]}\n"
           "  - {out: b, op: aten.linear.default, args: [x, k]}\n"
           "outputs: [a, b]\n",
       NULL},
      // Alone.
      {ROW "  - {out: a, op: aten.linear.default, args: [x, q, qb]}\n"
           "outputs: [a]\n",
       NULL},
  };
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals; ++i) {
    lowered l;
    lowered_open(&l, ETX_TARGET_ETX, refusals[i].yaml);
    lowered_run(&l, PASSES);
    assert_null(strstr(lowered_lines(&l), "slice_copy"));
    const etx_fusion_report* const fusions = &l.context.fusions;
    assert_int_equal(fusions->count, refusals[i].reason != NULL);
    if (refusals[i].reason != NULL) {
      assert_string_equal(fusions->items[0].reason, refusals[i].reason);
    }
    lowered_close(&l);
  }
}

// Two layers with one weight, which would be stored twice.
static void a_tied_weight_is_not_concatenated(void** state) {
  (void)state;
  lowered l;
  lowered_open(&l, ETX_TARGET_ETX,
               ROW
               "  - {out: a, op: aten.linear.default, args: [x, q]}\n"
               "  - {out: b, op: aten.linear.default, args: [x, k]}\n"
               "  - {out: c, op: aten.linear.default, args: [x, q]}\n"
               "outputs: [a, b, c]\n");
  lowered_run(&l, PASSES);
  assert_null(strstr(lowered_lines(&l), "slice_copy"));
  lowered_close(&l);
}

#define SHARED                                      \
  "inputs: [{name: x, type: 'float32[1, 4]'}]\n"    \
  "buffers:\n"                                      \
  "  - {name: q, type: 'float32[8, 4]', init: 1}\n" \
  "  - {name: k, type: 'float32[4, 4]', init: 2}\n" \
  "  - {name: v, type: 'float32[4, 4]', init: 3}\n" \
  "  - {name: w, type: 'float32[2, 4]', init: 4}\n" \
  "nodes:\n"                                        \
  "  - {out: m, op: aten.neg.default, args: [q]}\n" \
  "  - {out: n, op: aten.neg.default, args: [k]}\n" \
  "  - {out: o, op: aten.neg.default, args: [v]}\n" \
  "  - {out: p, op: aten.neg.default, args: [w]}\n" \
  "  - {out: y, op: aten.neg.default, args: [x]}\n"

static void fuse_variant(lowered* l, const char* graph) {
  lowered_open(l, ETX_TARGET_ETX, graph);
  l->reading.module.methods[0].name = etx_text_of("m@1");
  lowered_run(l, PASSES);
}

// The method and other variants read the weights of a variant, too: these lie
// in the concatenation.
static void variants_share_their_weights(void** state) {
  (void)state;
  lowered l;
  fuse_variant(&l, SHARED
               "  - {out: a, op: aten.linear.default, args: [x, q]}\n"
               "  - {out: b, op: aten.linear.default, args: [x, k]}\n"
               "  - {out: c, op: aten.linear.default, args: [y, q]}\n"
               "  - {out: d, op: aten.linear.default, args: [y, k]}\n"
               "outputs: [a, b, c, d, m, n, o, p]\n");
  const etx_ir_module* const module = &l.reading.module;
  assert_non_null(
      strstr(lowered_lines(&l), "linear.out(x, const float32[12, 4]"));
  assert_non_null(
      strstr(lowered_lines(&l), "linear.out(y, const float32[12, 4]"));
  assert_int_equal(module->part_count, 2);
  static const uint64_t offsets[2] = {0, 8 * 4 * sizeof(float)};
  for (size_t i = 0; i < 2; ++i) {
    const etx_ir_part* const part = &module->parts[i];
    const etx_bytes bytes = module->constants[part->constant].data;
    const etx_bytes whole = module->constants[part->whole].data;
    assert_int_equal(part->offset, offsets[i]);
    assert_memory_equal(bytes.data, whole.data + part->offset, bytes.size);
  }
  lowered_close(&l);
}

static void expect_apart(const char* graph) {
  lowered l;
  fuse_variant(&l, graph);
  assert_null(strstr(lowered_lines(&l), "slice_copy"));
  assert_int_equal(l.reading.module.part_count, 0);
  lowered_close(&l);
}

static void weights_that_would_take_more_bytes_stay_apart(void** state) {
  (void)state;
  // One that is read twice, and one that would not start at a cache line.
  expect_apart(SHARED
               "  - {out: a, op: aten.linear.default, args: [x, q]}\n"
               "  - {out: b, op: aten.linear.default, args: [x, k]}\n"
               "  - {out: c, op: aten.linear.default, args: [x, q]}\n"
               "outputs: [a, b, c, m, n, o, p]\n");
  expect_apart(SHARED
               "  - {out: a, op: aten.linear.default, args: [x, w]}\n"
               "  - {out: b, op: aten.linear.default, args: [x, k]}\n"
               "outputs: [a, b, m, n, o, p]\n");
  // In another order, the weights are parts of something else already.
  lowered l;
  fuse_variant(&l, SHARED
               "  - {out: a, op: aten.linear.default, args: [x, q]}\n"
               "  - {out: b, op: aten.linear.default, args: [x, k]}\n"
               "  - {out: c, op: aten.linear.default, args: [y, k]}\n"
               "  - {out: d, op: aten.linear.default, args: [y, v]}\n"
               "outputs: [a, b, c, d, m, n, o, p]\n");
  assert_int_equal(l.reading.module.part_count, 2);
  assert_non_null(strstr(lowered_lines(&l), "linear.out(y, k, None)"));
  lowered_close(&l);
}

static void programs_for_executorch_are_unchanged(void** state) {
  (void)state;
  lowered l;
  lowered_open(&l, ETX_TARGET_EXECUTORCH,
               ROW
               "  - {out: a, op: aten.linear.default, args: [x, q]}\n"
               "  - {out: b, op: aten.linear.default, args: [x, k]}\n"
               "outputs: [a, b]\n");
  lowered_run(&l, PASSES);
  assert_null(strstr(lowered_lines(&l), "slice_copy"));
  lowered_close(&l);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(layers_of_one_row_are_fused),
      cmocka_unit_test(weights_and_biases_are_concatenated_in_order),
      cmocka_unit_test(other_layers_are_reported),
      cmocka_unit_test(a_tied_weight_is_not_concatenated),
      cmocka_unit_test(variants_share_their_weights),
      cmocka_unit_test(weights_that_would_take_more_bytes_stay_apart),
      cmocka_unit_test(programs_for_executorch_are_unchanged),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
