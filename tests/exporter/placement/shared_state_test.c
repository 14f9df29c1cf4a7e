// The common layout of the states, their initial values, and the constant
// methods that publish the layout.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "exporter/placement/shared_state.h"
#include "tests/exporter/graph.h"

static graph g;

static etx_state_layout lay_out(etx_bytes keep) {
  etx_state_layout layout = {0};
  if (etx_shared_state_layout(&g.module, keep, &layout, &g.diag) != ETX_OK) {
    fail_msg("%s", g.diag.text);
  }
  return layout;
}

static const etx_bytes nothing = {NULL, 0};

static etx_text name_at(const etx_state_layout* layout, size_t position) {
  return g.module.buffers[layout->buffers[position]].name;
}

static void states_are_laid_out_by_name(void** state) {
  (void)state;
  graph_state(&g, "b", 1, SIZES(5), 0);
  graph_state(&g, "c", 0, NULL, 0);
  graph_state(&g, "a", 1, SIZES(1), 0);

  const etx_state_layout layout = lay_out(nothing);

  assert_int_equal(layout.count, 3);
  assert_true(etx_text_is(name_at(&layout, 0), "a"));
  assert_true(etx_text_is(name_at(&layout, 1), "b"));
  assert_true(etx_text_is(name_at(&layout, 2), "c"));
  assert_int_equal(layout.offsets[0], 0);
  assert_int_equal(layout.offsets[1], 16);
  assert_int_equal(layout.offsets[2], 48);
  assert_int_equal(layout.bytes, 64);
}

static void the_alignment_of_the_module_counts(void** state) {
  (void)state;
  g.module.alignment = 64;
  graph_state(&g, "a", 1, SIZES(1), 0);
  graph_state(&g, "b", 1, SIZES(1), 0);
  const etx_state_layout layout = lay_out(nothing);
  assert_int_equal(layout.offsets[1], 64);
  assert_int_equal(layout.bytes, 128);
}

static void a_state_without_elements_has_an_offset(void** state) {
  (void)state;
  graph_state(&g, "a", 2, SIZES(0, 4), 0);
  graph_state(&g, "b", 1, SIZES(1), 0);
  const etx_state_layout layout = lay_out(nothing);
  assert_int_equal(layout.offsets[0], 0);
  assert_int_equal(layout.offsets[1], 0);
}

static void equal_elements_are_stored_once(void** state) {
  (void)state;
  const float mixed[2] = {1, 2};
  const uint32_t a = graph_state(&g, "a", 1, SIZES(100), 7);
  const uint32_t b = graph_state_of(&g, "b", 1, SIZES(2), mixed);
  uint32_t constant = 0;
  assert_int_equal(etx_shared_state_initial(&g.module, a, &constant), ETX_OK);
  assert_int_equal(g.module.constants[constant].rank, 0);
  assert_int_equal(g.module.constants[constant].data.size, 4);
  assert_int_equal(etx_shared_state_initial(&g.module, b, &constant), ETX_OK);
  assert_int_equal(constant, g.module.buffers[b].initial);
}

static void a_state_without_initial_value_starts_at_zero(void** state) {
  (void)state;
  const uint32_t a = graph_state(&g, "a", 1, SIZES(3), 7);
  g.module.buffers[a].initial = ETX_IR_NONE;
  uint32_t constant = 0;
  assert_int_equal(etx_shared_state_initial(&g.module, a, &constant), ETX_OK);
  const float zero = 0;
  assert_memory_equal(g.module.constants[constant].data.data, &zero, 4);
}

// A program with the states of `names` (NULL at the end), each of 4 floats.
static void plan_states(const char* const* names) {
  graph_method(&g, "m");
  for (size_t i = 0; names[i] != NULL; ++i) {
    const uint32_t s = graph_state(&g, names[i], 1, SIZES(4), 1);
    graph_mutate(&g, s,
                 graph_add(&g, graph_buffer(&g, s), graph_buffer(&g, s)));
  }
  graph_plan(&g);
}

static void a_kept_layout_moves_nothing_and_appends(void** state) {
  (void)state;
  static const char* const before[] = {"b", "d", "e", NULL};
  plan_states(before);
  const etx_bytes keep = {g.file, g.file_size};

  graph next;
  graph_open(&next);
  graph_state(&next, "a", 1, SIZES(4), 0);
  graph_state(&next, "b", 1, SIZES(4), 0);
  graph_state(&next, "e", 1, SIZES(4), 0);  // d is gone, a is new
  etx_state_layout layout = {0};
  assert_int_equal(
      etx_shared_state_layout(&next.module, keep, &layout, &next.diag), ETX_OK);
  assert_int_equal(layout.offsets[0], 48);
  assert_int_equal(layout.offsets[1], 0);
  assert_int_equal(layout.offsets[2], 32);
  assert_int_equal(layout.bytes, 64);
  graph_close(&next);
}

static void a_kept_state_of_another_size_is_refused(void** state) {
  (void)state;
  static const char* const before[] = {"b", NULL};
  plan_states(before);
  const etx_bytes keep = {g.file, g.file_size};
  graph next;
  graph_open(&next);
  graph_state(&next, "b", 1, SIZES(5), 0);
  etx_state_layout layout = {0};
  assert_int_equal(
      etx_shared_state_layout(&next.module, keep, &layout, &next.diag),
      ETX_BAD_ARGUMENT);
  assert_non_null(strstr(next.diag.text, "'b' has 20 bytes"));
  graph_close(&next);
}

static void a_kept_state_of_another_type_is_refused(void** state) {
  (void)state;
  static const char* const before[] = {"b", NULL};
  plan_states(before);
  const etx_bytes keep = {g.file, g.file_size};
  graph next;
  graph_open(&next);
  graph_state(&next, "b", 1, SIZES(4), 0);
  next.module.buffers[0].dtype = ETX_DTYPE_INT32;
  etx_state_layout layout = {0};
  assert_int_equal(
      etx_shared_state_layout(&next.module, keep, &layout, &next.diag),
      ETX_BAD_ARGUMENT);
  assert_non_null(strstr(next.diag.text,
                         "'b' has dtype 'int32', but 'float32' in the layout "
                         "to keep"));
  graph_close(&next);
}

static void the_layout_can_be_read_without_running_anything(void** state) {
  (void)state;
  static const char* const names[] = {"cache", "h", NULL};
  plan_states(names);
  etx_pte pte;
  etx_pte_plan plan = graph_read_plan(&g, "et_get_shared_buffer_names", &pte);
  assert_int_equal(etx_pte_instruction_count(&plan, 0), 0);
  const etx_pte_tensor text = etx_pte_value_at(&plan, 0).as.tensor;
  assert_int_equal(text.dtype, ETX_DTYPE_UINT8);
  assert_int_equal(text.sizes[0], 2);
  assert_int_equal(text.sizes[1], 6);
  assert_memory_equal(etx_pte_constant(&pte, text.data_buffer_index).data,
                      "cache\0h\0\0\0\0\0", 12);

  plan = graph_read_plan(&g, "et_get_shared_buffer_memory_plan", &pte);
  const etx_pte_tensor rows = etx_pte_value_at(&plan, 0).as.tensor;
  static const int64_t expected[12] = {2, 0, 0, 16, 16, 4, 2, 1, 16, 16, 16, 4};
  assert_int_equal(rows.sizes[1], 6);
  assert_memory_equal(etx_pte_constant(&pte, rows.data_buffer_index).data,
                      expected, sizeof expected);
}

int main(void) {
#define TEST(name) GRAPH_TEST(name, &g)
  const struct CMUnitTest tests[] = {
      TEST(states_are_laid_out_by_name),
      TEST(the_alignment_of_the_module_counts),
      TEST(a_state_without_elements_has_an_offset),
      TEST(equal_elements_are_stored_once),
      TEST(a_state_without_initial_value_starts_at_zero),
      TEST(a_kept_layout_moves_nothing_and_appends),
      TEST(a_kept_state_of_another_size_is_refused),
      TEST(a_kept_state_of_another_type_is_refused),
      TEST(the_layout_can_be_read_without_running_anything),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
