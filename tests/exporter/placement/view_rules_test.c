// Which results can be views of an argument.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "exporter/placement/view_rules.h"
#include "tests/exporter/graph.h"

static graph g;

static int open_graph(void** state) {
  (void)state;
  graph_open(&g);
  graph_method(&g, "m");
  return 0;
}

static int close_graph(void** state) {
  (void)state;
  graph_close(&g);
  return 0;
}

// The offset of `value` as a view; UINT64_MAX if it cannot be one.
static uint64_t delta_of(uint32_t value) {
  const etx_ir_method* const method = graph_current(&g);
  etx_value_view view;
  return etx_value_view_find(
             method, &method->nodes[method->values[value].index], 0, &view)
             ? view.delta
             : UINT64_MAX;
}

static bool keeps_all(uint32_t value) {
  const etx_ir_method* const method = graph_current(&g);
  etx_value_view view;
  return etx_value_view_find(
             method, &method->nodes[method->values[value].index], 0, &view) &&
         view.all_elements;
}

static void slices_of_the_first_dimension_are_views(void** state) {
  (void)state;
  const uint32_t x = graph_input(&g, "x", 3, SIZES(4, 2, 3));
  assert_int_equal(delta_of(graph_select(&g, x, 0, 2)), 2 * 6 * 4);
  assert_int_equal(delta_of(graph_select(&g, x, 0, -1)), 3 * 6 * 4);
  assert_int_equal(delta_of(graph_slice(&g, x, 0, 1, 3)), 6 * 4);
}

static void columns_are_not_unless_everything_before_has_size_1(void** state) {
  (void)state;
  const uint32_t x = graph_input(&g, "x", 3, SIZES(4, 2, 3));
  assert_int_equal(delta_of(graph_select(&g, x, 1, 0)), UINT64_MAX);
  assert_int_equal(delta_of(graph_slice(&g, x, 2, 0, 2)), UINT64_MAX);
  const uint32_t y = graph_input(&g, "y", 3, SIZES(1, 4, 3));
  assert_int_equal(delta_of(graph_select(&g, y, 1, 3)), 3 * 3 * 4);
}

static void a_slice_with_a_step_is_not_a_view(void** state) {
  (void)state;
  const uint32_t x = graph_input(&g, "x", 1, SIZES(8));
  const uint32_t every_second =
      graph_node(&g, ETX_OP_slice_copy_tensor_out,
                 ARGS(VALUE(x), INT(0), INT(0), INT(8), INT(2)));
  assert_int_equal(delta_of(every_second), UINT64_MAX);
}

static void moving_dimensions_of_size_1_moves_no_byte(void** state) {
  (void)state;
  const uint32_t x = graph_input(&g, "x", 4, SIZES(1, 5, 1, 3));
  const uint32_t same =
      graph_node(&g, ETX_OP_permute_copy_out,
                 ARGS(VALUE(x), LIST(INT(2), INT(1), INT(0), INT(3))));
  const uint32_t other =
      graph_node(&g, ETX_OP_permute_copy_out,
                 ARGS(VALUE(x), LIST(INT(0), INT(3), INT(2), INT(1))));
  const uint32_t swapped = graph_node(&g, ETX_OP_transpose_copy_int_out,
                                      ARGS(VALUE(x), INT(0), INT(1)));
  assert_true(keeps_all(same));
  assert_false(keeps_all(other));
  assert_true(keeps_all(swapped));
}

static void an_expansion_that_repeats_is_not_a_view(void** state) {
  (void)state;
  const uint32_t x = graph_input(&g, "x", 2, SIZES(1, 3));
  const uint32_t same = graph_node(&g, ETX_OP_expand_copy_out,
                                   ARGS(VALUE(x), LIST(INT(1), INT(3)), NO));
  const uint32_t more = graph_node(&g, ETX_OP_expand_copy_out,
                                   ARGS(VALUE(x), LIST(INT(2), INT(3)), NO));
  const uint32_t deeper =
      graph_node(&g, ETX_OP_expand_copy_out,
                 ARGS(VALUE(x), LIST(INT(1), INT(1), INT(3)), NO));
  assert_true(keeps_all(same));
  assert_false(keeps_all(more));
  assert_true(keeps_all(deeper));
}

// The index at which `value` starts as a view whose offset depends on sizes.
static etx_dim dynamic_index_of(uint32_t value) {
  const etx_ir_method* const method = graph_current(&g);
  etx_value_view view;
  assert_true(etx_value_view_find(
      method, &method->nodes[method->values[value].index], 0, &view));
  assert_true(view.has_dynamic_offset);
  assert_int_equal(view.delta, 0);
  return view.index;
}

static void offsets_may_depend_on_sizes(void** state) {
  (void)state;
  const etx_dim s = graph_symbol(&g, "s", 2, 8);
  const uint32_t x = graph_input(&g, "x", 2, SIZES(s, 4));
  assert_true(keeps_all(graph_view(&g, x, 3, SIZES(s, 2, 2))));
  assert_int_equal(delta_of(graph_select(&g, x, 0, 1)), 16);
  const uint32_t part =
      graph_node(&g, ETX_OP_slice_copy_tensor_out,
                 ARGS(VALUE(graph_input(&g, "y", 1, SIZES(8))), INT(0), INT(0),
                      INT(s), INT(1)));
  assert_int_equal(delta_of(part), 0);
  assert_false(keeps_all(part));
  const uint32_t later =
      graph_node(&g, ETX_OP_slice_copy_tensor_out,
                 ARGS(VALUE(graph_input(&g, "z", 1, SIZES(16))), INT(0), INT(s),
                      INT(16), INT(1)));
  assert_true(dynamic_index_of(later) == s);
  const uint32_t heads = graph_input(&g, "h", 3, SIZES(3, s, 4));
  assert_true(dynamic_index_of(graph_select(&g, heads, 0, 2)) == 2);
  assert_int_equal(delta_of(graph_select(&g, heads, 1, 0)), UINT64_MAX);
}

static void an_offset_that_may_be_negative_is_not_a_view(void** state) {
  (void)state;
  const etx_dim k = graph_symbol(&g, "k", -1, 3);
  const uint32_t x = graph_input(&g, "x", 2, SIZES(4, 4));
  const uint32_t row = graph_node(&g, ETX_OP_select_copy_int_out,
                                  ARGS(VALUE(x), INT(0), INT(k)));
  assert_int_equal(delta_of(row), UINT64_MAX);
}

static void split_parts_are_consecutive(void** state) {
  (void)state;
  const uint32_t x = graph_input(&g, "x", 2, SIZES(4, 3));
  const uint32_t pair = graph_node(
      &g, ETX_OP_select_scatter_out,
      ARGS(VALUE(x), VALUE(graph_select(&g, x, 0, 0)), INT(0), INT(3)));
  const etx_ir_method* const method = graph_current(&g);
  etx_value_view patch;
  assert_true(etx_value_view_find_scatter(
      method, &method->nodes[method->values[pair].index], &patch));
  assert_int_equal(patch.base, x);
  assert_int_equal(patch.delta, 3 * 3 * 4);
}

static void a_scatter_across_rows_is_not_contiguous(void** state) {
  (void)state;
  const uint32_t x = graph_input(&g, "x", 2, SIZES(4, 3));
  const uint32_t column = graph_select(&g, x, 1, 0);
  const uint32_t next = graph_select_scatter(&g, x, column, 1, 2);
  const etx_ir_method* const method = graph_current(&g);
  etx_value_view patch;
  assert_false(etx_value_view_find_scatter(
      method, &method->nodes[method->values[next].index], &patch));
}

int main(void) {
#define TEST(name) \
  cmocka_unit_test_setup_teardown(name, open_graph, close_graph)
  const struct CMUnitTest tests[] = {
      TEST(slices_of_the_first_dimension_are_views),
      TEST(columns_are_not_unless_everything_before_has_size_1),
      TEST(a_slice_with_a_step_is_not_a_view),
      TEST(moving_dimensions_of_size_1_moves_no_byte),
      TEST(an_expansion_that_repeats_is_not_a_view),
      TEST(offsets_may_depend_on_sizes),
      TEST(an_offset_that_may_be_negative_is_not_a_view),
      TEST(split_parts_are_consecutive),
      TEST(a_scatter_across_rows_is_not_contiguous),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
