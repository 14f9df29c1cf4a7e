// From liveness to offsets: which blocks may share bytes, within a method and
// between methods.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "exporter/arenas/concurrent_methods.h"
#include "exporter/ir/ir_cond.h"
#include "exporter/placement/liveness.h"
#include "exporter/arenas/plan_memory.h"
#include "tests/exporter/graph.h"

static graph g;

static etx_live_interval lifetime_of(uint32_t value) {
  const etx_placement* const placement = graph_placement(&g, g.method);
  etx_live_interval* lifetimes = NULL;
  assert_int_equal(
      etx_liveness_find(&g.pool, graph_current(&g), placement, &lifetimes),
      ETX_OK);
  return lifetimes[etx_placement_range(placement, value).storage];
}

static void a_value_lives_from_its_node_to_its_last_reader(void** state) {
  (void)state;
  graph_method(&g, "m");
  const uint32_t x = graph_input(&g, "x", 1, SIZES(4));
  const uint32_t a = graph_add(&g, x, x);
  const uint32_t b = graph_add(&g, a, a);
  const uint32_t view = graph_view(&g, a, 2, SIZES(2, 2));
  const uint32_t c = graph_view(&g, b, 2, SIZES(2, 2));
  const uint32_t sum = graph_add(&g, c, view);
  graph_output(&g, "y", sum);
  graph_place(&g, AS_WRITTEN ",-reuse_operand_storage");

  assert_int_equal(lifetime_of(a).start, 0);
  assert_int_equal(lifetime_of(a).end, 5);  // the view is read at 4
  assert_int_equal(lifetime_of(b).start, 1);
  assert_int_equal(lifetime_of(b).end, 5);
  assert_int_equal(lifetime_of(sum).start, 4);
  assert_int_equal(lifetime_of(sum).end, 6);  // until after the last node
}

static void an_unread_value_is_live_at_its_node(void** state) {
  (void)state;
  graph_method(&g, "m");
  const uint32_t x = graph_input(&g, "x", 1, SIZES(4));
  const uint32_t unread = graph_add(&g, x, x);
  graph_output(&g, "y", graph_add(&g, x, x));
  graph_place(&g, AS_WRITTEN);
  assert_int_equal(lifetime_of(unread).start, 0);
  assert_int_equal(lifetime_of(unread).end, 1);
}

static void planned_inputs_live_from_the_start(void** state) {
  (void)state;
  g.options.target = ETX_TARGET_EXECUTORCH;
  graph_method(&g, "m");
  const uint32_t x = graph_input(&g, "x", 1, SIZES(4));
  const uint32_t y = graph_add(&g, x, x);
  graph_output(&g, "x", x);
  graph_output(&g, "y", y);
  graph_place(&g, AS_WRITTEN);
  assert_int_equal(lifetime_of(x).start, 0);
  assert_int_equal(lifetime_of(x).end, 2);
}

static uint64_t offset_of(uint32_t method, uint32_t value) {
  const etx_placement* const placement = graph_placement(&g, method);
  const etx_storage_range range = etx_placement_range(placement, value);
  return placement->storages[range.storage].offset + range.start;
}

static etx_memory_plan* plan(void) {
  etx_memory_plan* memory = NULL;
  const etx_memory_options options = {.algorithm = NULL};
  if (etx_plan_memory(&g.module, g.context.placements, &options, &memory,
                      &g.diag) != ETX_OK) {
    fail_msg("%s", g.diag.text);
  }
  return memory;
}

static void methods_start_again_at_0(void** state) {
  (void)state;
  uint32_t outputs[2];
  for (size_t i = 0; i < 2; ++i) {
    graph_method(&g, i == 0 ? "a" : "b");
    const uint32_t x = graph_input(&g, "x", 1, SIZES(4));
    outputs[i] = graph_add(&g, x, x);
    graph_output(&g, "y", outputs[i]);
  }
  graph_place(&g, AS_WRITTEN);
  const etx_memory_plan* const memory = plan();
  assert_int_equal(offset_of(0, outputs[0]), 0);
  assert_int_equal(offset_of(1, outputs[1]), 0);
  assert_int_equal(memory[0].scratch_bytes, 16);
}

static void concurrent_methods_do_not_overlap(void** state) {
  static const char* const names[] = {"a", "b", "c"};
  uint32_t outputs[3];
  size_t at = 0;
  (void)state;
  for (size_t i = 0; i < 3; ++i) {
    graph_method(&g, names[i]);
    const uint32_t x = graph_input(&g, "x", 1, SIZES(5 + 10 * (int64_t)i));
    outputs[i] = graph_add(&g, x, x);
    graph_output(&g, "y", outputs[i]);
  }
  graph_current(&g)->outputs[0].lifetime = ETX_IR_STABLE;
  graph_place(&g, AS_WRITTEN);
  const etx_text pair[] = {etx_text_of("a"), etx_text_of("b")};
  assert_int_equal(etx_concurrent_methods_add(&g.module, pair, 2, &at, &g.diag),
                   ETX_OK);
  const etx_memory_plan* const memory = plan();
  // The larger one lies below; stable outputs above all.
  assert_int_equal(offset_of(1, outputs[1]), 0);
  assert_int_equal(offset_of(0, outputs[0]), 64);
  assert_int_equal(memory[0].range_start, 64);
  assert_int_equal(memory[0].planned_bytes, 20);
  assert_int_equal(memory[0].scratch_bytes, 84);
  assert_int_equal(memory[1].scratch_bytes, 60);
  assert_int_equal(offset_of(2, outputs[2]), 96);
}

static void no_other_method_writes_over_a_stable_output(void** state) {
  (void)state;
  graph_method(&g, "big");
  const uint32_t x = graph_input(&g, "x", 1, SIZES(100));
  graph_output(&g, "y", graph_add(&g, x, x));
  uint32_t stable[2];
  for (size_t i = 0; i < 2; ++i) {
    graph_method(&g, i == 0 ? "s" : "t");
    const uint32_t z = graph_input(&g, "z", 1, SIZES(4));
    stable[i] = graph_add(&g, z, z);
    graph_output(&g, "z", stable[i]);
    graph_current(&g)->outputs[0].lifetime = ETX_IR_STABLE;
  }
  graph_place(&g, AS_WRITTEN);
  const etx_memory_plan* const memory = plan();
  assert_int_equal(memory[0].scratch_bytes, 400);
  assert_int_equal(offset_of(1, stable[0]), 400);
  assert_int_equal(offset_of(2, stable[1]), 416);
  assert_int_equal(memory[2].scratch_bytes, 432);
}

// x is read in both branches, but not needed in the first one once `a` is
// there; the result lies where it is computed in the second.
static void a_branch_reuses_a_block_that_only_the_other_one_needs(
    void** state) {
  (void)state;
  uint32_t token = 0;
  graph_method(&g, "m");
  const uint32_t x = graph_input(&g, "x", 1, SIZES(64));
  const uint32_t wide = graph_add(&g, x, x);
  const uint32_t first = graph_slice(&g, x, 0, 0, 1);
  const etx_ir_arg condition = VALUE(graph_node(
      &g, ETX_OP_gt_scalar_out, ARGS(VALUE(first), {ETX_IR_ARG_DOUBLE, {0}})));
  const uint32_t cond = graph_cond(&g, &condition, &token);
  graph_branch(&g, etx_ir_then_branch(cond));
  const uint32_t a = graph_add(&g, wide, wide);
  const uint32_t b = graph_add(&g, a, x);
  const uint32_t c = graph_add(&g, a, b);
  graph_branch(&g, etx_ir_else_branch(cond));
  const uint32_t d = graph_add(&g, wide, x);
  graph_branch(&g, 0);
  graph_output(&g, "y", graph_join(&g, cond, token, c, d));
  graph_place(&g, AS_WRITTEN ",-reuse_operand_storage");
  const etx_live_interval of_wide = lifetime_of(wide);
  assert_int_equal(of_wide.gap_count, 1);
  assert_true(etx_live_interval_covers(&of_wide, of_wide.start));
  assert_false(etx_live_interval_covers(&of_wide, of_wide.gaps[0].start));
  assert_true(etx_live_interval_covers(&of_wide, of_wide.end - 1));
  assert_false(etx_live_interval_covers(&of_wide, of_wide.end));
  // b, c, and a copy of c to where the result lies.
  assert_int_equal(of_wide.gaps[0].end - of_wide.gaps[0].start, 3);
  const etx_memory_plan* const memory = plan();
  // a, b and c are live together, and nothing else then.
  assert_int_equal(memory[0].scratch_bytes, 3 * 256);
  assert_int_equal(memory[0].lower_bound, 3 * 256);
}

static void the_bound_and_the_peak_are_reported(void** state) {
  (void)state;
  graph_method(&g, "m");
  const uint32_t x = graph_input(&g, "x", 1, SIZES(4));
  const uint32_t a = graph_add(&g, x, x);
  const uint32_t b = graph_add(&g, x, a);
  const uint32_t c = graph_add(&g, a, b);
  graph_output(&g, "c", c);
  graph_place(&g, AS_WRITTEN ",-reuse_operand_storage");
  const etx_memory_plan* const memory = plan();
  assert_int_equal(memory[0].block_count, 3);
  assert_int_equal(memory[0].peak_node, 2);
  assert_int_equal(memory[0].lower_bound, 48);
  assert_int_equal(memory[0].scratch_bytes, 48);
}

int main(void) {
#define TEST(name) GRAPH_TEST(name, &g)
  const struct CMUnitTest tests[] = {
      TEST(a_value_lives_from_its_node_to_its_last_reader),
      TEST(an_unread_value_is_live_at_its_node),
      TEST(planned_inputs_live_from_the_start),
      TEST(methods_start_again_at_0),
      TEST(concurrent_methods_do_not_overlap),
      TEST(no_other_method_writes_over_a_stable_output),
      TEST(a_branch_reuses_a_block_that_only_the_other_one_needs),
      TEST(the_bound_and_the_peak_are_reported),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
