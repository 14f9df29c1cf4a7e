// The passes of bufferize that every plan needs, each by itself.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/exporter/lowered.h"

static lowered l;  // too large for a stack

#define STEP                                                   \
  "buffers:\n"                                                 \
  "  - {name: count, type: 'float32[4]', init: 2}\n"           \
  "  - {name: one, type: 'float32[4]', init: 1}\n"             \
  "inputs: [{name: x, type: 'float32[4]'}]\n"                  \
  "nodes:\n"                                                   \
  "  - {out: next, op: aten.add.Tensor, args: [count, one]}\n" \
  "  - {out: y, op: aten.mul.Tensor, args: [x, next]}\n"       \
  "mutates: {count: next}\n"                                   \
  "outputs: [y]\n"

static etx_ir_buffer* buffer_named(const char* name) {
  etx_ir_module* const module = &l.reading.module;
  for (size_t b = 0; b < module->buffer_count; ++b) {
    if (etx_text_is(module->buffers[b].name, name)) return &module->buffers[b];
  }
  fail_msg("there is no buffer '%s'", name);
  return NULL;
}

static void classify_state_finds_buffers_that_a_method_changes(void** state) {
  (void)state;
  lowered_open(&l, ETX_TARGET_ETX, STEP);
  buffer_named("count")->is_state = false;  // the reader has set it
  lowered_run(&l, "classify_state");
  assert_true(buffer_named("count")->is_state);
  assert_false(buffer_named("one")->is_state);
  lowered_close(&l);
}

static void add_init_method_copies_initial_values(void** state) {
  (void)state;
  lowered_open(&l, ETX_TARGET_ETX, STEP);
  lowered_run(&l, "classify_state lower add_init_method");
  assert_int_equal(l.reading.module.method_count, 2);
  const etx_ir_method* const init = &l.reading.module.methods[1];
  assert_true(etx_text_is(init->name, "et_module_init"));
  assert_true(init->is_synthetic);
  assert_int_equal(init->node_count, 1);
  assert_int_equal(init->nodes[0].op->id, ETX_OP_copy_out);
  assert_int_equal(init->mutation_count, 1);
  assert_ptr_equal(&l.reading.module.buffers[init->mutations[0].target],
                   buffer_named("count"));
  lowered_close(&l);
}

static void a_program_without_state_has_no_init_method(void** state) {
  (void)state;
  lowered_open(&l, ETX_TARGET_ETX,
               "inputs: [{name: x, type: 'float32[4]'}]\n"
               "nodes: [{out: y, op: aten.neg.default, args: [x]}]\n"
               "outputs: [y]\n");
  lowered_run(&l, "classify_state lower add_init_method");
  assert_int_equal(l.reading.module.method_count, 1);
  lowered_close(&l);
}

static void assign_storage_gives_each_value_its_own(void** state) {
  (void)state;
  lowered_open(&l, ETX_TARGET_ETX, STEP);
  lowered_run(&l, "classify_state lower assign_storage");
  const etx_placement* const placement = &l.context.placements[0];
  size_t found[4] = {0};
  for (size_t i = 0; i < placement->storage_count; ++i) {
    ++found[placement->storages[i].kind];
  }
  assert_int_equal(found[ETX_STORAGE_STATE], 1);     // count
  assert_int_equal(found[ETX_STORAGE_INPUT], 1);     // x
  assert_int_equal(found[ETX_STORAGE_CONSTANT], 1);  // one
  assert_int_equal(found[ETX_STORAGE_SCRATCH], 2);   // next, y
  lowered_close(&l);
}

static void copy_branch_results_ends_each_branch_with_a_copy(void** state) {
  (void)state;
  expect_lowered(ETX_TARGET_ETX, "lower copy_branch_results",
                 "inputs: [{name: x, type: 'float32[4]'}, {name: c, type: "
                 "'bool[]'}]\n"
                 "nodes:\n"
                 "  - out: [y]\n"
                 "    if: c\n"
                 "    then:\n"
                 "      nodes: [{out: a, op: aten.neg.default, args: [x]}]\n"
                 "      outputs: [a]\n"
                 "    else: {outputs: [x]}\n"
                 "outputs: [y]\n",
                 "cond 1: bool[0] = etx::cond.(c)\n"
                 "  a: float32[4] = aten::neg.out(x)\n"
                 "  y.then: float32[4] = aten::clone.out(a, None)\n"
                 "  y.else: float32[4] = aten::clone.out(x, None)\n"
                 "y: float32[4] = etx::join.(cond 1, y.then, y.else)\n"
                 "return y\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(classify_state_finds_buffers_that_a_method_changes),
      cmocka_unit_test(add_init_method_copies_initial_values),
      cmocka_unit_test(a_program_without_state_has_no_init_method),
      cmocka_unit_test(assign_storage_gives_each_value_its_own),
      cmocka_unit_test(copy_branch_results_ends_each_branch_with_a_copy),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
