// The storage of values in branches of a conditional, and the jumps between the
// branches.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cli/verify/verify_program.h"
#include "exporter/ir/ir_cond.h"
#include "exporter/placement/placement_check.h"
#include "tests/exporter/graph.h"

static graph g;
static uint32_t x;      // float32[4], an input
static uint32_t token;  // of the last conditional

// Starts a conditional on the first element of a value.
static uint32_t start_cond(uint32_t value) {
  const uint32_t first = graph_slice(&g, value, 0, 0, 1);
  const etx_ir_arg condition = VALUE(graph_node(
      &g, ETX_OP_gt_scalar_out, ARGS(VALUE(first), {ETX_IR_ARG_DOUBLE, {0}})));
  const uint32_t cond = graph_cond(&g, &condition, &token);
  graph_branch(&g, etx_ir_then_branch(cond));
  return cond;
}

static void start_else(uint32_t cond) {
  graph_branch(&g, etx_ir_else_branch(cond));
}

static void end_cond(void) { graph_branch(&g, 0); }

static void start(void) {
  graph_method(&g, "m");
  x = graph_input(&g, "x", 1, SIZES(4));
}

static bool share_bytes(uint32_t a, uint32_t b) {
  const etx_placement* const placement = graph_placement(&g, 0);
  return etx_storage_range_equal(etx_placement_range(placement, a),
                                 etx_placement_range(placement, b));
}

static void assert_sound(void) {
  const etx_placement* const placement = graph_placement(&g, 0);
  for (uint32_t s = 0; s < placement->storage_count; ++s) {
    etx_placement_conflicts conflicts = {0};
    assert_int_equal(
        etx_placement_check(&g.pool, &g.module.methods[0], placement, s,
                            ETX_PLACEMENT_CHECK_ALL, &conflicts),
        ETX_OK);
    assert_int_equal(conflicts.count, 0);
  }
}

// Nodes that are instructions, without branch heads.
static size_t count_instructions(void) {
  const etx_ir_method* const method = &g.module.methods[0];
  size_t heads = 0;
  for (size_t i = 0; i < method->node_count; ++i) {
    heads += etx_ir_is_head(&method->nodes[i]);
  }
  return graph_count_running(&g, 0) - heads;
}

// ---------------------------------------------------------------- placement

static void both_branches_compute_in_the_storage_of_the_result(void** state) {
  (void)state;
  start();
  const uint32_t cond = start_cond(x);
  const uint32_t a = graph_add(&g, x, x);
  start_else(cond);
  const uint32_t b = graph_clone(&g, x);
  const uint32_t c = graph_add(&g, b, b);
  end_cond();
  const uint32_t y = graph_join(&g, cond, token, a, c);
  graph_output(&g, "y", y);

  graph_place(&g, AS_WRITTEN);

  assert_true(share_bytes(a, y));
  assert_true(share_bytes(c, y));
  assert_int_equal(count_instructions(), 3);  // gt, add, add
  assert_sound();
}

static void a_value_from_outside_the_branch_is_copied(void** state) {
  (void)state;
  start();
  const uint32_t before = graph_add(&g, x, x);
  const uint32_t cond = start_cond(x);
  start_else(cond);
  const uint32_t c = graph_add(&g, before, x);
  end_cond();
  const uint32_t y = graph_join(&g, cond, token, before, c);
  graph_output(&g, "y", y);
  graph_output(&g, "before", before);

  graph_place(&g, AS_WRITTEN);

  assert_false(share_bytes(before, y));
  assert_true(share_bytes(c, y));
  assert_int_equal(count_instructions(), 4);  // add, gt, clone, add
  assert_sound();
}

// One value cannot be in two storages.
static void a_value_that_is_two_results_is_copied_once(void** state) {
  (void)state;
  start();
  const uint32_t outer = start_cond(x);
  const uint32_t outer_token = token;
  const uint32_t inner =
      graph_cond(&g,
                 &(const etx_ir_arg){
                     ETX_IR_ARG_VALUE,
                     {.value = graph_current(&g)->nodes[2].args[0].as.value}},
                 &token);
  graph_branch(&g, etx_ir_then_branch(inner));
  const uint32_t a = graph_add(&g, x, x);
  graph_branch(&g, etx_ir_else_branch(inner));
  const uint32_t b = graph_clone(&g, x);
  graph_branch(&g, etx_ir_then_branch(outer));
  const uint32_t i = graph_join(&g, inner, token, a, b);
  start_else(outer);
  const uint32_t c = graph_add(&g, x, x);
  const uint32_t d = graph_add(&g, c, x);
  end_cond();
  const uint32_t y = graph_join(&g, outer, outer_token, i, c);
  const uint32_t z = graph_join(&g, outer, outer_token, i, d);
  graph_output(&g, "y", y);
  graph_output(&g, "z", z);

  graph_place(&g, AS_WRITTEN);

  assert_true(share_bytes(i, y));
  assert_false(share_bytes(y, z));
  assert_sound();
}

static void a_branch_updates_a_state_in_place(void** state) {
  (void)state;
  const uint32_t h = graph_state(&g, "h", 1, SIZES(4), 0);
  start();
  const uint32_t old = graph_buffer(&g, h);
  const uint32_t cond = start_cond(x);
  const uint32_t a = graph_add(&g, old, x);
  start_else(cond);
  end_cond();
  const uint32_t y = graph_join(&g, cond, token, a, old);
  graph_mutate(&g, h, y);

  graph_place(&g, AS_WRITTEN);

  assert_true(share_bytes(a, old));
  assert_true(share_bytes(y, old));
  assert_int_equal(count_instructions(),
                   2);  // gt, add: the other branch has nothing to do
  assert_int_equal(g.context.copies.count, 0);
  assert_sound();
}

static void old_content_is_saved_before_the_conditional(void** state) {
  (void)state;
  const uint32_t h = graph_state(&g, "h", 1, SIZES(4), 0);
  start();
  const uint32_t old = graph_buffer(&g, h);
  const uint32_t cond = start_cond(x);
  const uint32_t a = graph_add(&g, old, x);
  start_else(cond);
  const uint32_t b = graph_add(&g, x, x);
  end_cond();
  const uint32_t y = graph_join(&g, cond, token, a, b);
  graph_mutate(&g, h, y);
  graph_output(&g, "old", old);

  graph_place(&g, AS_WRITTEN);

  assert_int_equal(g.context.copies.count, 1);
  assert_sound();
  // The copy runs whichever branch does.
  const etx_ir_method* const method = &g.module.methods[0];
  const uint32_t shown = method->outputs[0].arg.as.value;
  assert_int_equal(method->nodes[method->values[shown].index].branch, 0);
}

// ---------------------------------------------------------------- jumps

static size_t count_jumps(void) {
  etx_pte pte;
  const etx_pte_plan plan = graph_read_plan(&g, "m", &pte);
  size_t count = 0;
  for (size_t i = 0; i < etx_pte_instruction_count(&plan, 0); ++i) {
    count +=
        etx_pte_instruction_at(&plan, 0, i).kind == ETX_PTE_JUMP_FALSE_CALL;
  }
  return count;
}

static void assert_proved(void) {
  etx_diag diag;
  etx_diag_init(&diag);
  const etx_bytes file = {g.file, g.file_size};
  if (etx_verify_program(file, NULL, &diag) != ETX_OK) {
    fail_msg("%s", diag.text);
  }
}

static void a_branch_without_instructions_has_no_jump(void** state) {
  (void)state;
  const uint32_t h = graph_state(&g, "h", 1, SIZES(4), 0);
  start();
  const uint32_t old = graph_buffer(&g, h);
  const uint32_t cond = start_cond(x);
  const uint32_t a = graph_add(&g, old, x);
  start_else(cond);
  end_cond();
  graph_mutate(&g, h, graph_join(&g, cond, token, a, old));
  g.options.passes = AS_WRITTEN;
  graph_plan(&g);
  assert_int_equal(count_jumps(), 1);
  assert_proved();
}

// A size that one branch computed is computed again where it is needed.
static void sizes_are_computed_in_every_branch(void** state) {
  (void)state;
  graph_method(&g, "m");
  const etx_dim n = graph_symbol(&g, "n", 2, 8);
  x = graph_input(&g, "x", 1, SIZES(n));
  etx_dim less = 0;
  assert_int_equal(etx_symbols_apply(&graph_current(&g)->symbols,
                                     ETX_SYMBOL_SUBTRACT, n, 1, &less),
                   ETX_OK);
  const uint32_t cond = start_cond(x);
  const uint32_t a = graph_slice(&g, x, 0, 0, less);
  const uint32_t b = graph_add(&g, a, a);
  start_else(cond);
  const uint32_t c = graph_slice(&g, x, 0, 1, n);
  end_cond();
  const uint32_t y = graph_join(&g, cond, token, b, c);
  graph_output(&g, "y", y);
  graph_output(&g, "z", graph_slice(&g, x, 0, 0, less));
  g.options.passes = AS_WRITTEN;
  graph_plan(&g);
  assert_int_equal(count_jumps(), 2);
  assert_proved();
  etx_pte pte;
  const etx_pte_plan plan = graph_read_plan(&g, "m", &pte);
  assert_int_equal(graph_count_calls(&plan, "aten::sym_size.int"), 3);
}

int main(void) {
#define TEST(name) GRAPH_TEST(name, &g)
  const struct CMUnitTest tests[] = {
      TEST(both_branches_compute_in_the_storage_of_the_result),
      TEST(a_value_from_outside_the_branch_is_copied),
      TEST(a_value_that_is_two_results_is_copied_once),
      TEST(a_branch_updates_a_state_in_place),
      TEST(old_content_is_saved_before_the_conditional),
      TEST(a_branch_without_instructions_has_no_jump),
      TEST(sizes_are_computed_in_every_branch),
  };
#undef TEST
  return cmocka_run_group_tests(tests, NULL, NULL);
}
