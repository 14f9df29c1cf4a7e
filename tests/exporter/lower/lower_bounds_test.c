// Lower bounds that the pass `lower` raises where a node cannot have them.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "tests/exporter/lowered.h"

#define MOST 9

static void expect_bound(const lowered* l, const char* name, int64_t minimum) {
  const etx_symbols* const symbols = &l->reading.module.methods[0].symbols;
  uint32_t index = 0;
  assert_true(etx_symbols_find(symbols, etx_text_of(name), &index));
  assert_int_equal(symbols->symbols[index].minimum, minimum);
  assert_int_equal(symbols->symbols[index].maximum, MOST);
  assert_int_equal(symbols->symbols[index].fallback, minimum);
}

#define DIMS                              \
  "dims: {n: {min: 0, max: 9, fallback: " \
  "2}, m: {min: 0, max: 9, fallback: 2}}\n"

// Lowers nodes that read x [n, m], for ExecuTorch, whose files have no checks
// of sizes, and expects the lower bounds of n and m.
static void lower_with_bounds(lowered* l, const char* nodes, int64_t n,
                              int64_t m) {
  char yaml[1000];
  snprintf(yaml, sizeof yaml,
           DIMS "inputs: [{name: x, type: 'float32[n, m]'}]\n%s", nodes);
  lowered_open(l, ETX_TARGET_EXECUTORCH, yaml);
  lowered_run(l, "lower");
  expect_bound(l, "n", n);
  expect_bound(l, "m", m);
}

static void bounds_that_all_nodes_can_have_stay(void** state) {
  lowered l;
  (void)state;
  lower_with_bounds(&l,
                    "nodes: [{out: y, op: aten.neg.default, args: [x]}]\n"
                    "outputs: [y]\n",
                    0, 0);
  lowered_close(&l);
}

// Only n must be 2, although the node reads a tensor of both sizes.
static void only_the_bound_that_a_node_needs_is_raised(void** state) {
  lowered l;
  (void)state;
  lower_with_bounds(&l,
                    "nodes:\n"
                    "  - {out: y, op: aten.squeeze.dim, args: [x, 0]}\n"
                    "  - {out: z, op: aten.neg.default, args: [y]}\n"
                    "outputs: [z]\n",
                    2, 0);
  assert_lines(&l,
               "z: float32[n, m] = aten::neg.out(x)\n"
               "return z\n");
  lowered_close(&l);
}

// A slice of one row is declared to have the size 1. It broadcasts to three
// rows only if it has one, so n must be 1.
#define FIRST_ROW                                                  \
  "nodes:\n"                                                       \
  "  - {out: y, op: aten.slice.Tensor, args: [x, 0, 0, 1], type: " \
  "'float32[1, m]'}\n"
#define THREE_ROWS                                             \
  "  - {out: t, op: aten.full.default, args: [[3, 1], 1.0]}\n" \
  "  - {out: z, op: aten.add.Tensor, args: [t, y]}\n"

static void a_bound_is_raised_no_more_than_needed(void** state) {
  lowered l;
  (void)state;
  lower_with_bounds(&l, FIRST_ROW THREE_ROWS "outputs: [z]\n", 1, 0);
  lowered_close(&l);
}

static void two_nodes_raise_a_bound_each(void** state) {
  lowered l;
  (void)state;
  lower_with_bounds(&l,
                    FIRST_ROW THREE_ROWS
                    "  - {out: s, op: aten.squeeze.dim, args: [x, 1]}\n"
                    "outputs: [z, s]\n",
                    1, 2);
  lowered_close(&l);
}

// For etx, checks would exclude sizes that are too small.
static void a_bound_is_raised_where_there_is_no_check(void** state) {
  lowered l;
  (void)state;
  lower_with_bounds(
      &l,
      "nodes: [{out: [y, j], op: aten.kthvalue.default, args: [x, 1, 0]}]\n"
      "outputs: [y]\n",
      1, 0);
  lowered_close(&l);
  lower_with_bounds(
      &l,
      "nodes: [{out: y, op: aten.narrow.default, args: [x, 0, 0, 2], type: "
      "'float32[2, m]'}]\n"
      "outputs: [y]\n",
      2, 0);
  lowered_close(&l);
}

// torch.export declares sizes that are right for sizes of 2 or more.
static void declared_sizes_need_not_hold_for_smaller_sizes(void** state) {
  lowered l;
  (void)state;
  lower_with_bounds(&l,
                    FIRST_ROW
                    "  - {out: z, op: aten.slice.Tensor, args: [x, 1, 0, 2], "
                    "type: 'float32[n, 2]'}\n"
                    "outputs: [y, z]\n",
                    0, 0);
  assert_lines(&l,
               "y: float32[min(n, 1), m] = aten::slice_copy.Tensor_out(x, 0, "
               "0, min(n, 1), 1)\n"
               "z: float32[n, min(m, 2)] = aten::slice_copy.Tensor_out(x, 1, "
               "0, min(m, 2), 1)\n"
               "return y\n"
               "return z\n");
  lowered_close(&l);
}

static void declared_sizes_must_hold_for_larger_sizes(void** state) {
  (void)state;
  expect_refused(ETX_TARGET_ETX, "lower",
                 "dims: {n: {min: 0, max: 9, fallback: 2}}\n"
                 "inputs: [{name: x, type: 'float32[n]'}]\n"
                 "nodes: [{out: y, op: aten.slice.Tensor, args: [x, 0, 0, 3], "
                 "type: 'float32[3]'}]\n"
                 "outputs: [y]\n",
                 "dimension 0 of 'y' is declared as 3, found 2");
}

// A dimension that may be empty is not removed, and must not have the size 1.
static void a_check_excludes_one_row_where_none_is_allowed(void** state) {
  (void)state;
  expect_lowered(
      ETX_TARGET_ETX, "lower",
      "dims: {n: {min: 0, max: 9, fallback: 2}}\n"
      "inputs: [{name: x, type: 'float32[n, 4]'}]\n"
      "nodes: [{out: y, op: aten.squeeze.dim, args: [x, 0], type: "
      "'float32[n, 4]'}]\n"
      "outputs: [y]\n",
      "y.1: uint8[0] = etx::check_range.(min(max(max(-n + 1, n - 1), 0), 1), "
      "1, 1, 'the size of dimension 0, which 'aten.squeeze.dim' would remove, "
      "is not 1')\n"
      "return x\n");
}

#define KEYS_AND_VALUES                                                    \
  "inputs: [{name: q, type: 'float32[1, 2, 3, 4]'},\n"                     \
  "  {name: k, type: 'float32[1, 2, n, 4]'},\n"                            \
  "  {name: v, type: 'float32[1, 2, m, 4]'}]\n"                            \
  "nodes:\n"                                                               \
  "  - {out: y, op: aten.scaled_dot_product_attention.default, args: [q, " \
  "k, v]}\n"                                                               \
  "outputs: [y]\n"

// An attention has as many keys as values.
static void sizes_that_must_be_equal_get_one_symbol(void** state) {
  lowered l;
  uint32_t index = 0;
  (void)state;
  lowered_open(&l, ETX_TARGET_ETX,
               "dims: {n: {min: 1, max: 9, fallback: 2}, m: {min: 3, max: "
               "12}}\n" KEYS_AND_VALUES);
  lowered_run(&l, "lower");
  const etx_ir_method* const method = &l.reading.module.methods[0];
  assert_false(etx_symbols_find(&method->symbols, etx_text_of("m"), &index));
  assert_true(etx_symbols_find(&method->symbols, etx_text_of("n"), &index));
  assert_int_equal(method->symbols.symbols[index].minimum, 3);
  assert_int_equal(method->symbols.symbols[index].maximum, 9);
  assert_true(etx_symbols_equal(
      &method->symbols,
      method->values[method->inputs[1].arg.as.value].shape.dims[2],
      method->values[method->inputs[2].arg.as.value].shape.dims[2]));
  lowered_close(&l);
}

static void sizes_without_a_common_value_are_reported(void** state) {
  (void)state;
  expect_refused(
      ETX_TARGET_ETX, "lower",
      "dims: {n: {min: 1, max: 5}, m: {min: 6, max: 9}}\n" KEYS_AND_VALUES,
      "key and value of the same length");
}

static void a_stated_bound_is_not_raised(void** state) {
  (void)state;
  expect_refused(ETX_TARGET_ETX, "lower",
                 "dims: {n: {min: 1, max: 9}}\n"
                 "inputs: [{name: x, type: 'float32[n, 4]'}]\n"
                 "nodes: [{out: y, op: aten.squeeze.dim, args: [x, 0]}]\n"
                 "outputs: [y]\n",
                 "would remove dimension 0 if its size were 1");
}

// A problem that no bound solves is reported once, also if there are so many
// symbols that not all of them are tried.
static void a_problem_of_another_kind_is_reported_once(void** state) {
  char yaml[6000] = "dims: {";
  lowered l;
  (void)state;
  for (int i = 0; i < ETX_SYMBOLS_MAX_COUNT; ++i) {
    snprintf(yaml + strlen(yaml), sizeof yaml - strlen(yaml),
             "%sn%d: {min: 0, max: 9, fallback: 2}", i == 0 ? "" : ", ", i);
  }
  strcat(yaml, "}\ninputs: [");
  for (int i = 0; i < ETX_SYMBOLS_MAX_COUNT; ++i) {
    snprintf(yaml + strlen(yaml), sizeof yaml - strlen(yaml),
             "%s{name: x%d, type: 'float32[n%d]'}", i == 0 ? "" : ", ", i, i);
  }
  strcat(yaml,
         "]\nnodes: [{out: y, op: aten.adjoint.default, args: [x0]}]\n"
         "outputs: [y]\n");
  lowered_open(&l, ETX_TARGET_ETX, yaml);
  assert_pass_refuses(&l, "lower", "aten.adjoint.default");
  assert_int_equal(l.reading.problems.count, 1);
  lowered_close(&l);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bounds_that_all_nodes_can_have_stay),
      cmocka_unit_test(only_the_bound_that_a_node_needs_is_raised),
      cmocka_unit_test(a_bound_is_raised_no_more_than_needed),
      cmocka_unit_test(two_nodes_raise_a_bound_each),
      cmocka_unit_test(a_bound_is_raised_where_there_is_no_check),
      cmocka_unit_test(declared_sizes_need_not_hold_for_smaller_sizes),
      cmocka_unit_test(declared_sizes_must_hold_for_larger_sizes),
      cmocka_unit_test(a_check_excludes_one_row_where_none_is_allowed),
      cmocka_unit_test(sizes_that_must_be_equal_get_one_symbol),
      cmocka_unit_test(sizes_without_a_common_value_are_reported),
      cmocka_unit_test(a_stated_bound_is_not_raised),
      cmocka_unit_test(a_problem_of_another_kind_is_reported_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
