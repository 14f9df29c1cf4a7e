// Which storages hold values that depend on sizes and constants alone, and
// which of these are still read afterwards.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "exporter/placement/size_only.h"
#include "tests/exporter/graph.h"

static graph g;
static const float numbers[4] = {1, 2, 3, 4};

static etx_size_only kind_of(uint32_t value) {
  const etx_placement* const placement = graph_placement(&g, g.method);
  const etx_size_only* kinds = NULL;
  assert_int_equal(
      etx_size_only_storages(graph_current(&g), placement, &g.pool, &kinds),
      ETX_OK);
  return kinds[etx_placement_range(placement, value).storage];
}

static uint32_t constant(void) {
  return graph_constant(&g, 1, SIZES(4), numbers);
}

static void values_that_others_read_are_kept(void** state) {
  (void)state;
  graph_method(&g, "m");
  (void)graph_symbol(&g, "n", 1, 8);
  const uint32_t x = graph_input(&g, "x", 1, SIZES(4));
  const uint32_t table = constant();
  const uint32_t a = graph_add(&g, table, table);
  const uint32_t b = graph_add(&g, a, table);
  const uint32_t y = graph_add(&g, x, b);
  graph_output(&g, "y", graph_add(&g, y, y));
  graph_place(&g, AS_WRITTEN ",-reuse_operand_storage");
  assert_int_equal(kind_of(a), ETX_SIZE_ONLY_PASSING);
  assert_int_equal(kind_of(b), ETX_SIZE_ONLY_KEPT);
  assert_int_equal(kind_of(y), ETX_SIZE_ONLY_NONE);
}

static void outputs_are_not_among_them(void** state) {
  (void)state;
  graph_method(&g, "m");
  (void)graph_symbol(&g, "n", 1, 8);
  const uint32_t x = graph_input(&g, "x", 1, SIZES(4));
  const uint32_t table = constant();
  const uint32_t a = graph_add(&g, table, table);
  graph_output(&g, "a", a);
  graph_output(&g, "y", graph_add(&g, x, table));
  graph_place(&g, AS_WRITTEN ",-reuse_operand_storage");
  assert_int_equal(kind_of(a), ETX_SIZE_ONLY_NONE);
}

// The sum with x could be computed in the block of b.
static void no_other_value_takes_their_block(void** state) {
  (void)state;
  graph_method(&g, "m");
  (void)graph_symbol(&g, "n", 1, 8);
  const uint32_t x = graph_input(&g, "x", 1, SIZES(4));
  const uint32_t b = graph_add(&g, constant(), constant());
  const uint32_t y = graph_add(&g, b, x);
  graph_output(&g, "y", graph_add(&g, y, y));
  graph_place(&g, AS_WRITTEN);
  assert_int_equal(kind_of(b), ETX_SIZE_ONLY_KEPT);
  assert_int_equal(kind_of(y), ETX_SIZE_ONLY_NONE);
}

static void methods_of_fixed_sizes_have_none(void** state) {
  (void)state;
  graph_method(&g, "m");
  const uint32_t x = graph_input(&g, "x", 1, SIZES(4));
  const uint32_t b = graph_add(&g, constant(), constant());
  const uint32_t y = graph_add(&g, b, x);
  graph_output(&g, "y", y);
  graph_place(&g, AS_WRITTEN);
  const etx_placement* const placement = graph_placement(&g, g.method);
  assert_int_equal(etx_placement_range(placement, b).storage,
                   etx_placement_range(placement, y).storage);
  assert_int_equal(kind_of(b), ETX_SIZE_ONLY_NONE);
}

int main(void) {
#define TEST(name) GRAPH_TEST(name, &g)
  const struct CMUnitTest tests[] = {
      TEST(values_that_others_read_are_kept),
      TEST(outputs_are_not_among_them),
      TEST(no_other_value_takes_their_block),
      TEST(methods_of_fixed_sizes_have_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
