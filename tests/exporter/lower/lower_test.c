// The pass lower: names, declared types, problems, refusals of a target.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "exporter/ir/aten_schema.h"
#include "exporter/lower/lowering_table.h"
#include "tests/exporter/lowered.h"

static lowered l;

static void refused_operators_have_a_schema_and_no_lowering(void** state) {
  (void)state;
  const etx_text name = etx_text_of("aten.bernoulli.default");
  assert_non_null(etx_aten_schema_find(name));
  assert_null(etx_lowering_find(name));
  assert_null(etx_lowering_find(etx_text_of("aten.no_such_operator.default")));
}

static void lowerings_are_found_by_their_full_name(void** state) {
  (void)state;
  size_t count = 0;
  for (size_t i = 0; i < etx_aten_schema_count(); ++i) {
    const char* const name = etx_aten_schema_at(i)->name;
    const etx_lowering* const found = etx_lowering_find(etx_text_of(name));
    if (found == NULL) continue;
    assert_string_equal(found->aten, name);
    ++count;
  }
  assert_true(count > etx_aten_schema_count() / 2);
}

static void results_keep_the_authors_names(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_EXECUTORCH, "lower",
                 "inputs: [{name: x, type: 'float32[4]'}]\n"
                 "nodes:\n"
                 "  - {out: gate, op: aten.silu.default, args: [x]}\n"
                 "  - {out: same, op: aten.clone.default, args: [gate]}\n"
                 "outputs: [same]\n",
                 "gate.1: float32[4] = aten::sigmoid.out(x)\n"
                 "gate: float32[4] = aten::mul.out(x, gate.1)\n"
                 "return gate\n");
}

static void unknown_operators_are_all_named(void** state) {
  (void)state;
  lowered_open(&l, ETX_TARGET_ETX,
               "inputs: [{name: x, type: 'float32[4]'}]\n"
               "nodes:\n"
               "  - {out: a, op: aten.bernoulli.default, args: [x]}\n"
               "  - {out: b, op: aten.neg.default, args: [a]}\n"
               "  - {out: d, op: aten.bernoulli.p, args: [x, 0.5]}\n"
               "outputs: [x]\n");
  assert_pass_refuses(&l, "lower",
                      "m.yaml:5:5: operator "
                      "'aten.bernoulli.default' is not supported");
  assert_non_null(strstr(l.reading.text, "aten.bernoulli.p"));
  assert_int_equal(l.reading.problems.count, 2);
  lowered_close(&l);
}

static void sizes_that_do_not_fit_are_refused_at_their_node(void** state) {
  (void)state;
  expect_refused(ETX_TARGET_ETX, "lower",
                 "inputs: [{name: x, type: 'float32[4]'}, {name: y, type: "
                 "'float32[3]'}]\n"
                 "nodes:\n"
                 "  - {out: z, op: aten.add.Tensor, args: [x, y]}\n"
                 "outputs: [z]\n",
                 "m.yaml:5:5: ");
}

static void a_wrong_declared_dtype_is_refused(void** state) {
  (void)state;
  expect_refused(ETX_TARGET_ETX, "lower",
                 "inputs: [{name: x, type: 'int64[4]'}]\n"
                 "nodes:\n"
                 "  - {out: z, op: aten.add.Tensor, args: [x, 2.5], type: "
                 "'int64[4]'}\n"
                 "outputs: [z]\n",
                 "'z' is declared as int64, found float32");
}

static void a_wrong_declared_size_is_refused(void** state) {
  (void)state;
  expect_refused(ETX_TARGET_ETX, "lower",
                 "dims: {s: {min: 1, max: 8}}\n"
                 "inputs: [{name: x, type: 'float32[s]'}]\n"
                 "nodes:\n"
                 "  - {out: z, op: aten.cat.default, args: [[x, x]], type: "
                 "'float32[s + 1]'}\n"
                 "outputs: [z]\n",
                 "dimension 0 of 'z' is declared as 3, found 4");
}

static void equal_sizes_may_be_written_differently(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_ETX, "lower",
                 "dims: {s: {min: 1, max: 8}}\n"
                 "inputs: [{name: x, type: 'float32[s, 6]'}]\n"
                 "nodes:\n"
                 "  - {out: z, op: aten.view.default, args: [x, [-1, 3]], "
                 "type: 'float32[2*s, 3]'}\n"
                 "outputs: [z]\n",
                 "z: float32[2*s, 3] = aten::view_copy.out(x, [2*s, 3])\n"
                 "return z\n");
}

// Adds an input that is an integer with bounds, as .pt2 archives have it.
static void add_integer_input(void) {
  etx_ir_module* const module = &l.reading.module;
  etx_ir_method* const method = &module->methods[0];
  etx_ir_input input = {.name = etx_text_of("n"), .arg = {ETX_IR_ARG_INT, {0}}};
  uint32_t symbol = 0;
  assert_int_equal(etx_symbols_add(&method->symbols, input.name, 1, 8, &symbol),
                   ETX_OK);
  assert_int_equal(
      etx_symbols_dim(&method->symbols, symbol, &input.arg.as.integer), ETX_OK);
  assert_int_equal(
      etx_pool_grow(module->pool, &method->inputs, method->input_count,
                    &method->input_capacity, sizeof input),
      ETX_OK);
  method->inputs[method->input_count++] = input;
}

static void dynamic_integers_are_refused_for_executorch(void** state) {
  (void)state;
  const char* const yaml =
      "inputs: [{name: x, type: 'float32[8]'}]\n"
      "nodes:\n"
      "  - {out: z, op: aten.neg.default, args: [x]}\n"
      "outputs: [z]\n";
  lowered_open(&l, ETX_TARGET_EXECUTORCH, yaml);
  add_integer_input();
  assert_pass_refuses(&l, "lower",
                      "'n' of method 'm' is a dynamic integer (SymInt)");
  lowered_close(&l);
  lowered_open(&l, ETX_TARGET_ETX, yaml);
  add_integer_input();
  lowered_run(&l, "lower");
  lowered_close(&l);
}

static void training_mode_is_refused(void** state) {
  (void)state;
  expect_refused(
      ETX_TARGET_ETX, "lower",
      "inputs: [{name: x, type: 'float32[4]'}]\n"
      "nodes:\n"
      "  - {out: z, op: aten.dropout.default, args: [x, 0.5, true]}\n"
      "outputs: [z]\n",
      "export the model in eval mode");
}

static void the_same_graph_gives_the_same_lines(void** state) {
  (void)state;
  const char* const yaml =
      "inputs: [{name: x, type: 'float32[2, 4]'}]\n"
      "buffers: [{name: w, type: 'float32[3, 4]', init: 1}]\n"
      "nodes:\n"
      "  - {out: a, op: aten.linear.default, args: [x, w]}\n"
      "  - {out: b, op: aten.softmax.int, args: [a, -1]}\n"
      "outputs: [b]\n";
  static char first[sizeof l.lines];
  for (int i = 0; i < 2; ++i) {
    lowered_open(&l, ETX_TARGET_EXECUTORCH, yaml);
    lowered_run(&l, "lower fold_constants simplify");
    lowered_lines(&l);
    if (i == 0) memcpy(first, l.lines, sizeof first);
    lowered_close(&l);
  }
  assert_string_equal(first, l.lines);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(refused_operators_have_a_schema_and_no_lowering),
      cmocka_unit_test(lowerings_are_found_by_their_full_name),
      cmocka_unit_test(results_keep_the_authors_names),
      cmocka_unit_test(unknown_operators_are_all_named),
      cmocka_unit_test(sizes_that_do_not_fit_are_refused_at_their_node),
      cmocka_unit_test(a_wrong_declared_dtype_is_refused),
      cmocka_unit_test(a_wrong_declared_size_is_refused),
      cmocka_unit_test(equal_sizes_may_be_written_differently),
      cmocka_unit_test(dynamic_integers_are_refused_for_executorch),
      cmocka_unit_test(training_mode_is_refused),
      cmocka_unit_test(the_same_graph_gives_the_same_lines),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
