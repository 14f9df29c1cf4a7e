// The bufferize passes: views, updates in place, copies at the end, reuse of
// operand storage, self-copies.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "exporter/placement/placement_check.h"
#include "tests/exporter/graph.h"

static graph g;

static etx_placement_kind placement_kind_of(uint32_t value) {
  return graph_placement(&g, 0)->values[value].kind;
}

static etx_storage_kind kind_of(uint32_t value) {
  const etx_placement* const placement = graph_placement(&g, 0);
  return placement->storages[etx_placement_range(placement, value).storage]
      .kind;
}

static bool share_bytes(uint32_t a, uint32_t b) {
  const etx_placement* const placement = graph_placement(&g, 0);
  return etx_storage_range_equal(etx_placement_range(placement, a),
                                 etx_placement_range(placement, b));
}

static size_t copies_of(uint32_t method) {
  size_t count = 0;
  for (size_t i = 0; i < g.context.copies.count; ++i) {
    count += g.context.copies.items[i].method == method;
  }
  return count;
}

// Every read finds the right value.
static void assert_sound(void) {
  for (uint32_t m = 0; m < g.module.method_count; ++m) {
    const etx_placement* const placement = graph_placement(&g, m);
    for (uint32_t s = 0; s < placement->storage_count; ++s) {
      etx_placement_conflicts conflicts = {0};
      assert_int_equal(
          etx_placement_check(&g.pool, &g.module.methods[m], placement, s,
                              ETX_PLACEMENT_CHECK_ALL, &conflicts),
          ETX_OK);
      assert_int_equal(conflicts.count, 0);
    }
  }
}

// ---- updates in place ----

static void an_elementwise_update_is_computed_in_the_state(void** state) {
  (void)state;
  const uint32_t h = graph_state(&g, "h", 1, SIZES(4), 0);
  graph_method(&g, "step");
  const uint32_t old = graph_buffer(&g, h);
  const uint32_t next = graph_add(&g, old, graph_input(&g, "x", 1, SIZES(4)));
  graph_mutate(&g, h, next);
  graph_output(&g, "h", next);

  graph_place(&g, AS_WRITTEN);

  assert_true(share_bytes(old, next));
  assert_int_equal(graph_count_running(&g, 0), 1);
  assert_int_equal(copies_of(0), 0);
  assert_sound();
}

static void a_chain_of_row_updates_collapses(void** state) {
  (void)state;
  const uint32_t cache = graph_state(&g, "cache", 3, SIZES(2, 4, 3), 0);
  graph_method(&g, "step");
  const uint32_t x = graph_input(&g, "x", 2, SIZES(4, 3));
  const uint32_t zero = graph_buffer(&g, cache);
  const uint32_t row0 = graph_select(&g, zero, 0, 0);
  const uint32_t sum0 = graph_add(&g, row0, x);
  const uint32_t one = graph_select_scatter(&g, zero, sum0, 0, 0);
  const uint32_t row1 = graph_select(&g, one, 0, 1);
  const uint32_t sum1 = graph_add(&g, row1, sum0);
  const uint32_t two = graph_select_scatter(&g, one, sum1, 0, 1);
  graph_mutate(&g, cache, two);
  graph_output(&g, "row", sum1);

  graph_place(&g, AS_WRITTEN);

  assert_int_equal(placement_kind_of(two), ETX_PLACEMENT_UPDATED_IN_PLACE);
  assert_int_equal(placement_kind_of(one), ETX_PLACEMENT_UPDATED_IN_PLACE);
  assert_true(share_bytes(row1, sum1));
  assert_int_equal(graph_count_running(&g, 0), 2);
  assert_int_equal(copies_of(0), 0);
  assert_sound();
}

static void unrelated_new_content_is_computed_in_the_state(void** state) {
  (void)state;
  const uint32_t h = graph_state(&g, "h", 1, SIZES(4), 0);
  graph_method(&g, "set");
  const uint32_t x = graph_input(&g, "x", 1, SIZES(4));
  const uint32_t next = graph_add(&g, x, x);
  graph_mutate(&g, h, next);

  graph_place(&g, AS_WRITTEN);

  assert_int_equal(kind_of(next), ETX_STORAGE_STATE);
  assert_int_equal(graph_count_running(&g, 0), 1);
  assert_sound();
}

static void an_update_that_only_the_end_reads_moves_behind_readers(
    void** state) {
  (void)state;
  const uint32_t h = graph_state(&g, "h", 1, SIZES(4), 0);
  graph_method(&g, "step");
  const uint32_t old = graph_buffer(&g, h);
  const uint32_t x = graph_input(&g, "x", 1, SIZES(4));
  const uint32_t next = graph_add(&g, old, x);
  const uint32_t y = graph_add(&g, old, old);
  graph_mutate(&g, h, next);
  graph_output(&g, "y", y);

  graph_place(&g, AS_WRITTEN);

  assert_int_equal(kind_of(next), ETX_STORAGE_STATE);
  assert_int_equal(copies_of(0), 0);
  assert_int_equal(graph_count_running(&g, 0), 2);
  assert_sound();
}

static void old_content_that_is_needed_later_costs_one_copy(void** state) {
  (void)state;
  const uint32_t h = graph_state(&g, "h", 1, SIZES(4), 0);
  graph_method(&g, "step");
  const uint32_t old = graph_buffer(&g, h);
  const uint32_t x = graph_input(&g, "x", 1, SIZES(4));
  const uint32_t next = graph_add(&g, old, x);
  const uint32_t y = graph_add(&g, next, old);  // reads both
  const uint32_t z = graph_add(&g, y, next);
  graph_mutate(&g, h, next);
  graph_output(&g, "z", z);

  graph_place(&g, AS_WRITTEN);

  assert_int_equal(copies_of(0), 1);
  assert_sound();
}

static void only_the_part_that_is_read_later_is_saved(void** state) {
  (void)state;
  const uint32_t cache = graph_state(&g, "cache", 2, SIZES(8, 4), 0);
  graph_method(&g, "step");
  const uint32_t old = graph_buffer(&g, cache);
  const uint32_t row = graph_select(&g, old, 0, 2);
  const uint32_t next = graph_add(&g, old, old);
  const uint32_t y = graph_add(&g, row, graph_select(&g, next, 0, 3));
  graph_mutate(&g, cache, next);
  graph_output(&g, "y", y);

  graph_place(&g, AS_WRITTEN);

  assert_int_equal(kind_of(next), ETX_STORAGE_STATE);
  assert_int_equal(copies_of(0), 1);
  assert_int_equal(g.context.copies.items[0].bytes, 4 * 4);
  assert_sound();
}

// cache[:s] = x, written into the first rows of the state.
static void a_scatter_source_of_dynamic_size_is_computed_in_place(
    void** state) {
  (void)state;
  const uint32_t cache = graph_state(&g, "cache", 2, SIZES(8, 4), 0);
  graph_method(&g, "set");
  const etx_dim s = graph_symbol(&g, "s", 1, 8);
  const uint32_t x = graph_input(&g, "x", 2, SIZES(s, 4));
  const uint32_t old = graph_buffer(&g, cache);
  const uint32_t rows = graph_slice(&g, old, 0, 0, s);
  const uint32_t sum = graph_add(&g, rows, x);
  const uint32_t next = graph_slice_scatter(&g, old, sum, 0, 0, s);
  graph_mutate(&g, cache, next);

  graph_place(&g, AS_WRITTEN);

  assert_int_equal(placement_kind_of(next), ETX_PLACEMENT_UPDATED_IN_PLACE);
  assert_int_equal(kind_of(sum), ETX_STORAGE_STATE);
  assert_int_equal(graph_count_running(&g, 0), 1);
  assert_sound();
}

// The rows behind the source are those of another update, not of the old state.
static void a_saved_part_avoids_bytes_of_another_update(void** state) {
  (void)state;
  const uint32_t cache = graph_state(&g, "cache", 2, SIZES(8, 4), 0);
  graph_method(&g, "set");
  const etx_dim s = graph_symbol(&g, "s", 1, 8);
  const uint32_t x = graph_input(&g, "x", 2, SIZES(s, 4));
  const uint32_t row = graph_input(&g, "row", 1, SIZES(4));
  const uint32_t old = graph_buffer(&g, cache);
  const uint32_t one =
      graph_select_scatter(&g, old, graph_add(&g, row, row), 0, 5);
  const uint32_t sum = graph_add(&g, x, x);
  const uint32_t next = graph_slice_scatter(&g, one, sum, 0, 0, s);
  const uint32_t other = graph_slice_scatter(&g, old, sum, 0, 0, s);
  graph_mutate(&g, cache, other);
  graph_output(&g, "y", next);

  graph_place(&g, AS_WRITTEN);

  assert_int_equal(kind_of(next), ETX_STORAGE_SCRATCH);
  assert_sound();
}

// ---- copies at the end ----

static void a_swap_of_two_states_takes_three_copies(void** state) {
  (void)state;
  const uint32_t a = graph_state(&g, "a", 1, SIZES(4), 1);
  const uint32_t b = graph_state(&g, "b", 1, SIZES(4), 2);
  graph_method(&g, "swap");
  graph_mutate(&g, a, graph_buffer(&g, b));
  graph_mutate(&g, b, graph_buffer(&g, a));

  graph_place(&g, AS_WRITTEN);

  assert_int_equal(graph_count_running(&g, 0), 3);
  assert_sound();
}

static void a_chain_of_copies_needs_no_extra_copy(void** state) {
  (void)state;
  const uint32_t a = graph_state(&g, "a", 1, SIZES(4), 1);
  const uint32_t b = graph_state(&g, "b", 1, SIZES(4), 2);
  graph_method(&g, "shift");
  const uint32_t x = graph_input(&g, "x", 1, SIZES(4));
  graph_mutate(&g, b, x);  // must wait until a has b's old content
  graph_mutate(&g, a, graph_buffer(&g, b));

  graph_place(&g, AS_WRITTEN);

  assert_int_equal(graph_count_running(&g, 0), 2);
  assert_sound();
}

static void the_old_content_as_output_is_saved_first(void** state) {
  (void)state;
  const uint32_t h = graph_state(&g, "h", 1, SIZES(4), 0);
  graph_method(&g, "take");
  const uint32_t old = graph_buffer(&g, h);
  graph_mutate(&g, h, graph_add(&g, old, old));
  graph_output(&g, "before", old);

  graph_place(&g, AS_WRITTEN);

  const uint32_t shown = graph_current(&g)->outputs[0].arg.as.value;
  assert_int_equal(kind_of(shown), ETX_STORAGE_SCRATCH);
  assert_int_equal(graph_count_running(&g, 0), 2);
  assert_sound();
}

static void one_value_for_two_states_is_written_twice(void** state) {
  (void)state;
  const uint32_t a = graph_state(&g, "a", 1, SIZES(4), 0);
  const uint32_t b = graph_state(&g, "b", 1, SIZES(4), 0);
  graph_method(&g, "both");
  const uint32_t x = graph_input(&g, "x", 1, SIZES(4));
  const uint32_t sum = graph_add(&g, x, x);
  graph_mutate(&g, a, sum);
  graph_mutate(&g, b, sum);
  graph_output(&g, "sum", sum);

  graph_place(&g, AS_WRITTEN);

  assert_int_equal(kind_of(sum), ETX_STORAGE_STATE);
  assert_int_equal(graph_count_running(&g, 0), 2);
  assert_sound();
}

static void new_content_that_is_overwritten_early_is_copied_before(
    void** state) {
  (void)state;
  const uint32_t a = graph_state(&g, "a", 1, SIZES(4), 1);
  const uint32_t b = graph_state(&g, "b", 1, SIZES(4), 2);
  graph_method(&g, "push");
  const uint32_t old_b = graph_buffer(&g, b);
  const uint32_t x = graph_input(&g, "x", 1, SIZES(4));
  const uint32_t next = graph_add(&g, old_b, x);
  const uint32_t y = graph_add(&g, next, x);
  graph_mutate(&g, b, next);
  graph_mutate(&g, a, old_b);
  graph_output(&g, "y", y);

  graph_place(&g, AS_WRITTEN);

  assert_int_equal(copies_of(0), 1);
  assert_int_equal(graph_count_running(&g, 0), 3);
  assert_sound();
}

static void a_mutable_input_is_written_in_the_callers_buffer(void** state) {
  (void)state;
  graph_method(&g, "fill");
  const uint32_t x = graph_input(&g, "x", 1, SIZES(4));
  const uint32_t next = graph_add(&g, x, x);
  graph_mutate_input(&g, x, next);

  graph_place(&g, AS_WRITTEN);

  assert_int_equal(kind_of(next), ETX_STORAGE_INPUT);
  assert_int_equal(graph_count_running(&g, 0), 1);
  assert_sound();
}

static void for_executorch_mutable_inputs_are_planned(void** state) {
  (void)state;
  g.options.target = ETX_TARGET_EXECUTORCH;
  graph_method(&g, "fill");
  const uint32_t x = graph_input(&g, "x", 1, SIZES(4));
  const uint32_t y = graph_input(&g, "y", 1, SIZES(4));
  const uint32_t next = graph_add(&g, x, y);
  graph_mutate_input(&g, x, next);

  graph_place(&g, AS_WRITTEN);

  assert_int_equal(kind_of(x), ETX_STORAGE_SCRATCH);
  assert_true(share_bytes(x, next));
  assert_int_equal(kind_of(y), ETX_STORAGE_INPUT);
  assert_sound();
}

static void without_update_in_place_everything_is_copied_back(void** state) {
  (void)state;
  const uint32_t h = graph_state(&g, "h", 1, SIZES(4), 0);
  graph_method(&g, "step");
  const uint32_t old = graph_buffer(&g, h);
  const uint32_t next = graph_add(&g, old, old);
  graph_mutate(&g, h, next);

  graph_place(&g, AS_WRITTEN ",-update_in_place");

  assert_int_equal(kind_of(next), ETX_STORAGE_SCRATCH);
  assert_int_equal(graph_count_running(&g, 0), 2);
  assert_sound();
}

// ---- views ----

static void views_of_fixed_sizes_have_no_instruction(void** state) {
  (void)state;
  graph_method(&g, "m");
  const uint32_t x = graph_input(&g, "x", 2, SIZES(4, 3));
  const uint32_t sum = graph_add(&g, x, x);
  const uint32_t flat = graph_view(&g, sum, 1, SIZES(12));
  const uint32_t row = graph_slice(&g, flat, 0, 3, 6);
  graph_output(&g, "y", graph_add(&g, row, row));

  graph_place(&g, AS_WRITTEN);

  assert_int_equal(placement_kind_of(flat), ETX_PLACEMENT_ALIAS);
  assert_int_equal(placement_kind_of(row), ETX_PLACEMENT_ALIAS);
  assert_int_equal(etx_placement_range(graph_placement(&g, 0), row).start, 12);
  assert_int_equal(graph_count_running(&g, 0), 2);
}

static void views_of_the_callers_memory_are_made_at_run_time(void** state) {
  (void)state;
  graph_method(&g, "m");
  const uint32_t x = graph_input(&g, "x", 2, SIZES(4, 3));
  const uint32_t flat = graph_view(&g, x, 1, SIZES(12));
  const uint32_t row = graph_select(&g, x, 0, 1);
  graph_output(&g, "y", graph_add(&g, flat, flat));
  graph_output(&g, "z", graph_add(&g, row, row));

  graph_place(&g, AS_WRITTEN);

  assert_int_equal(placement_kind_of(flat), ETX_PLACEMENT_DYNAMIC_VIEW);
  assert_int_equal(placement_kind_of(row), ETX_PLACEMENT_DYNAMIC_VIEW);
}

static void for_executorch_slices_of_inputs_are_copied(void** state) {
  (void)state;
  g.options.target = ETX_TARGET_EXECUTORCH;
  graph_method(&g, "m");
  const uint32_t x = graph_input(&g, "x", 2, SIZES(4, 3));
  const uint32_t row = graph_select(&g, x, 0, 1);
  graph_output(&g, "z", graph_add(&g, row, row));
  graph_place(&g, AS_WRITTEN);
  assert_int_equal(placement_kind_of(row), ETX_PLACEMENT_COMPUTED);
}

static void slices_of_dynamic_length_are_made_at_run_time(void** state) {
  (void)state;
  const uint32_t cache = graph_state(&g, "cache", 2, SIZES(8, 4), 0);
  graph_method(&g, "m");
  const etx_dim s = graph_symbol(&g, "s", 1, 8);
  const uint32_t x = graph_input(&g, "x", 2, SIZES(s, 4));
  const uint32_t rows = graph_node(
      &g, ETX_OP_slice_copy_tensor_out,
      ARGS(VALUE(graph_buffer(&g, cache)), INT(0), INT(0), INT(s), INT(1)));
  graph_output(&g, "y", graph_add(&g, rows, x));
  graph_place(&g, AS_WRITTEN);
  assert_int_equal(placement_kind_of(rows), ETX_PLACEMENT_DYNAMIC_VIEW);
  assert_int_equal(graph_count_running(&g, 0), 1);
}

// Row 1 of a sum of 2 rows and s columns, which starts at element s.
static uint32_t second_row_of_sum(uint32_t* out_first) {
  graph_method(&g, "m");
  const etx_dim s = graph_symbol(&g, "s", 1, 8);
  const uint32_t x = graph_input(&g, "x", 2, SIZES(2, s));
  const uint32_t sum = graph_add(&g, x, x);
  *out_first = graph_select(&g, sum, 0, 0);
  const uint32_t second = graph_select(&g, sum, 0, 1);
  graph_output(&g, "y", graph_add(&g, *out_first, second));
  return second;
}

static void parts_at_dynamic_offsets_are_made_at_run_time(void** state) {
  (void)state;
  uint32_t first = 0;
  const uint32_t second = second_row_of_sum(&first);
  graph_place(&g, AS_WRITTEN);
  assert_int_equal(placement_kind_of(first), ETX_PLACEMENT_DYNAMIC_VIEW);
  assert_int_equal(placement_kind_of(second), ETX_PLACEMENT_DYNAMIC_PART);
  const etx_placement* const placement = graph_placement(&g, 0);
  assert_true(etx_placement_has_fixed_offset(placement, first));
  assert_false(etx_placement_has_fixed_offset(placement, second));
  // No byte of the sum may be reused while the part is read.
  const etx_storage_range range = etx_placement_range(placement, second);
  assert_int_equal(range.end - range.start, 2 * 8 * 4);
  assert_int_equal(graph_count_running(&g, 0), 2);
}

static void for_executorch_parts_at_dynamic_offsets_are_copied(void** state) {
  (void)state;
  uint32_t first = 0;
  g.options.target = ETX_TARGET_EXECUTORCH;
  const uint32_t second = second_row_of_sum(&first);
  graph_place(&g, AS_WRITTEN);
  assert_int_equal(placement_kind_of(second), ETX_PLACEMENT_COMPUTED);
}

static void views_of_dynamic_sizes_are_made_at_run_time(void** state) {
  (void)state;
  graph_method(&g, "m");
  const etx_dim s = graph_symbol(&g, "s", 1, 8);
  const uint32_t x = graph_input(&g, "x", 2, SIZES(s, 4));
  const uint32_t sum = graph_add(&g, x, x);
  const uint32_t view = graph_view(&g, sum, 3, SIZES(s, 2, 2));
  const uint32_t same = graph_view(&g, view, 3, SIZES(s, 2, 2));
  graph_output(&g, "y", graph_add(&g, same, same));

  graph_place(&g, AS_WRITTEN);

  assert_int_equal(placement_kind_of(view), ETX_PLACEMENT_DYNAMIC_VIEW);
  assert_int_equal(placement_kind_of(same), ETX_PLACEMENT_ALIAS);
}

// ---- scratch ----

static void a_result_takes_over_an_argument_that_dies(void** state) {
  (void)state;
  graph_method(&g, "m");
  const uint32_t x = graph_input(&g, "x", 1, SIZES(4));
  const uint32_t a = graph_add(&g, x, x);
  const uint32_t b = graph_add(&g, a, x);
  const uint32_t c = graph_add(&g, a, b);  // a dies, b dies
  graph_output(&g, "c", c);

  graph_place(&g, AS_WRITTEN);

  assert_false(share_bytes(a, b));
  assert_true(share_bytes(a, c));
}

static void an_argument_that_is_an_output_is_not_overwritten(void** state) {
  (void)state;
  graph_method(&g, "m");
  const uint32_t x = graph_input(&g, "x", 1, SIZES(4));
  const uint32_t a = graph_add(&g, x, x);
  const uint32_t b = graph_add(&g, a, a);
  graph_output(&g, "a", a);
  graph_output(&g, "b", b);

  graph_place(&g, AS_WRITTEN);

  assert_false(share_bytes(a, b));
}

static void an_argument_with_a_live_view_is_not_overwritten(void** state) {
  (void)state;
  graph_method(&g, "m");
  const uint32_t x = graph_input(&g, "x", 1, SIZES(4));
  const uint32_t a = graph_add(&g, x, x);
  const uint32_t view = graph_view(&g, a, 2, SIZES(2, 2));
  const uint32_t b = graph_add(&g, a, x);
  graph_output(&g, "b", b);
  graph_output(&g, "c", graph_add(&g, view, view));

  graph_place(&g, AS_WRITTEN);

  assert_false(share_bytes(a, b));
}

static void a_broadcast_argument_is_not_overwritten(void** state) {
  (void)state;
  graph_method(&g, "m");
  const uint32_t x = graph_input(&g, "x", 2, SIZES(2, 2));
  const uint32_t row = graph_input(&g, "row", 2, SIZES(1, 4));
  const uint32_t a = graph_add(&g, row, row);  // [1, 4]
  const uint32_t b = graph_view(&g, a, 2, SIZES(4, 1));
  const uint32_t c = graph_add(&g, b, graph_view(&g, x, 2, SIZES(1, 4)));
  graph_output(&g, "c", c);

  graph_place(&g, AS_WRITTEN ",-alias_views");

  assert_false(share_bytes(a, c));
  assert_false(share_bytes(b, c));
}

// ---- concatenations ----

static void operands_of_a_concatenation_are_computed_in_it(void** state) {
  (void)state;
  graph_method(&g, "m");
  const uint32_t x = graph_input(&g, "x", 2, SIZES(2, 4));
  const uint32_t parts[2] = {graph_add(&g, x, x), graph_add(&g, x, x)};
  const uint32_t joined = graph_cat(&g, parts, 2, 0);
  graph_output(&g, "y", joined);

  graph_place(&g, AS_WRITTEN);

  const etx_placement* const placement = graph_placement(&g, 0);
  assert_int_equal(placement_kind_of(joined), ETX_PLACEMENT_CONCAT);
  assert_int_equal(etx_placement_range(placement, parts[0]).start, 0);
  assert_int_equal(etx_placement_range(placement, parts[1]).start, 32);
  assert_int_equal(etx_placement_range(placement, parts[1]).storage,
                   etx_placement_range(placement, joined).storage);
  assert_int_equal(graph_count_running(&g, 0), 2);
}

static void operands_that_are_not_contiguous_are_copied(void** state) {
  (void)state;
  graph_method(&g, "m");
  const uint32_t x = graph_input(&g, "x", 2, SIZES(2, 4));
  const uint32_t parts[2] = {graph_add(&g, x, x), graph_add(&g, x, x)};
  const uint32_t joined = graph_cat(&g, parts, 2, 1);
  graph_output(&g, "y", joined);
  graph_place(&g, AS_WRITTEN);
  assert_int_equal(placement_kind_of(joined), ETX_PLACEMENT_COMPUTED);
}

static void one_value_twice_is_copied(void** state) {
  (void)state;
  graph_method(&g, "m");
  const uint32_t x = graph_input(&g, "x", 2, SIZES(2, 4));
  const uint32_t sum = graph_add(&g, x, x);
  const uint32_t parts[2] = {sum, sum};
  const uint32_t joined = graph_cat(&g, parts, 2, 0);
  graph_output(&g, "y", joined);
  graph_place(&g, AS_WRITTEN);
  assert_int_equal(placement_kind_of(joined), ETX_PLACEMENT_COMPUTED);
}

static void an_operand_that_is_an_input_is_copied(void** state) {
  (void)state;
  graph_method(&g, "m");
  const uint32_t x = graph_input(&g, "x", 2, SIZES(2, 4));
  const uint32_t parts[2] = {x, graph_add(&g, x, x)};
  const uint32_t joined = graph_cat(&g, parts, 2, 0);
  graph_output(&g, "y", joined);
  graph_place(&g, AS_WRITTEN);
  assert_int_equal(placement_kind_of(joined), ETX_PLACEMENT_COMPUTED);
}

static void nested_concatenations_are_one_block(void** state) {
  (void)state;
  graph_method(&g, "m");
  const uint32_t x = graph_input(&g, "x", 2, SIZES(2, 4));
  const uint32_t inner[2] = {graph_add(&g, x, x), graph_add(&g, x, x)};
  const uint32_t outer[2] = {graph_add(&g, x, x), graph_cat(&g, inner, 2, 0)};
  const uint32_t joined = graph_cat(&g, outer, 2, 0);
  graph_output(&g, "y", joined);
  graph_place(&g, AS_WRITTEN);
  const etx_placement* const placement = graph_placement(&g, 0);
  assert_int_equal(placement_kind_of(joined), ETX_PLACEMENT_CONCAT);
  assert_int_equal(etx_placement_range(placement, inner[1]).start, 64);
}

// The sum of x, and that of y, whose numbers of rows vary, one after the other.
static uint32_t joined_sums(uint32_t parts[2]) {
  graph_method(&g, "m");
  const etx_dim s = graph_symbol(&g, "s", 1, 8);
  const etx_dim t = graph_symbol(&g, "t", 0, 3);
  const uint32_t x = graph_input(&g, "x", 2, SIZES(s, 3));
  const uint32_t y = graph_input(&g, "y", 2, SIZES(t, 3));
  parts[0] = graph_add(&g, x, x);
  parts[1] = graph_add(&g, y, y);
  const uint32_t joined = graph_cat(&g, parts, 2, 0);
  graph_output(&g, "z", joined);
  return joined;
}

static void operands_of_dynamic_sizes_are_computed_in_the_result(void** state) {
  (void)state;
  uint32_t parts[2];
  const uint32_t joined = joined_sums(parts);
  graph_place(&g, AS_WRITTEN);
  const etx_placement* const placement = graph_placement(&g, 0);
  assert_int_equal(placement_kind_of(joined), ETX_PLACEMENT_CONCAT);
  for (size_t i = 0; i < 2; ++i) {
    assert_int_equal(placement->values[parts[i]].part_of, joined + 1);
    assert_int_equal(etx_placement_range(placement, parts[i]).start, i * 96);
  }
  assert_int_equal(graph_count_running(&g, 0), 2);
}

static void for_executorch_operands_of_dynamic_sizes_are_copied(void** state) {
  (void)state;
  uint32_t parts[2];
  g.options.target = ETX_TARGET_EXECUTORCH;
  const uint32_t joined = joined_sums(parts);
  graph_place(&g, AS_WRITTEN);
  assert_int_equal(placement_kind_of(joined), ETX_PLACEMENT_COMPUTED);
}

static void a_concatenation_that_would_raise_the_peak_is_copied(void** state) {
  (void)state;
  graph_method(&g, "m");
  const uint32_t x = graph_input(&g, "x", 2, SIZES(4, 4));
  const uint32_t early = graph_slice(&g, graph_add(&g, x, x), 0, 0, 1);
  const uint32_t small = graph_add(&g, early, early);
  uint32_t big = graph_add(&g, x, x);
  for (size_t i = 0; i < 3; ++i) {
    const uint32_t next = graph_add(&g, big, x);
    big = graph_add(&g, next, big);
  }
  const uint32_t late = graph_slice(&g, big, 0, 0, 2);
  const uint32_t parts[2] = {small, graph_add(&g, late, late)};
  graph_output(&g, "y", graph_cat(&g, parts, 2, 0));
  graph_place(&g, AS_WRITTEN);
  assert_int_equal(
      placement_kind_of(graph_current(&g)->outputs[0].arg.as.value),
      ETX_PLACEMENT_COMPUTED);
}

// ---- self-copies ----

static void a_self_copy_makes_a_read_buffer_a_state(void** state) {
  (void)state;
  const uint32_t h = graph_state(&g, "h", 1, SIZES(4), 0);
  graph_method(&g, "get");
  const uint32_t value = graph_buffer(&g, h);
  graph_output(&g, "h", value);

  graph_place(&g, AS_WRITTEN);

  assert_int_not_equal(etx_ir_mutation_of_buffer(&g.module.methods[0], h),
                       ETX_IR_NONE);
  assert_int_equal(kind_of(value), ETX_STORAGE_STATE);
  assert_int_equal(graph_count_running(&g, 0), 0);
}

static void without_a_self_copy_a_read_buffer_is_a_constant(void** state) {
  (void)state;
  const uint32_t h = graph_state(&g, "h", 1, SIZES(4), 0);
  graph_method(&g, "get");
  const uint32_t value = graph_buffer(&g, h);
  graph_output(&g, "h", value);

  graph_place(&g, AS_WRITTEN ",!insert_self_copy");

  assert_int_equal(kind_of(value), ETX_STORAGE_CONSTANT);
}

static void an_unread_state_needs_no_self_copy(void** state) {
  (void)state;
  const uint32_t h = graph_state(&g, "h", 1, SIZES(4), 0);
  graph_method(&g, "other");
  graph_buffer(&g, h);
  graph_place(&g, AS_WRITTEN);
  assert_int_equal(g.module.methods[0].node_count, 0);
}

static void self_copies_are_removed(void** state) {
  (void)state;
  const uint32_t h = graph_state(&g, "h", 1, SIZES(4), 0);
  graph_method(&g, "get");
  graph_output(&g, "h", graph_buffer(&g, h));
  // An archive that brings such a copy along.
  const uint32_t k = graph_state(&g, "k", 1, SIZES(4), 0);
  graph_mutate(&g, k, graph_clone(&g, graph_buffer(&g, k)));

  graph_place(&g, AS_WRITTEN ",-alias_views,!remove_self_copy");
  assert_int_equal(graph_count_running(&g, 0), 2);

  assert_int_equal(etx_pass_remove_self_copy(&g.context), ETX_OK);
  assert_int_equal(graph_count_running(&g, 0), 0);
}

int main(void) {
#define TEST(name) GRAPH_TEST(name, &g)
  const struct CMUnitTest tests[] = {
      TEST(an_elementwise_update_is_computed_in_the_state),
      TEST(a_chain_of_row_updates_collapses),
      TEST(unrelated_new_content_is_computed_in_the_state),
      TEST(an_update_that_only_the_end_reads_moves_behind_readers),
      TEST(old_content_that_is_needed_later_costs_one_copy),
      TEST(only_the_part_that_is_read_later_is_saved),
      TEST(a_scatter_source_of_dynamic_size_is_computed_in_place),
      TEST(a_saved_part_avoids_bytes_of_another_update),
      TEST(a_swap_of_two_states_takes_three_copies),
      TEST(a_chain_of_copies_needs_no_extra_copy),
      TEST(the_old_content_as_output_is_saved_first),
      TEST(one_value_for_two_states_is_written_twice),
      TEST(new_content_that_is_overwritten_early_is_copied_before),
      TEST(a_mutable_input_is_written_in_the_callers_buffer),
      TEST(for_executorch_mutable_inputs_are_planned),
      TEST(without_update_in_place_everything_is_copied_back),
      TEST(views_of_fixed_sizes_have_no_instruction),
      TEST(views_of_the_callers_memory_are_made_at_run_time),
      TEST(for_executorch_slices_of_inputs_are_copied),
      TEST(slices_of_dynamic_length_are_made_at_run_time),
      TEST(parts_at_dynamic_offsets_are_made_at_run_time),
      TEST(for_executorch_parts_at_dynamic_offsets_are_copied),
      TEST(views_of_dynamic_sizes_are_made_at_run_time),
      TEST(a_result_takes_over_an_argument_that_dies),
      TEST(an_argument_that_is_an_output_is_not_overwritten),
      TEST(an_argument_with_a_live_view_is_not_overwritten),
      TEST(a_broadcast_argument_is_not_overwritten),
      TEST(operands_of_a_concatenation_are_computed_in_it),
      TEST(operands_that_are_not_contiguous_are_copied),
      TEST(one_value_twice_is_copied),
      TEST(an_operand_that_is_an_input_is_copied),
      TEST(nested_concatenations_are_one_block),
      TEST(operands_of_dynamic_sizes_are_computed_in_the_result),
      TEST(for_executorch_operands_of_dynamic_sizes_are_copied),
      TEST(a_concatenation_that_would_raise_the_peak_is_copied),
      TEST(a_self_copy_makes_a_read_buffer_a_state),
      TEST(without_a_self_copy_a_read_buffer_is_a_constant),
      TEST(an_unread_state_needs_no_self_copy),
      TEST(self_copies_are_removed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
