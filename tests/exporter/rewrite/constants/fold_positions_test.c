// fold_positions: what depends on positions alone, and what only looks like it.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "tests/exporter/lowered.h"

#define PASSES "lower fold_constants fold_positions index_to_slice simplify"

static void expect(const char* yaml, const char* wanted) {
  expect_lowered(ETX_TARGET_ETX, PASSES, yaml, wanted);
}

// Expects that the pass leaves the graph as the passes before it do.
static void expect_unchanged(const char* yaml) {
  lowered before;
  lowered after;
  lowered_open(&before, ETX_TARGET_ETX, yaml);
  lowered_run(&before, "lower fold_constants");
  lowered_open(&after, ETX_TARGET_ETX, yaml);
  lowered_run(&after, "lower fold_constants fold_positions");
  assert_string_equal(lowered_lines(&after), lowered_lines(&before));
  lowered_close(&after);
  lowered_close(&before);
}

// The constants of the module with these many bytes; fails if there is not
// exactly one.
static const etx_ir_constant* only_constant(const lowered* l, size_t bytes) {
  const etx_ir_constant* found = NULL;
  for (size_t i = 0; i < l->reading.module.constant_count; ++i) {
    const etx_ir_constant* const constant = &l->reading.module.constants[i];
    if (constant->data.size != bytes) continue;
    assert_null(found);
    found = constant;
  }
  assert_non_null(found);
  return found;
}

static void a_table_is_computed_for_the_largest_size(void** state) {
  (void)state;
  lowered l;
  lowered_open(&l, ETX_TARGET_ETX,
               "dims: {s: {min: 1, max: 3}}\n"
               "inputs: [{name: x, type: 'float32[s, 2]'}]\n"
               "buffers: [{name: f, type: 'float32[2]', init: 0.5}]\n"
               "nodes:\n"
               "  - {out: i, op: aten.arange.default, args: [{sym: s}]}\n"
               "  - {out: u, op: aten.unsqueeze.default, args: [i, 1]}\n"
               "  - {out: a, op: aten.mul.Tensor, args: [u, f]}\n"
               "  - {out: b, op: aten.add.Tensor, args: [a, u]}\n"
               "  - {out: y, op: aten.mul.Tensor, args: [x, b]}\n"
               "outputs: [y]\n");
  lowered_run(&l, PASSES);
  assert_lines(&l,
               "b: float32[s, 2] = aten::slice_copy.Tensor_out(const "
               "float32[3, 2], 0, 0, s, 1)\n"
               "y: float32[s, 2] = aten::mul.out(x, b)\n"
               "return y\n");
  const float wanted[] = {0, 0, 1.5f, 1.5f, 3, 3};
  // `a` is a table of the same size that nothing reads any more.
  size_t found = 0;
  for (size_t i = 0; i < l.reading.module.constant_count; ++i) {
    const etx_ir_constant* const constant = &l.reading.module.constants[i];
    found += constant->data.size == sizeof wanted &&
             memcmp(constant->data.data, wanted, sizeof wanted) == 0;
  }
  assert_int_equal(found, 1);
  lowered_close(&l);
}

// The mask of S * S floats is two lines of positions in the file.
static void a_triangle_is_a_comparison_of_positions(void** state) {
  (void)state;
  lowered l;
  lowered_open(
      &l, ETX_TARGET_ETX,
      "dims: {s: {min: 1, max: 3}}\n"
      "inputs: [{name: x, type: 'float32[s, s]'}]\n"
      "nodes:\n"
      "  - {out: f, op: aten.full.default, args: [[{sym: s}, {sym: s}], "
      "-8.0]}\n"
      "  - {out: t, op: aten.triu.default, args: [f, 2]}\n"
      "  - {out: y, op: aten.add.Tensor, args: [x, t]}\n"
      "outputs: [y]\n");
  lowered_run(&l, PASSES);
  assert_lines(
      &l,
      "t.1: int64[1, s] = aten::slice_copy.Tensor_out(const int64[1, 3], 1, "
      "0, s, 1)\n"
      "t.2: int64[s, 1] = aten::slice_copy.Tensor_out(const int64[3, 1], 0, "
      "0, s, 1)\n"
      "t.3: bool[s, s] = aten::le.Tensor_out(t.1, t.2)\n"
      "t: float32[s, s] = aten::where.self_out(t.3, 0.0:float32, "
      "-8.0:float32)\n"
      "y: float32[s, s] = aten::add.out(x, t, 1)\n"
      "return y\n");
  lowered_close(&l);
}

static void the_part_above_a_triangle_is_a_comparison(void** state) {
  (void)state;
  expect(
      "dims: {s: {min: 1, max: 3}}\n"
      "inputs: [{name: x, type: 'bool[s, s]'}]\n"
      "nodes:\n"
      "  - {out: i, op: aten.arange.default, args: [{sym: s}]}\n"
      "  - {out: u, op: aten.unsqueeze.default, args: [i, 1]}\n"
      "  - {out: a, op: aten.le.Tensor, args: [i, u]}\n"
      "  - {out: b, op: aten.logical_not.default, args: [a]}\n"
      "  - {out: y, op: aten.logical_or.default, args: [x, b]}\n"
      "outputs: [y]\n",
      "b.1: int64[1, s] = aten::slice_copy.Tensor_out(const int64[1, 3], 1, 0, "
      "s, 1)\n"
      "b.2: int64[s, 1] = aten::slice_copy.Tensor_out(const int64[3, 1], 0, 0, "
      "s, 1)\n"
      "b: bool[s, s] = aten::gt.Tensor_out(b.1, b.2)\n"
      "y: bool[s, s] = aten::logical_or.out(x, b)\n"
      "return y\n");
}

static void equal_elements_are_one_element(void** state) {
  (void)state;
  expect(
      "dims: {s: {min: 1, max: 3}}\n"
      "inputs: [{name: x, type: 'bool[s]'}]\n"
      "nodes:\n"
      "  - {out: i, op: aten.arange.default, args: [{sym: s}]}\n"
      "  - {out: g, op: aten.ge.Scalar, args: [i, 0]}\n"
      "  - {out: y, op: aten.logical_and.default, args: [x, g]}\n"
      "outputs: [y]\n",
      "return x\n");
}

// Two sizes that vary in one table: the part is one copy.
static void a_part_of_two_dimensions_is_one_copy(void** state) {
  (void)state;
  expect(
      "dims: {s: {min: 1, max: 3}, t: {min: 1, max: 4}}\n"
      "inputs: [{name: x, type: 'int64[s, t]'}]\n"
      "nodes:\n"
      "  - {out: i, op: aten.arange.default, args: [{sym: s}]}\n"
      "  - {out: j, op: aten.arange.default, args: [{sym: t}]}\n"
      "  - {out: u, op: aten.unsqueeze.default, args: [i, 1]}\n"
      "  - {out: a, op: aten.sub.Tensor, args: [j, u]}\n"
      "  - {out: b, op: aten.mul.Tensor, args: [a, a]}\n"
      "  - {out: y, op: aten.add.Tensor, args: [x, b]}\n"
      "outputs: [y]\n",
      "b: int64[s, t] = aten::as_strided_copy.out(const int64[3, 4], [s, t], "
      "[4, 1], 0)\n"
      "y: int64[s, t] = aten::add.out(x, b, 1)\n"
      "return y\n");
}

static void shifted_positions_are_rows_of_the_weight(void** state) {
  (void)state;
  expect(
      "dims: {s: {min: 1, max: 3}}\n"
      "inputs: [{name: x, type: 'float32[1, s, 2]'}]\n"
      "buffers: [{name: w, type: 'float32[5, 2]', init: 1}]\n"
      "nodes:\n"
      "  - {out: i, op: aten.arange.default, args: [{sym: s}]}\n"
      "  - {out: u, op: aten.unsqueeze.default, args: [i, 0]}\n"
      "  - {out: j, op: aten.add.Tensor, args: [u, 2]}\n"
      "  - {out: e, op: aten.embedding.default, args: [w, j]}\n"
      "  - {out: y, op: aten.mul.Tensor, args: [x, e]}\n"
      "outputs: [y]\n",
      "e.1: float32[s, 2] = aten::slice_copy.Tensor_out(w, 0, 2, s + 2, 1)\n"
      "e: float32[1, s, 2] = aten::view_copy.out(e.1, [1, s, 2])\n"
      "y: float32[1, s, 2] = aten::mul.out(x, e)\n"
      "return y\n");
}

// Row i of a triangle sees key i, whatever the size.
static void any_of_a_triangle_is_known(void** state) {
  (void)state;
  expect(
      "dims: {s: {min: 1, max: 3}}\n"
      "inputs: [{name: x, type: 'bool[s]'}]\n"
      "nodes:\n"
      "  - {out: i, op: aten.arange.default, args: [{sym: s}]}\n"
      "  - {out: u, op: aten.unsqueeze.default, args: [i, 1]}\n"
      "  - {out: a, op: aten.le.Tensor, args: [i, u]}\n"
      "  - {out: g, op: aten.any.dim, args: [a, 1]}\n"
      "  - {out: y, op: aten.logical_and.default, args: [x, g]}\n"
      "outputs: [y]\n",
      "return x\n");
}

// Whether a row has a greater number than its own depends on the size.
static void any_that_depends_on_the_size_stays(void** state) {
  (void)state;
  expect(
      "dims: {s: {min: 1, max: 3}}\n"
      "inputs: [{name: x, type: 'bool[s]'}]\n"
      "nodes:\n"
      "  - {out: i, op: aten.arange.default, args: [{sym: s}]}\n"
      "  - {out: u, op: aten.unsqueeze.default, args: [i, 1]}\n"
      "  - {out: a, op: aten.gt.Tensor, args: [i, u]}\n"
      "  - {out: g, op: aten.any.dim, args: [a, 1]}\n"
      "  - {out: y, op: aten.logical_or.default, args: [x, g]}\n"
      "outputs: [y]\n",
      "a.1: int64[1, s] = aten::slice_copy.Tensor_out(const int64[1, 3], 1, 0, "
      "s, 1)\n"
      "a.2: int64[s, 1] = aten::slice_copy.Tensor_out(const int64[3, 1], 0, 0, "
      "s, 1)\n"
      "a: bool[s, s] = aten::gt.Tensor_out(a.1, a.2)\n"
      "g: bool[s] = aten::any.out(a, 1, False)\n"
      "y: bool[s] = aten::logical_or.out(x, g)\n"
      "return y\n");
}

static void positions_that_begin_at_a_size_are_a_view(void** state) {
  (void)state;
  expect(
      "dims: {s: {min: 1, max: 3}}\n"
      "nodes:\n"
      "  - {out: i, op: aten.arange.start, args: [{sym: s}, {sym: 2*s}]}\n"
      "outputs: [i]\n",
      "i: int64[s] = aten::slice_copy.Tensor_out(const int64[6], 0, s, 2*s, "
      "1)\n"
      "return i\n");
}

// Before 0, in steps, or beyond what a table may have.
static void other_positions_that_begin_at_a_size_stay(void** state) {
  (void)state;
  expect_unchanged(
      "dims: {s: {min: 1, max: 3}}\n"
      "nodes:\n"
      "  - {out: i, op: aten.arange.start, args: [{sym: s - 2}, {sym: 2*s}]}\n"
      "outputs: [i]\n");
  expect_unchanged(
      "dims: {s: {min: 1, max: 3}}\n"
      "nodes:\n"
      "  - {out: i, op: aten.arange.start_step, args: [{sym: s}, {sym: 3*s}, "
      "2]}\n"
      "outputs: [i]\n");
  expect_unchanged(
      "dims: {s: {min: 1, max: 100000}}\n"
      "nodes:\n"
      "  - {out: i, op: aten.arange.start, args: [{sym: s}, {sym: 2*s}]}\n"
      "outputs: [i]\n");
}

// The last element of the row is another one at each size.
static void rows_from_the_end_stay(void** state) {
  (void)state;
  expect(
      "dims: {s: {min: 2, max: 3}}\n"
      "inputs: [{name: x, type: 'int64[s]'}]\n"
      "nodes:\n"
      "  - {out: i, op: aten.arange.default, args: [{sym: s}]}\n"
      "  - {out: a, op: aten.mul.Tensor, args: [i, i]}\n"
      "  - {out: f, op: aten.flip.default, args: [a, [0]]}\n"
      "  - {out: c, op: aten.cat.default, args: [[a, x]]}\n"
      "outputs: [f, c]\n",
      "a: int64[s] = aten::slice_copy.Tensor_out(const int64[3], 0, 0, s, 1)\n"
      "f: int64[s] = aten::flip.out(a, [0])\n"
      "c: int64[2*s] = aten::cat.out([a, x], 0)\n"
      "return f\n"
      "return c\n");
}

// Index 2 exists only where s is at least 3, and index -1 is the last one.
static void indices_that_depend_on_the_size_stay(void** state) {
  (void)state;
  const char* const numbers[] = {"2", "-1"};
  for (size_t i = 0; i < 2; ++i) {
    char yaml[1024];
    snprintf(yaml, sizeof yaml,
             "dims: {s: {min: 2, max: 4}}\n"
             "nodes:\n"
             "  - {out: i, op: aten.arange.default, args: [{sym: s}]}\n"
             "  - {out: a, op: aten.mul.Tensor, args: [i, i]}\n"
             "  - {out: n, op: aten.full.default, args: [[1], %s], kwargs: "
             "{dtype: int64}}\n"
             "  - {out: y, op: aten.index.Tensor, args: [a, [n]]}\n"
             "outputs: [y]\n",
             numbers[i]);
    lowered l;
    lowered_open(&l, ETX_TARGET_ETX, yaml);
    lowered_run(&l, "lower fold_constants fold_positions");
    assert_non_null(strstr(lowered_lines(&l), "aten::index.Tensor_out(a, "));
    lowered_close(&l);
  }
}

// Sums over a dimension that varies depend on its size.
static void sums_stay(void** state) {
  (void)state;
  expect(
      "dims: {s: {min: 1, max: 3}}\n"
      "nodes:\n"
      "  - {out: i, op: aten.arange.default, args: [{sym: s}]}\n"
      "  - {out: y, op: aten.sum.dim_IntList, args: [i, [0]]}\n"
      "outputs: [y]\n",
      "i: int64[s] = aten::slice_copy.Tensor_out(const int64[3], 0, 0, s, 1)\n"
      "y: int64[] = aten::sum.IntList_out(i, [0], False, None)\n"
      "return y\n");
}

// A matrix product of `i`, a column of positions, and `f` with `columns`
// columns, whose type is `type`.
#define PRODUCT(shape, type, view)                                      \
  "dims: {s: {min: 1, max: 3}}\n"                                       \
  "inputs: [{name: x, type: 'float32[s, 2]'}]\n"                        \
  "buffers: [{name: f, type: '" type                                    \
  "', init: 0.5}]\n"                                                    \
  "nodes:\n"                                                            \
  "  - {out: i, op: aten.arange.default, args: [{sym: s}]}\n"           \
  "  - {out: g, op: aten._to_copy.default, args: [i], kwargs: {dtype: " \
  "float32}}\n"                                                         \
  "  - {out: u, op: aten.unsqueeze.default, args: [g, 1]}\n"            \
  "  - {out: e, op: aten.expand.default, args: [u, " shape              \
  "]}\n"                                                                \
  "  - {out: a, op: aten.mm.default, args: [" view                      \
  ", f]}\n"                                                             \
  "  - {out: y, op: aten.mul.Tensor, args: [x, a]}\n"                   \
  "outputs: [y]\n"

// A sum of several products may depend on how many rows there are.
static void products_of_a_column_and_a_row_are_tables(void** state) {
  (void)state;
  expect(PRODUCT("[{sym: s}, 2]", "float32[1, 2]", "u"),
         "a: float32[s, 2] = aten::slice_copy.Tensor_out(const float32[3, 2], "
         "0, 0, s, 1)\n"
         "y: float32[s, 2] = aten::mul.out(x, a)\n"
         "return y\n");
  lowered l;
  lowered_open(&l, ETX_TARGET_ETX,
               PRODUCT("[{sym: s}, 2]", "float32[2, 2]", "e"));
  lowered_run(&l, PASSES);
  assert_non_null(strstr(lowered_lines(&l), "aten::mm.out"));
  lowered_close(&l);
}

// Floats of which every sum is exact count as integers.
static void running_sums_of_integers_are_tables(void** state) {
  (void)state;
  static const struct {
    const char* number;
    bool is_table;
  } cases[] = {{"3.0", true}, {"0.5", false}, {"16777216.0", false}};
  for (size_t i = 0; i < 3; ++i) {
    char yaml[512];
    lowered l;
    snprintf(yaml, sizeof yaml,
             "dims: {s: {min: 1, max: 3}}\n"
             "inputs: [{name: x, type: 'float32[s]'}]\n"
             "nodes:\n"
             "  - {out: f, op: aten.full.default, args: [[{sym: s}], %s]}\n"
             "  - {out: c, op: aten.cumsum.default, args: [f, 0]}\n"
             "  - {out: y, op: aten.sub.Tensor, args: [x, c]}\n"
             "outputs: [y]\n",
             cases[i].number);
    lowered_open(&l, ETX_TARGET_ETX, yaml);
    lowered_run(&l, PASSES);
    assert_int_equal(strstr(lowered_lines(&l), "aten::cumsum") == NULL,
                     cases[i].is_table);
    lowered_close(&l);
  }
}

static void a_table_of_more_than_a_mebibyte_stays(void** state) {
  (void)state;
  const char* const graph =
      "inputs: [{name: x, type: 'float32[s, 1024]'}]\n"
      "nodes:\n"
      "  - {out: i, op: aten.arange.default, args: [{sym: s}]}\n"
      "  - {out: j, op: aten.arange.default, args: [1024]}\n"
      "  - {out: u, op: aten.unsqueeze.default, args: [i, 1]}\n"
      "  - {out: a, op: aten.mul.Tensor, args: [u, j]}\n"
      "  - {out: b, op: aten._to_copy.default, args: [a], kwargs: {dtype: "
      "float32}}\n"
      "  - {out: y, op: aten.add.Tensor, args: [x, b]}\n"
      "outputs: [y]\n";
  const char* const sizes[] = {"256", "257"};
  for (size_t i = 0; i < 2; ++i) {
    char yaml[1024];
    snprintf(yaml, sizeof yaml, "dims: {s: {min: 1, max: %s}}\n%s", sizes[i],
             graph);
    lowered l;
    lowered_open(&l, ETX_TARGET_ETX, yaml);
    lowered_run(&l, PASSES);
    const bool is_computed = strstr(lowered_lines(&l), "to_dim_order") != NULL;
    assert_int_equal(is_computed, i == 1);
    if (i == 0) (void)only_constant(&l, 1024 * 1024);
    lowered_close(&l);
  }
}

static void small_values_of_fixed_sizes_stay(void** state) {
  (void)state;
  expect_unchanged(
      "inputs: [{name: x, type: 'int64[3]'}]\n"
      "nodes:\n"
      "  - {out: i, op: aten.arange.default, args: [3]}\n"
      "  - {out: y, op: aten.add.Tensor, args: [x, i]}\n"
      "outputs: [y]\n");
}

// 200 * 200 floats are too many for constant folding.
#define LONG_MASK                                                       \
  "inputs: [{name: x, type: 'float32[200, 200]'}]\n"                    \
  "nodes:\n"                                                            \
  "  - {out: f, op: aten.full.default, args: [[200, 200], -8.0]}\n"     \
  "  - {out: i, op: aten.arange.default, args: [200]}\n"                \
  "  - {out: u, op: aten.unsqueeze.default, args: [i, 1]}\n"            \
  "  - {out: g, op: aten.gt.Tensor, args: [i, u]}\n"                    \
  "  - {out: c, op: aten._to_copy.default, args: [g], kwargs: {dtype: " \
  "float32}}\n"

static void a_long_triangle_of_fixed_sizes_is_a_comparison(void** state) {
  (void)state;
  lowered l;
  lowered_open(&l, ETX_TARGET_ETX,
               LONG_MASK
               "  - {out: t, op: aten.mul.Tensor, args: [f, c]}\n"
               "  - {out: y, op: aten.add.Tensor, args: [x, t]}\n"
               "outputs: [y]\n");
  lowered_run(&l, PASSES);
  assert_lines(&l,
               "t.1: bool[200, 200] = aten::le.Tensor_out(const int64[1, 200], "
               "const int64[200, 1])\n"
               "t: float32[200, 200] = aten::where.self_out(t.1, "
               "-0.0:float32, -8.0:float32)\n"
               "y: float32[200, 200] = aten::add.out(x, t, 1)\n"
               "return y\n");
  lowered_close(&l);
}

// Any other table is a constant of the file.
static void a_long_table_of_fixed_sizes_is_a_constant(void** state) {
  (void)state;
  lowered l;
  lowered_open(&l, ETX_TARGET_ETX,
               LONG_MASK
               "  - {out: s, op: aten.sub.Tensor, args: [i, u]}\n"
               "  - {out: t, op: aten.mul.Tensor, args: [c, s]}\n"
               "  - {out: y, op: aten.add.Tensor, args: [x, t]}\n"
               "outputs: [y]\n");
  lowered_run(&l, PASSES);
  assert_lines(&l,
               "y: float32[200, 200] = aten::add.out(x, const float32[200, "
               "200], 1)\n"
               "return y\n");
  lowered_close(&l);
}

// A weight that is stored with fewer bits stays as it is; constant folding
// leaves one of 40 000 bytes here.
static void weights_of_another_type_stay(void** state) {
  (void)state;
  expect_unchanged(
      "inputs: [{name: x, type: 'float32[200, 200]'}]\n"
      "nodes:\n"
      "  - {out: i, op: aten.arange.default, args: [200], kwargs: {dtype: "
      "int8}}\n"
      "  - {out: u, op: aten.unsqueeze.default, args: [i, 1]}\n"
      "  - {out: w, op: aten.bitwise_xor.Tensor, args: [i, u]}\n"
      "  - {out: c, op: aten._to_copy.default, args: [w], kwargs: {dtype: "
      "float32}}\n"
      "  - {out: y, op: aten.mm.default, args: [x, c]}\n"
      "outputs: [y]\n");
}

// Copies of what is in the file once would only make it larger.
static void what_only_repeats_stays(void** state) {
  (void)state;
  expect_unchanged(
      "inputs: [{name: x, type: 'int64[200, 200]'}]\n"
      "nodes:\n"
      "  - {out: i, op: aten.arange.default, args: [200]}\n"
      "  - {out: e, op: aten.expand.default, args: [i, [200, 200]]}\n"
      "  - {out: z, op: aten.full.default, args: [[200, 200], 7], kwargs: "
      "{dtype: int64}}\n"
      "  - {out: a, op: aten.cat.default, args: [[x, e, z]]}\n"
      "outputs: [a]\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_table_is_computed_for_the_largest_size),
      cmocka_unit_test(a_triangle_is_a_comparison_of_positions),
      cmocka_unit_test(the_part_above_a_triangle_is_a_comparison),
      cmocka_unit_test(equal_elements_are_one_element),
      cmocka_unit_test(a_part_of_two_dimensions_is_one_copy),
      cmocka_unit_test(shifted_positions_are_rows_of_the_weight),
      cmocka_unit_test(any_of_a_triangle_is_known),
      cmocka_unit_test(any_that_depends_on_the_size_stays),
      cmocka_unit_test(positions_that_begin_at_a_size_are_a_view),
      cmocka_unit_test(other_positions_that_begin_at_a_size_stay),
      cmocka_unit_test(products_of_a_column_and_a_row_are_tables),
      cmocka_unit_test(running_sums_of_integers_are_tables),
      cmocka_unit_test(rows_from_the_end_stay),
      cmocka_unit_test(indices_that_depend_on_the_size_stay),
      cmocka_unit_test(sums_stay),
      cmocka_unit_test(a_table_of_more_than_a_mebibyte_stays),
      cmocka_unit_test(small_values_of_fixed_sizes_stay),
      cmocka_unit_test(a_long_triangle_of_fixed_sizes_is_a_comparison),
      cmocka_unit_test(a_long_table_of_fixed_sizes_is_a_constant),
      cmocka_unit_test(weights_of_another_type_stay),
      cmocka_unit_test(what_only_repeats_stays),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
