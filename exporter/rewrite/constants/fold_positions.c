// Computes tables of positions at plan time (position_tables.h). A run reads
// the leading part of a table that was computed for the largest sizes. It is a
// view where the leading dimensions have size 1; otherwise it is a copy. Tables
// of fixed sizes are read whole.
//
// Some tables need few bytes in the file:
//
//   all elements equal          ->  one element, repeated
//   a lower triangle, [S, S]    ->  a comparison of two tables of S positions,
//                                   and where() if the elements are not bool;
//                                   fuse_attention knows it as causal
//   equal along a dimension     ->  one index of it, repeated, if all readers
//                                   broadcast
//
// Any other table may have 1 MiB: rotary angles of 2048 positions with 128
// floats each. Larger ones are computed in every call, as before.
//
// Positions that begin at a size (a prompt behind a cache) are no table, but a
// part of one: arange(P, P + S) is a view of 0, 1, 2, .. that starts at P.

#include "exporter/ir/ir_edit.h"
#include "exporter/rewrite/constants/position_tables.h"
#include "exporter/rewrite/ir_rewrite.h"

enum { MOST_TABLE_BYTES = 1024 * 1024 };

static const etx_shape* result_shape(const etx_rewrite* rewrite) {
  return etx_builder_shape(&rewrite->builder,
                           rewrite->builder.node->outputs[0]);
}

static size_t element_bytes(const etx_ir_constant* table) {
  return etx_dtype_bytes(table->dtype);
}

static const uint8_t* element(const etx_ir_constant* table, size_t at) {
  return table->data.data + at * element_bytes(table);
}

static bool equal_elements(const etx_ir_constant* table, size_t a, size_t b) {
  return memcmp(element(table, a), element(table, b), element_bytes(table)) ==
         0;
}

// A value for bytes of the pool.
static etx_status emit_constant(etx_rewrite* rewrite,
                                const etx_ir_constant* constant,
                                uint32_t* out_value) {
  etx_builder* const builder = &rewrite->builder;
  uint32_t index = 0;
  ETX_TRY(etx_ir_add_constant(builder->module, constant, &index));
  return etx_ir_constant_value(builder->module, builder->method, index,
                               out_value);
}

// ------------------------------------------------ parts of tables

static size_t count_varying(const etx_shape* shape) {
  size_t count = 0;
  for (size_t i = 0; i < shape->rank; ++i) {
    count += !etx_dim_is_number(shape->dims[i]);
  }
  return count;
}

// The part of a table that has the sizes of the result in all dimensions, as
// one copy.
static etx_status emit_part(etx_rewrite* rewrite, const etx_ir_constant* table,
                            uint32_t* value) {
  etx_builder* const builder = &rewrite->builder;
  const etx_shape to = *result_shape(rewrite);
  etx_dim strides[ETX_MAX_RANK];
  etx_ir_arg lists[2];
  int64_t stride = 1;
  for (size_t i = to.rank; i-- > 0;) {
    strides[i] = stride;
    stride *= table->sizes[i];
  }
  ETX_TRY(etx_build_int_list(builder, to.dims, to.rank, &lists[0]));
  ETX_TRY(etx_build_int_list(builder, strides, to.rank, &lists[1]));
  const etx_ir_arg args[] = {etx_ir_value_arg(*value), lists[0], lists[1],
                             etx_ir_int(0)};
  return etx_build_op(builder, ETX_OP_as_strided_copy_out, args, 4, value);
}

// The table as a constant, and a slice of it along the dimension that varies.
// A dimension of which the table has one index is repeated.
static etx_status emit_table(etx_rewrite* rewrite, const etx_ir_constant* table,
                             uint32_t* out_value) {
  etx_builder* const builder = &rewrite->builder;
  const etx_shape to = *result_shape(rewrite);
  size_t count = 0;
  size_t axis = 0;
  ETX_TRY(emit_constant(rewrite, table, out_value));
  for (size_t i = 0; i < to.rank; ++i) {
    if (table->sizes[i] == 1 || etx_dim_is_number(to.dims[i])) continue;
    axis = i;
    ++count;
  }
  if (count > 1 && count == count_varying(&to)) {
    return emit_part(rewrite, table, out_value);
  }
  for (size_t i = 0; count != 0 && i <= axis; ++i) {
    if (table->sizes[i] == 1) continue;
    ETX_TRY(etx_build_slice(builder, *out_value,
                            (etx_dim_slice){i, 0, to.dims[i], 1}, out_value));
  }
  return etx_build_expand(builder, *out_value, to.dims, to.rank, out_value);
}

// True if all indices of dimension `axis` have equal elements.
static bool is_equal_along(const etx_ir_constant* table, size_t axis) {
  size_t inner = 1;
  for (size_t i = axis + 1; i < table->rank; ++i) {
    inner *= (size_t)table->sizes[i];
  }
  const size_t size = (size_t)table->sizes[axis];
  const size_t count = table->data.size / element_bytes(table);
  for (size_t i = inner; i < count; ++i) {
    if (i / inner % size != 0 && !equal_elements(table, i, i - inner)) {
      return false;
    }
  }
  return true;
}

// Keeps index 0 of dimension `axis`.
static etx_status keep_first(etx_rewrite* rewrite, etx_ir_constant* table,
                             size_t axis) {
  size_t inner = element_bytes(table);
  for (size_t i = axis + 1; i < table->rank; ++i) {
    inner *= (size_t)table->sizes[i];
  }
  const size_t size = (size_t)table->sizes[axis];
  const size_t outer = table->data.size / inner / size;
  uint8_t* const data =
      etx_pool_take(rewrite->builder.module->pool, outer * inner);
  if (data == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < outer; ++i) {
    memcpy(data + i * inner, table->data.data + i * inner * size, inner);
  }
  table->data = (etx_bytes){data, outer * inner};
  table->sizes[axis] = 1;
  return ETX_OK;
}

// Keeps one index of each dimension that varies and whose indices are equal.
static etx_status shrink_table(etx_rewrite* rewrite, etx_ir_constant* table) {
  const etx_shape to = *result_shape(rewrite);
  for (size_t i = 0; i < to.rank; ++i) {
    if (etx_dim_is_number(to.dims[i]) || table->sizes[i] == 1 ||
        !is_equal_along(table, i)) {
      continue;
    }
    ETX_TRY(keep_first(rewrite, table, i));
  }
  return ETX_OK;
}

// ------------------------------------------------ triangles

// Element (i, j) of each matrix is `low` if j <= i + shift, else `high`.
typedef struct triangle {
  int64_t shift;
  size_t low, high;  // positions of elements with these numbers
} triangle;

// True for matrices of which a size varies, and for large ones.
static bool may_be_triangle(const etx_rewrite* rewrite,
                            const etx_ir_constant* table) {
  const etx_shape* const to = result_shape(rewrite);
  return to->rank >= 2 && (!etx_dim_is_number(to->dims[to->rank - 1]) ||
                           !etx_dim_is_number(to->dims[to->rank - 2]) ||
                           table->data.size > ETX_KNOWN_SMALL_BYTES);
}

static bool find_triangle(const etx_ir_constant* table, triangle* out) {
  const size_t rows = (size_t)table->sizes[table->rank - 2];
  const size_t columns = (size_t)table->sizes[table->rank - 1];
  const size_t count = table->data.size / element_bytes(table);
  size_t first = 1;  // column of the first row that differs from column 0
  while (first < columns && equal_elements(table, first, 0)) ++first;
  *out = (triangle){(int64_t)first - 1, 0, first};
  if (first == columns) {
    // Row 0 may be above the triangle.
    if (rows < 2) return false;
    *out = (triangle){-1, columns, 0};
  }
  if (equal_elements(table, out->low, out->high)) return false;
  for (size_t i = 0; i < count; ++i) {
    const int64_t column = (int64_t)(i % columns);
    const int64_t row = (int64_t)(i / columns % rows);
    const size_t wanted = column <= row + out->shift ? out->low : out->high;
    if (!equal_elements(table, i, wanted)) return false;
  }
  return true;
}

// The integers from `first` on along dimension `axis` of the result, which has
// the sizes of `table` there; all other dimensions have size 1.
static etx_status emit_positions(etx_rewrite* rewrite,
                                 const etx_ir_constant* table, size_t axis,
                                 int64_t first, uint32_t* out_value) {
  etx_builder* const builder = &rewrite->builder;
  const etx_dim size = result_shape(rewrite)->dims[axis];
  const size_t count = (size_t)table->sizes[axis];
  int64_t* const numbers =
      etx_pool_take(builder->module->pool, count * sizeof *numbers);
  if (numbers == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) numbers[i] = first + (int64_t)i;
  etx_ir_constant line = {
      .dtype = ETX_DTYPE_INT64,
      .rank = table->rank,
      .data = {(const uint8_t*)numbers, count * sizeof *numbers}};
  for (size_t i = 0; i < line.rank; ++i) line.sizes[i] = 1;
  line.sizes[axis] = table->sizes[axis];
  ETX_TRY(emit_constant(rewrite, &line, out_value));
  return etx_build_slice(builder, *out_value, (etx_dim_slice){axis, 0, size, 1},
                         out_value);
}

static etx_status emit_element(etx_rewrite* rewrite,
                               const etx_ir_constant* table, size_t at,
                               uint32_t* out_value) {
  const etx_ir_constant one = {
      .dtype = table->dtype,
      .data = {element(table, at), element_bytes(table)}};
  return emit_constant(rewrite, &one, out_value);
}

static etx_status emit_triangle(etx_rewrite* rewrite,
                                const etx_ir_constant* table, const triangle* t,
                                uint32_t* out_value) {
  etx_builder* const builder = &rewrite->builder;
  const etx_shape to = *result_shape(rewrite);
  const bool is_bool = table->dtype == ETX_DTYPE_BOOL;
  const bool is_above = is_bool && *element(table, t->high) != 0;
  uint32_t columns = 0, rows = 0, low = 0, high = 0;
  ETX_TRY(emit_positions(rewrite, table, to.rank - 1u, 0, &columns));
  ETX_TRY(emit_positions(rewrite, table, to.rank - 2u, t->shift, &rows));
  ETX_TRY(etx_build_binary(
      builder, is_above ? ETX_OP_gt_tensor_out : ETX_OP_le_tensor_out, columns,
      rows, out_value));
  if (!is_bool) {
    ETX_TRY(emit_element(rewrite, table, t->low, &low));
    ETX_TRY(emit_element(rewrite, table, t->high, &high));
    ETX_TRY(etx_build_where(builder, *out_value, low, high, out_value));
  }
  return etx_build_expand(builder, *out_value, to.dims, to.rank, out_value);
}

// ------------------------------------------------ tables

// True for a large result of fixed sizes that repeats what constant folding, or
// another table, has once.
static bool only_repeats(const etx_rewrite* rewrite,
                         const etx_ir_constant* table) {
  return etx_ir_is_static(result_shape(rewrite)) &&
         table->data.size > ETX_KNOWN_SMALL_BYTES &&
         (rewrite->builder.node->op->id == ETX_OP_expand_copy_out ||
          etx_rewrite_is_uniform(table));
}

static etx_status fold_table(etx_rewrite* rewrite, bool* out_done) {
  const etx_position_tables* const tables = rewrite->facts;
  const uint32_t value = rewrite->builder.node->outputs[0];
  uint32_t* const result = &rewrite->builder.results[0];
  const etx_ir_constant* const content = etx_position_tables_at(tables, value);
  if (content == NULL) return ETX_OK;
  triangle t;
  if (may_be_triangle(rewrite, content) && find_triangle(content, &t)) {
    *out_done = true;
    return emit_triangle(rewrite, content, &t, result);
  }
  etx_ir_constant table = *content;
  if (etx_rewrite_is_uniform(&table) || tables->broadcasts[value]) {
    ETX_TRY(shrink_table(rewrite, &table));
  }
  if (table.data.size > MOST_TABLE_BYTES || only_repeats(rewrite, &table)) {
    return ETX_OK;
  }
  *out_done = true;
  return emit_table(rewrite, &table, result);
}

// ------------------------------------------------ positions behind others

// arange(start, end) where the start varies, as part of 0, 1, 2, ..
static etx_status fold_later_positions(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  etx_symbols* const symbols = &builder->method->symbols;
  const etx_ir_node* const node = builder->node;
  if (node->op->id != ETX_OP_arange_start_out || node->late != 0 ||
      !etx_rewrite_is_int(&node->args[2], 1) ||
      node->args[0].kind != ETX_IR_ARG_INT ||
      node->args[1].kind != ETX_IR_ARG_INT) {
    return ETX_OK;
  }
  const etx_dim start = node->args[0].as.integer;
  const etx_dim end = node->args[1].as.integer;
  const etx_shape* const to = result_shape(rewrite);
  etx_dim count = 0;
  int64_t low = 0, high = 0, most = 0;
  etx_symbols_bounds(symbols, start, &low, &high);
  etx_symbols_bounds(symbols, end, &high, &most);
  if (etx_dim_is_number(start) || to->dtype != ETX_DTYPE_INT64 || low < 0 ||
      most <= 0 || most > MOST_TABLE_BYTES / (int64_t)sizeof most ||
      (etx_symbols_late_in(symbols, start) |
       etx_symbols_late_in(symbols, end)) != 0 ||
      etx_symbols_apply(symbols, ETX_SYMBOL_SUBTRACT, end, start, &count) !=
          ETX_OK ||
      !etx_symbols_equal(symbols, count, to->dims[0])) {
    return ETX_OK;
  }
  int64_t* const numbers =
      etx_pool_take(builder->module->pool, (size_t)most * sizeof *numbers);
  if (numbers == NULL) return ETX_OUT_OF_MEMORY;
  for (int64_t i = 0; i < most; ++i) numbers[i] = i;
  const etx_ir_constant line = {
      .dtype = ETX_DTYPE_INT64,
      .rank = 1,
      .sizes = {most},
      .data = {(const uint8_t*)numbers, (size_t)most * sizeof *numbers}};
  uint32_t value = 0;
  ETX_TRY(emit_constant(rewrite, &line, &value));
  *out_done = true;
  return etx_build_slice(builder, value, (etx_dim_slice){0, start, end, 1},
                         &builder->results[0]);
}

// ------------------------------------------------ the pass

static etx_status fold_method(etx_pass_context* context, etx_ir_method* method,
                              etx_pool* scratch) {
  const etx_rewrite_rule rules[] = {fold_table, fold_later_positions};
  etx_position_tables tables;
  bool changed = false;
  ETX_TRY(etx_position_tables_find(context, method, scratch, &tables));
  return etx_rewrite_method_with(context, method, rules, 2, &tables, &changed);
}

etx_status etx_pass_fold_positions(etx_pass_context* context) {
  etx_status status = ETX_OK;
  for (size_t i = 0; status == ETX_OK && i < context->module->method_count;
       ++i) {
    etx_pool scratch;
    etx_pool_init(&scratch);
    status = fold_method(context, &context->module->methods[i], &scratch);
    etx_pool_close(&scratch);
  }
  return status;
}
