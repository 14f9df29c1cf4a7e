// The oracle of placement: it must see every read that would find other bytes,
// and no other.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "exporter/placement/placement_check.h"
#include "tests/exporter/graph.h"

// One method over one state of shape [4, 3], placed without any pass that
// looks for better places: each test moves values by hand.
typedef struct fixture {
  graph g;
  uint32_t state;    // buffer
  uint32_t old;      // its value
  uint32_t storage;  // its storage
} fixture;

static void start(fixture* f) {
  graph_open(&f->g);
  f->state = graph_state(&f->g, "cache", 2, SIZES(4, 3), 0);
  graph_method(&f->g, "step");
  f->old = graph_buffer(&f->g, f->state);
}

static void place(fixture* f) {
  graph_place(&f->g, AS_WRITTEN
              ",-alias_views,-update_in_place,!write_back,-schedule_nodes,"
              "-reuse_operand_storage,!remove_self_copy,!insert_self_copy");
  f->storage = graph_placement(&f->g, 0)->values[f->old].storage;
}

static void put_into_state(fixture* f, uint32_t value, uint64_t offset) {
  etx_value_placement* const place = &f->g.context.placements[0].values[value];
  place->storage = f->storage;
  place->offset = offset;
}

static void make_alias(fixture* f, uint32_t value, uint32_t base,
                       uint64_t delta) {
  etx_value_placement* const place = &f->g.context.placements[0].values[value];
  place->kind = ETX_PLACEMENT_ALIAS;
  place->base = base;
  place->delta = delta;
}

static etx_placement_conflicts check(fixture* f,
                                     etx_placement_check_scope end) {
  etx_placement_conflicts conflicts = {0};
  assert_int_equal(etx_placement_check(&f->g.pool, graph_current(&f->g),
                                       graph_placement(&f->g, 0), f->storage,
                                       end, &conflicts),
                   ETX_OK);
  return conflicts;
}

static void a_read_before_the_write_is_no_conflict(void** state) {
  (void)state;
  fixture f;
  start(&f);
  const uint32_t read = graph_add(&f.g, f.old, f.old);
  const uint32_t next = graph_add(&f.g, f.old, f.old);
  graph_output(&f.g, "y", read);
  graph_mutate(&f.g, f.state, next);
  place(&f);
  put_into_state(&f, next, 0);

  assert_int_equal(check(&f, ETX_PLACEMENT_CHECK_ALL).count, 0);
  graph_close(&f.g);
}

static void a_read_after_the_write_is_one_and_can_be_saved_before_it(
    void** state) {
  (void)state;
  fixture f;
  start(&f);
  const uint32_t next = graph_add(&f.g, f.old, f.old);
  const uint32_t read = graph_clone(&f.g, f.old);
  graph_output(&f.g, "y", read);
  graph_mutate(&f.g, f.state, next);
  place(&f);
  put_into_state(&f, next, 0);

  const etx_placement_conflicts conflicts = check(&f, ETX_PLACEMENT_CHECK_ALL);

  assert_int_equal(conflicts.count, 1);
  assert_int_equal(conflicts.items[0].reader, 1);
  assert_int_equal(conflicts.items[0].value, f.old);
  assert_int_equal(conflicts.items[0].first, 0);
  assert_int_equal(conflicts.items[0].last, 0);
  graph_close(&f.g);
}

static void a_write_beside_the_bytes_that_are_read_is_no_conflict(
    void** state) {
  (void)state;
  fixture f;
  start(&f);
  const uint32_t first = graph_select(&f.g, f.old, 0, 0);
  const uint32_t second = graph_select(&f.g, f.old, 0, 1);
  const uint32_t sum = graph_add(&f.g, first, first);
  const uint32_t read = graph_clone(&f.g, second);
  const uint32_t missed = graph_clone(&f.g, first);
  place(&f);
  make_alias(&f, first, f.old, 0);
  make_alias(&f, second, f.old, 12);
  put_into_state(&f, sum, 0);

  const etx_placement_conflicts conflicts =
      check(&f, ETX_PLACEMENT_CHECK_NODES);

  (void)read;
  (void)missed;
  assert_int_equal(conflicts.count, 1);
  assert_int_equal(conflicts.items[0].value, first);
  graph_close(&f.g);
}

static void a_patched_value_expects_its_patch(void** state) {
  (void)state;
  fixture f;
  start(&f);
  const uint32_t row = graph_select(&f.g, f.old, 0, 1);
  const uint32_t sum = graph_add(&f.g, row, row);
  const uint32_t next = graph_select_scatter(&f.g, f.old, sum, 0, 1);
  const uint32_t read = graph_clone(&f.g, next);
  graph_output(&f.g, "y", read);
  graph_mutate(&f.g, f.state, next);
  place(&f);
  make_alias(&f, row, f.old, 12);
  put_into_state(&f, sum, 12);
  etx_value_placement* const patched = &f.g.context.placements[0].values[next];
  patched->kind = ETX_PLACEMENT_UPDATED_IN_PLACE;
  patched->base = f.old;

  assert_int_equal(check(&f, ETX_PLACEMENT_CHECK_ALL).count, 0);

  // With the patch elsewhere the row is still the old one.
  put_into_state(&f, sum, 24);
  assert_int_not_equal(check(&f, ETX_PLACEMENT_CHECK_ALL).count, 0);
  graph_close(&f.g);
}

// Two updates of the state: rows 0 to s, and row 3. What is under the rows
// when they are written decides what the rows behind them are.
static void a_patch_of_varying_size_needs_its_base_under_it(void** state) {
  (void)state;
  fixture f;
  start(&f);
  const etx_dim s = graph_symbol(&f.g, "s", 1, 4);
  const uint32_t x = graph_input(&f.g, "x", 2, SIZES(s, 3));
  const uint32_t row = graph_input(&f.g, "row", 1, SIZES(3));
  const uint32_t new_row = graph_add(&f.g, row, row);
  const uint32_t rows = graph_add(&f.g, x, x);
  const uint32_t next = graph_slice_scatter(&f.g, f.old, rows, 0, 0, s);
  const uint32_t read = graph_clone(&f.g, next);
  graph_output(&f.g, "y", read);
  place(&f);
  etx_value_placement* const patched = &f.g.context.placements[0].values[next];
  patched->kind = ETX_PLACEMENT_UPDATED_IN_PLACE;
  patched->base = f.old;
  put_into_state(&f, rows, 0);
  assert_int_equal(check(&f, ETX_PLACEMENT_CHECK_ALL).count, 0);

  put_into_state(&f, new_row, 36);
  assert_int_not_equal(check(&f, ETX_PLACEMENT_CHECK_ALL).count, 0);
  graph_close(&f.g);
}

static void operators_are_held_to_what_their_rows_allow(void** state) {
  (void)state;
  fixture f;
  start(&f);
  // A softmax may not write what it reads, an index_put may write its self but
  // not its values.
  const uint32_t wide =
      graph_node(&f.g, ETX_OP_select_scatter_out,
                 ARGS(VALUE(f.old), VALUE(graph_select(&f.g, f.old, 0, 0)),
                      INT(0), INT(2)));
  graph_mutate(&f.g, f.state, wide);
  place(&f);
  put_into_state(&f, wide, 0);
  assert_int_equal(check(&f, ETX_PLACEMENT_CHECK_ALL).count, 0);

  make_alias(&f, graph_current(&f.g)->nodes[0].outputs[0], f.old, 0);
  assert_int_equal(check(&f, ETX_PLACEMENT_CHECK_ALL).count, 1);
  graph_close(&f.g);
}

static void outputs_are_read_at_the_end(void** state) {
  (void)state;
  fixture f;
  start(&f);
  const uint32_t next = graph_add(&f.g, f.old, f.old);
  graph_output(&f.g, "before", f.old);
  graph_output(&f.g, "after", next);
  graph_mutate(&f.g, f.state, next);
  place(&f);
  put_into_state(&f, next, 0);

  assert_int_equal(check(&f, ETX_PLACEMENT_CHECK_NODES).count, 0);
  const etx_placement_conflicts conflicts = check(&f, ETX_PLACEMENT_CHECK_ALL);
  assert_int_equal(conflicts.count, 1);
  assert_int_equal(conflicts.items[0].reader, 1);
  assert_int_equal(conflicts.items[0].value, f.old);
  graph_close(&f.g);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_read_before_the_write_is_no_conflict),
      cmocka_unit_test(
          a_read_after_the_write_is_one_and_can_be_saved_before_it),
      cmocka_unit_test(a_write_beside_the_bytes_that_are_read_is_no_conflict),
      cmocka_unit_test(a_patched_value_expects_its_patch),
      cmocka_unit_test(a_patch_of_varying_size_needs_its_base_under_it),
      cmocka_unit_test(operators_are_held_to_what_their_rows_allow),
      cmocka_unit_test(outputs_are_read_at_the_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
