// slice, select, split, unbind, cat, stack; slice_scatter and select_scatter;
// diff.

#include "exporter/lower/builder/lowering_functions.h"

enum { MAX_VARYING_PARTS = 1024 };

static uint32_t self_of(const etx_builder* builder) {
  return builder->args[0].as.value;
}

static etx_status add(etx_builder* builder, etx_dim a, etx_dim b,
                      etx_dim* out) {
  return etx_symbols_apply(&builder->method->symbols, ETX_SYMBOL_ADD, a, b,
                           out);
}

// ------------------------------------------------ slices

etx_status etx_lowering_slice(etx_builder* builder) {
  const etx_shape shape = *etx_builder_shape(builder, self_of(builder));
  size_t axis = 0;
  etx_dim start = 0;
  etx_dim end = 0;
  ETX_TRY(etx_builder_axis(builder, builder->args[1].as.integer, shape.rank,
                           &axis));
  ETX_TRY(etx_builder_slice_range(builder, shape.dims[axis], &builder->args[2],
                                  &builder->args[3], &start, &end));
  return etx_build_slice(
      builder, self_of(builder),
      (etx_dim_slice){axis, start, end, builder->args[4].as.integer},
      &builder->results[0]);
}

// narrow(self, dim, start, length)
etx_status etx_lowering_narrow(etx_builder* builder) {
  const etx_shape shape = *etx_builder_shape(builder, self_of(builder));
  size_t axis = 0;
  etx_dim start = builder->args[2].as.integer;
  etx_dim end = 0;
  ETX_TRY(etx_builder_axis(builder, builder->args[1].as.integer, shape.rank,
                           &axis));
  if (etx_dim_is_number(start) && start < 0) {
    ETX_TRY(add(builder, start, shape.dims[axis], &start));
  }
  ETX_TRY(add(builder, start, builder->args[3].as.integer, &end));
  // Unlike a slice, it has no fewer elements where the dimension is smaller.
  // Sizes that data decide are checked where they become known.
  if (etx_dim_is_number(end) &&
      etx_symbols_late_in(&builder->method->symbols, shape.dims[axis]) == 0) {
    ETX_TRY(etx_build_at_least(builder, shape.dims[axis], end,
                               "the dimension has the elements of the part"));
  }
  return etx_build_slice(builder, self_of(builder),
                         (etx_dim_slice){axis, start, end, 1},
                         &builder->results[0]);
}

// Counts an index from the front.
static etx_status front_index(etx_builder* builder, etx_dim index, etx_dim size,
                              etx_dim* out) {
  int64_t low = 0;
  int64_t high = 0;
  etx_symbols_bounds(&builder->method->symbols, index, &low, &high);
  if (high < 0) return add(builder, index, size, out);
  if (etx_dim_is_number(index) && etx_dim_is_number(size) && index >= size) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "index %i is out of range for a dimension of size %i",
                         index, size);
  }
  *out = index;
  return ETX_OK;
}

etx_status etx_lowering_select(etx_builder* builder) {
  const etx_shape shape = *etx_builder_shape(builder, self_of(builder));
  size_t axis = 0;
  etx_dim index = 0;
  ETX_TRY(etx_builder_axis(builder, builder->args[1].as.integer, shape.rank,
                           &axis));
  if (shape.rank == 0) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "'%t' expects a tensor of rank 1 or more",
                         builder->node->aten);
  }
  ETX_TRY(front_index(builder, builder->args[2].as.integer, shape.dims[axis],
                      &index));
  const etx_ir_arg args[] = {etx_ir_value_arg(self_of(builder)),
                             etx_ir_int((etx_dim)axis), etx_ir_int(index)};
  return etx_build_op(builder, ETX_OP_select_copy_int_out, args, 3,
                      &builder->results[0]);
}

// Consecutive slices; `sizes` has one entry for each output.
static etx_status emit_parts(etx_builder* builder, size_t axis,
                             const etx_ir_arg* sizes, size_t count) {
  etx_dim start = 0;
  if (count != builder->node->output_count) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "'%t' gives %z tensors, but the node has %z outputs",
                         builder->node->aten, count,
                         builder->node->output_count);
  }
  for (size_t i = 0; i < count; ++i) {
    etx_dim end = 0;
    ETX_TRY(add(builder, start, sizes[i].as.integer, &end));
    ETX_TRY(etx_build_slice(builder, self_of(builder),
                            (etx_dim_slice){axis, start, end, 1},
                            &builder->results[i]));
    start = end;
  }
  return ETX_OK;
}

etx_status etx_lowering_split_with_sizes(etx_builder* builder) {
  const size_t rank = etx_builder_shape(builder, self_of(builder))->rank;
  size_t axis = 0;
  ETX_TRY(etx_builder_axis(builder, builder->args[2].as.integer, rank, &axis));
  return emit_parts(builder, axis, builder->args[1].as.list.items,
                    builder->args[1].as.list.count);
}

// One slice of `size` elements for each output; the last one has the rest.
static etx_status emit_equal_parts(etx_builder* builder, size_t axis,
                                   etx_dim whole, etx_dim size) {
  etx_symbols* const symbols = &builder->method->symbols;
  const size_t count = builder->node->output_count;
  etx_ir_arg* const sizes =
      etx_pool_take(builder->module->pool, count * sizeof(etx_ir_arg));
  if (sizes == NULL) return ETX_OUT_OF_MEMORY;
  etx_dim rest = whole;
  for (size_t i = 0; i + 1 < count; ++i) {
    sizes[i] = etx_ir_int(size);
    ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_SUBTRACT, rest, size, &rest));
  }
  if (count != 0) sizes[count - 1] = etx_ir_int(rest);
  return emit_parts(builder, axis, sizes, count);
}

static etx_status refuse_count(const etx_builder* builder) {
  return etx_diag_fail(
      builder->diag, ETX_BAD_ARGUMENT,
      "'%t' does not give %z tensors for every size of its dimension",
      builder->node->aten, builder->node->output_count);
}

// Slices of one size; the last one may be smaller.
static etx_status split_by(etx_builder* builder, size_t axis, etx_dim size) {
  etx_symbols* const symbols = &builder->method->symbols;
  const etx_dim whole =
      etx_builder_shape(builder, self_of(builder))->dims[axis];
  const size_t count = builder->node->output_count;
  etx_dim rest = 0;
  etx_dim room = 0;
  int64_t low = 0;
  int64_t high = 0;
  if (count == 0) return ETX_OK;
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_MULTIPLY, size,
                            (etx_dim)count - 1, &rest));
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_SUBTRACT, whole, rest, &rest));
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_SUBTRACT, size, rest, &room));
  etx_symbols_bounds(symbols, rest, &low, &high);
  if (low < 0) return refuse_count(builder);
  etx_symbols_bounds(symbols, room, &low, &high);
  if (low < 0) return refuse_count(builder);
  return emit_equal_parts(builder, axis, whole, size);
}

// The size of the parts if a dimension is split into `count` ones: its size
// divided by `count`, rounded up.
static etx_status chunk_size(etx_builder* builder, etx_dim whole, int64_t count,
                             etx_dim* out) {
  etx_symbols* const symbols = &builder->method->symbols;
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_ADD, whole, count - 1, out));
  return etx_symbols_apply(symbols, ETX_SYMBOL_FLOOR_DIVIDE, *out, count, out);
}

// Splits a dimension that varies into one part for each output. Parts of the
// rounded size may be fewer: 5 elements make three parts of 2, not four. For
// sizes above (count - 1)^2 the number is right, so only smaller ones are
// tried.
static etx_status split_varying(etx_builder* builder, size_t axis,
                                etx_dim whole) {
  const int64_t count = (int64_t)builder->node->output_count;
  int64_t low = 0;
  int64_t high = 0;
  etx_dim size = 0;
  etx_symbols_bounds(&builder->method->symbols, whole, &low, &high);
  if (count < 1 || count > MAX_VARYING_PARTS) return refuse_count(builder);
  if (high > (count - 1) * (count - 1)) high = (count - 1) * (count - 1);
  for (int64_t n = low; count > 1 && n <= high; ++n) {
    if ((count - 1) * ((n + count - 1) / count) >= n) {
      return refuse_count(builder);
    }
  }
  ETX_TRY(chunk_size(builder, whole, count, &size));
  return emit_equal_parts(builder, axis, whole, size);
}

etx_status etx_lowering_split(etx_builder* builder) {
  const etx_shape shape = *etx_builder_shape(builder, self_of(builder));
  etx_symbols* const symbols = &builder->method->symbols;
  const size_t count = builder->node->output_count;
  size_t axis = 0;
  etx_dim equal = 0;
  int64_t low = 0;
  int64_t high = 0;
  ETX_TRY(etx_builder_axis(builder, builder->args[2].as.integer, shape.rank,
                           &axis));
  const etx_dim whole = shape.dims[axis];
  const etx_dim size = builder->args[1].as.integer;
  // Decompositions make chunk such a split.
  if (!etx_dim_is_number(size) && count != 0) {
    ETX_TRY(chunk_size(builder, whole, (int64_t)count, &equal));
    if (etx_symbols_equal(symbols, size, equal)) {
      return split_varying(builder, axis, whole);
    }
  }
  etx_symbols_bounds(symbols, size, &low, &high);
  if (low > 0) return split_by(builder, axis, size);
  return etx_diag_fail(builder->diag, ETX_UNSUPPORTED,
                       "'%t' expects a split size above 0",
                       builder->node->aten);
}

// chunk(self, chunks, dim): a split by the size divided by chunks, rounded up.
etx_status etx_lowering_chunk(etx_builder* builder) {
  const etx_shape shape = *etx_builder_shape(builder, self_of(builder));
  size_t axis = 0;
  ETX_TRY(etx_builder_axis(builder, builder->args[2].as.integer, shape.rank,
                           &axis));
  const etx_dim whole = shape.dims[axis];
  const etx_dim chunks = builder->args[1].as.integer;
  if (!etx_dim_is_number(chunks) || chunks <= 0) {
    return etx_diag_fail(builder->diag, ETX_UNSUPPORTED,
                         "'%t' expects a fixed number of chunks above 0",
                         builder->node->aten);
  }
  if (!etx_dim_is_number(whole)) {
    if (chunks != (etx_dim)builder->node->output_count) {
      return refuse_count(builder);
    }
    return split_varying(builder, axis, whole);
  }
  return split_by(builder, axis, whole / chunks + (whole % chunks != 0));
}

etx_status etx_lowering_unbind(etx_builder* builder) {
  const etx_shape shape = *etx_builder_shape(builder, self_of(builder));
  size_t axis = 0;
  ETX_TRY(etx_builder_axis(builder, builder->args[1].as.integer, shape.rank,
                           &axis));
  if (shape.rank == 0 ||
      shape.dims[axis] != (etx_dim)builder->node->output_count) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "'%t' does not give %z tensors", builder->node->aten,
                         builder->node->output_count);
  }
  for (size_t i = 0; i < builder->node->output_count; ++i) {
    const etx_ir_arg args[] = {etx_ir_value_arg(self_of(builder)),
                               etx_ir_int((etx_dim)axis),
                               etx_ir_int((etx_dim)i)};
    ETX_TRY(etx_build_op(builder, ETX_OP_select_copy_int_out, args, 3,
                         &builder->results[i]));
  }
  return ETX_OK;
}

// ------------------------------------------------ concatenation

// Casts the tensors of a list to their common dtype.
static etx_status cast_items(etx_builder* builder, etx_ir_arg* list) {
  etx_dtype dtype;
  ETX_TRY(etx_builder_result_type(builder, list->as.list.items,
                                  list->as.list.count, &dtype));
  for (size_t i = 0; i < list->as.list.count; ++i) {
    uint32_t value = 0;
    ETX_TRY(etx_build_operand(builder, &list->as.list.items[i], dtype, &value));
    list->as.list.items[i] = etx_ir_value_arg(value);
  }
  return ETX_OK;
}

static etx_status copy_items(etx_builder* builder, const etx_ir_arg* list,
                             etx_ir_arg* out) {
  const size_t count = list->as.list.count;
  etx_ir_arg* const items =
      etx_pool_take(builder->module->pool, count * sizeof(etx_ir_arg));
  if (items == NULL) return ETX_OUT_OF_MEMORY;
  if (count != 0) memcpy(items, list->as.list.items, count * sizeof *items);
  *out = etx_ir_list(items, count);
  return ETX_OK;
}

static etx_status emit_cat(etx_builder* builder, const etx_ir_arg* list,
                           size_t axis) {
  if (list->as.list.count == 1) {
    builder->results[0] = list->as.list.items[0].as.value;
    return ETX_OK;
  }
  const etx_ir_arg args[] = {*list, etx_ir_int((etx_dim)axis)};
  return etx_build_op(builder, ETX_OP_cat_out, args, 2, &builder->results[0]);
}

static etx_status take_list(etx_builder* builder, etx_ir_arg* out_list) {
  if (builder->args[0].as.list.count == 0) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "'%t' expects at least one tensor",
                         builder->node->aten);
  }
  ETX_TRY(copy_items(builder, &builder->args[0], out_list));
  return cast_items(builder, out_list);
}

// PyTorch's cat accepts vectors of size 0 beside tensors of any rank and
// ignores them, for instance an empty cache. One remains if there is no other
// tensor.
static void drop_empty_vectors(etx_builder* builder, etx_ir_arg* list) {
  etx_ir_arg* const items = list->as.list.items;
  size_t kept = 0;
  for (size_t i = 0; i < list->as.list.count; ++i) {
    const etx_shape* const shape =
        etx_builder_shape(builder, items[i].as.value);
    if (shape->rank == 1 && shape->dims[0] == 0) continue;
    items[kept++] = items[i];
  }
  list->as.list.count = kept == 0 ? 1 : kept;
}

etx_status etx_lowering_cat(etx_builder* builder) {
  etx_ir_arg list;
  size_t axis = 0;
  ETX_TRY(take_list(builder, &list));
  drop_empty_vectors(builder, &list);
  const size_t rank =
      etx_builder_shape(builder, list.as.list.items[0].as.value)->rank;
  ETX_TRY(etx_builder_axis(builder, builder->args[1].as.integer, rank, &axis));
  return emit_cat(builder, &list, axis);
}

etx_status etx_lowering_stack(etx_builder* builder) {
  etx_ir_arg list;
  size_t axis = 0;
  ETX_TRY(take_list(builder, &list));
  const size_t rank =
      etx_builder_shape(builder, list.as.list.items[0].as.value)->rank;
  ETX_TRY(
      etx_builder_axis(builder, builder->args[1].as.integer, rank + 1, &axis));
  for (size_t i = 0; i < list.as.list.count; ++i) {
    uint32_t* const item = &list.as.list.items[i].as.value;
    ETX_TRY(etx_build_unsqueeze(builder, *item, axis, item));
  }
  return emit_cat(builder, &list, axis);
}

// ------------------------------------------------ scatters into slices

static etx_status emit_slice_scatter(etx_builder* builder, uint32_t src,
                                     etx_dim_slice slice) {
  const uint32_t self = self_of(builder);
  const etx_shape shape = *etx_builder_shape(builder, self);
  if (slice.axis >= shape.rank) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "'%t' expects a tensor of rank 1 or more",
                         builder->node->aten);
  }
  ETX_TRY(etx_build_cast(builder, src, shape.dtype, &src));
  if (slice.start == 0 && slice.step == 1 &&
      etx_symbols_equal(&builder->method->symbols, slice.end,
                        shape.dims[slice.axis])) {
    return etx_build_expand(builder, src, shape.dims, shape.rank,
                            &builder->results[0]);
  }
  const etx_ir_arg args[] = {
      etx_ir_value_arg(self),          etx_ir_value_arg(src),
      etx_ir_int((etx_dim)slice.axis), etx_ir_int(slice.start),
      etx_ir_int(slice.end),           etx_ir_int(slice.step)};
  return etx_build_op(builder, ETX_OP_slice_scatter_out, args, 6,
                      &builder->results[0]);
}

// A source of one row must meet a row: it would broadcast to none.
static etx_status check_source(etx_builder* builder, etx_dim_slice slice) {
  const etx_shape shape =
      *etx_builder_shape(builder, builder->args[1].as.value);
  etx_dim size = 0;
  if (slice.axis >= shape.rank || shape.dims[slice.axis] != 1) return ETX_OK;
  ETX_TRY(etx_symbols_apply(&builder->method->symbols, ETX_SYMBOL_SUBTRACT,
                            slice.end, slice.start, &size));
  return etx_build_at_least(builder, size, 1,
                            "the slice has as many rows as its source");
}

etx_status etx_lowering_slice_scatter(etx_builder* builder) {
  const etx_shape shape = *etx_builder_shape(builder, self_of(builder));
  size_t axis = 0;
  etx_dim start = 0;
  etx_dim end = 0;
  ETX_TRY(etx_builder_axis(builder, builder->args[2].as.integer, shape.rank,
                           &axis));
  ETX_TRY(etx_builder_slice_range(builder, shape.dims[axis], &builder->args[3],
                                  &builder->args[4], &start, &end));
  const etx_dim_slice slice = {axis, start, end, builder->args[5].as.integer};
  ETX_TRY(check_source(builder, slice));
  return emit_slice_scatter(builder, builder->args[1].as.value, slice);
}

// select_scatter is lowered to a slice_scatter of one index, which can be
// computed in place.
etx_status etx_lowering_select_scatter(etx_builder* builder) {
  const etx_shape shape = *etx_builder_shape(builder, self_of(builder));
  uint32_t src = builder->args[1].as.value;
  size_t axis = 0;
  etx_dim index = 0;
  etx_dim end = 0;
  ETX_TRY(etx_builder_axis(builder, builder->args[2].as.integer, shape.rank,
                           &axis));
  ETX_TRY(front_index(builder, builder->args[3].as.integer, shape.dims[axis],
                      &index));
  ETX_TRY(add(builder, index, 1, &end));
  ETX_TRY(etx_build_unsqueeze(builder, src, axis, &src));
  return emit_slice_scatter(builder, src, (etx_dim_slice){axis, index, end, 1});
}

// ------------------------------------------------ differences

// Repeated differences are unrolled.
enum { MAX_ROUNDS = 16 };

// Concatenates `prepend`, the tensor and `append` in their common dtype.
static etx_status lengthen(etx_builder* builder, size_t axis, uint32_t* value) {
  const etx_ir_arg all[] = {builder->args[3], builder->args[0],
                            builder->args[4]};
  etx_ir_arg items[3];
  size_t count = 0;
  for (size_t i = 0; i < 3; ++i) {
    if (all[i].kind != ETX_IR_ARG_NONE) items[count++] = all[i];
  }
  if (count == 1) return ETX_OK;
  etx_ir_arg list = etx_ir_list(items, count);
  ETX_TRY(cast_items(builder, &list));
  const etx_ir_arg args[] = {list, etx_ir_int((etx_dim)axis)};
  return etx_build_op(builder, ETX_OP_cat_out, args, 2, value);
}

// diff(self, n, dim, prepend, append): differences of neighbours, repeated n
// times.
etx_status etx_lowering_diff(etx_builder* builder) {
  uint32_t value = self_of(builder);
  const size_t rank = etx_builder_shape(builder, value)->rank;
  size_t axis = 0;
  ETX_TRY(etx_builder_axis(builder, builder->args[2].as.integer, rank, &axis));
  const etx_dim rounds = builder->args[1].as.integer;
  if (rank == 0 || rounds < 0 || rounds > MAX_ROUNDS) {
    return etx_diag_fail(
        builder->diag, ETX_UNSUPPORTED,
        "'%t' of a tensor of rank 0, or with n above %i, is not supported",
        builder->node->aten, (int64_t)MAX_ROUNDS);
  }
  if (rounds > 0) ETX_TRY(lengthen(builder, axis, &value));
  const bool is_bool =
      etx_builder_shape(builder, value)->dtype == ETX_DTYPE_BOOL;
  for (etx_dim round = 0; round < rounds; ++round) {
    const etx_dim size = etx_builder_shape(builder, value)->dims[axis];
    etx_dim last = 0;
    uint32_t low = 0;
    uint32_t high = 0;
    ETX_TRY(add(builder, size, -1, &last));
    ETX_TRY(etx_build_slice(builder, value, (etx_dim_slice){axis, 0, last, 1},
                            &low));
    ETX_TRY(etx_build_slice(builder, value, (etx_dim_slice){axis, 1, size, 1},
                            &high));
    ETX_TRY(etx_build_binary(builder,
                             is_bool ? ETX_OP_logical_xor_out : ETX_OP_sub_out,
                             high, low, &value));
  }
  builder->results[0] = value;
  return ETX_OK;
}
