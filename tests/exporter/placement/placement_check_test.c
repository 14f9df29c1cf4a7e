// placement_check must find every read that would get wrong bytes, and no
// other.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "exporter/placement/placement_check.h"
#include "tests/exporter/graph.h"

// One method over one state of shape [4, 3], placed without any pass that
// improves the placement: each test moves values itself.
typedef struct placement_fixture {
  graph g;
  uint32_t state;    // buffer
  uint32_t old;      // its value
  uint32_t storage;  // its storage
} placement_fixture;

static void start(placement_fixture* f) {
  graph_open(&f->g);
  f->state = graph_state(&f->g, "cache", 2, SIZES(4, 3), 0);
  graph_method(&f->g, "step");
  f->old = graph_buffer(&f->g, f->state);
}

static void place(placement_fixture* f) {
  graph_place(&f->g, AS_WRITTEN
              ",-alias_views,-update_in_place,!write_back,-schedule_nodes,"
              "-reuse_operand_storage,!remove_self_copy,!insert_self_copy");
  f->storage = graph_placement(&f->g, 0)->values[f->old].storage;
}

static void put_into_state(placement_fixture* f, uint32_t value,
                           uint64_t offset) {
  etx_value_placement* const place = &f->g.context.placements[0].values[value];
  place->storage = f->storage;
  place->offset = offset;
}

static void make_alias(placement_fixture* f, uint32_t value, uint32_t base,
                       uint64_t delta) {
  etx_value_placement* const place = &f->g.context.placements[0].values[value];
  place->kind = ETX_PLACEMENT_ALIAS;
  place->base = base;
  place->delta = delta;
}

static etx_placement_conflicts check(placement_fixture* f,
                                     etx_placement_check_scope end) {
  etx_placement_conflicts conflicts = {0};
  assert_int_equal(etx_placement_check(&f->g.pool, graph_current(&f->g),
                                       graph_placement(&f->g, 0), f->storage,
                                       end, &conflicts),
                   ETX_OK);
  return conflicts;
}

static void a_read_before_the_write_is_not_a_conflict(void** state) {
  (void)state;
  placement_fixture f;
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
  placement_fixture f;
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
  placement_fixture f;
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

static void a_scatter_result_expects_its_source(void** state) {
  (void)state;
  placement_fixture f;
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
  etx_value_placement* const scattered =
      &f.g.context.placements[0].values[next];
  scattered->kind = ETX_PLACEMENT_UPDATED_IN_PLACE;
  scattered->base = f.old;

  assert_int_equal(check(&f, ETX_PLACEMENT_CHECK_ALL).count, 0);

  // If the sum is elsewhere, the row of the state keeps its old content.
  put_into_state(&f, sum, 24);
  assert_int_not_equal(check(&f, ETX_PLACEMENT_CHECK_ALL).count, 0);
  graph_close(&f.g);
}

// Two updates of the state: rows 0 to s, and row 3. The rows that the first one
// does not write keep the content that was there before.
static void a_scatter_source_of_dynamic_size_needs_the_base_under_it(
    void** state) {
  (void)state;
  placement_fixture f;
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
  etx_value_placement* const scattered =
      &f.g.context.placements[0].values[next];
  scattered->kind = ETX_PLACEMENT_UPDATED_IN_PLACE;
  scattered->base = f.old;
  put_into_state(&f, rows, 0);
  assert_int_equal(check(&f, ETX_PLACEMENT_CHECK_ALL).count, 0);

  put_into_state(&f, new_row, 36);
  assert_int_not_equal(check(&f, ETX_PLACEMENT_CHECK_ALL).count, 0);
  graph_close(&f.g);
}

static void operators_work_in_place_only_if_their_schema_allows_it(
    void** state) {
  (void)state;
  placement_fixture f;
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
  placement_fixture f;
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
      cmocka_unit_test(a_read_before_the_write_is_not_a_conflict),
      cmocka_unit_test(
          a_read_after_the_write_is_one_and_can_be_saved_before_it),
      cmocka_unit_test(a_write_beside_the_bytes_that_are_read_is_no_conflict),
      cmocka_unit_test(a_scatter_result_expects_its_source),
      cmocka_unit_test(
          a_scatter_source_of_dynamic_size_needs_the_base_under_it),
      cmocka_unit_test(operators_work_in_place_only_if_their_schema_allows_it),
      cmocka_unit_test(outputs_are_read_at_the_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
