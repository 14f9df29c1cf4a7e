// Rearrangements that are several views, slices and joins: roll, tile,
// diagonal, pixel shuffles, windows, reflected and repeated edges.

#include "exporter/lower_internal.h"

static uint32_t self_of(const etx_lower* lower) {
  return lower->args[0].as.value;
}

// The sizes of dimensions [first, rank), which must not vary.
static etx_status want_fixed(etx_lower* lower, const etx_shape* shape,
                             size_t first) {
  for (size_t i = first; i < shape->rank; ++i) {
    if (etx_dim_is_number(shape->dims[i])) continue;
    return etx_diag_fail(lower->diag, ETX_UNSUPPORTED,
                         "'%t' of a dimension that varies", lower->node->aten);
  }
  return ETX_OK;
}

static etx_status join(etx_lower* lower, uint32_t* values, size_t count,
                       size_t axis, uint32_t* out_value) {
  etx_ir_arg* const items =
      etx_pool_take(lower->module->pool, count * sizeof(etx_ir_arg));
  if (items == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) items[i] = etx_ir_value_arg(values[i]);
  if (count == 1) {
    *out_value = values[0];
    return ETX_OK;
  }
  const etx_ir_arg args[] = {etx_ir_list(items, count),
                             etx_ir_int((etx_dim)axis)};
  return etx_lower_emit(lower, ETX_OP_cat_out, args, 2, out_value);
}

// tile(self, dims): repeat with dims of 1 in front where there are too few.
etx_status etx_lowering_tile(etx_lower* lower) {
  const size_t rank = etx_lower_shape(lower, self_of(lower))->rank;
  const etx_ir_arg list = lower->args[1];
  const size_t count = list.as.list.count;
  etx_dim repeats[ETX_MAX_RANK];
  const size_t wide = count > rank ? count : rank;
  if (wide > ETX_MAX_RANK) return ETX_OUT_OF_RANGE;
  for (size_t i = 0; i < wide; ++i) {
    repeats[i] =
        i + count < wide ? 1 : list.as.list.items[i + count - wide].as.integer;
  }
  ETX_TRY(etx_lower_ints(lower, repeats, wide, &lower->args[1]));
  return etx_lowering_repeat(lower);
}

// One dimension rolled by `shift`: the last `shift` elements come first.
static etx_status roll_one(etx_lower* lower, size_t axis, etx_dim shift,
                           uint32_t* self) {
  const etx_dim size = etx_lower_shape(lower, *self)->dims[axis];
  if (!etx_dim_is_number(size) || !etx_dim_is_number(shift)) {
    return etx_diag_fail(lower->diag, ETX_UNSUPPORTED,
                         "'%t' of a dimension that varies", lower->node->aten);
  }
  if (size == 0 || shift % size == 0) return ETX_OK;
  const etx_dim first = size - (shift % size + size) % size;
  uint32_t parts[2];
  ETX_TRY(etx_lower_slice(lower, *self, axis, first, size, 1, &parts[0]));
  ETX_TRY(etx_lower_slice(lower, *self, axis, 0, first, 1, &parts[1]));
  return join(lower, parts, 2, axis, self);
}

// roll(self, shifts, dims): without dims the flat tensor is rolled.
etx_status etx_lowering_roll(etx_lower* lower) {
  const etx_shape shape = *etx_lower_shape(lower, self_of(lower));
  const etx_ir_arg* const shifts = &lower->args[1];
  const etx_ir_arg* const dims = &lower->args[2];
  uint32_t value = self_of(lower);
  if (dims->as.list.count == 0 && shifts->as.list.count == 1) {
    etx_dim count = 0;
    ETX_TRY(etx_lower_product(lower, shape.dims, 0, shape.rank, &count));
    ETX_TRY(etx_lower_view(lower, value, &count, 1, &value));
    ETX_TRY(roll_one(lower, 0, shifts->as.list.items[0].as.integer, &value));
    return etx_lower_view(lower, value, shape.dims, shape.rank,
                          &lower->results[0]);
  }
  if (dims->as.list.count != shifts->as.list.count) {
    return etx_diag_fail(lower->diag, ETX_BAD_ARGUMENT,
                         "'%t' has %z shifts for %z dims", lower->node->aten,
                         shifts->as.list.count, dims->as.list.count);
  }
  for (size_t i = 0; i < dims->as.list.count; ++i) {
    size_t axis = 0;
    ETX_TRY(etx_lower_axis(lower, dims->as.list.items[i].as.integer, shape.rank,
                           &axis));
    ETX_TRY(roll_one(lower, axis, shifts->as.list.items[i].as.integer, &value));
  }
  lower->results[0] = value;
  return ETX_OK;
}

// The order that moves dimensions `a` and `b` to the end.
static void last_two(size_t rank, size_t a, size_t b, size_t* order) {
  size_t next = 0;
  for (size_t i = 0; i < rank; ++i) {
    if (i != a && i != b) order[next++] = i;
  }
  order[next++] = a;
  order[next] = b;
}

// diagonal(self, offset, dim1, dim2): in the flattened matrix its elements lie
// one row and one column apart.
etx_status etx_lowering_diagonal(etx_lower* lower) {
  const size_t rank = etx_lower_shape(lower, self_of(lower))->rank;
  size_t a = 0;
  size_t b = 0;
  size_t order[ETX_MAX_RANK];
  uint32_t value = 0;
  ETX_TRY(etx_lower_axis(lower, lower->args[2].as.integer, rank, &a));
  ETX_TRY(etx_lower_axis(lower, lower->args[3].as.integer, rank, &b));
  if (rank < 2 || a == b) {
    return etx_diag_fail(lower->diag, ETX_BAD_ARGUMENT,
                         "'%t' wants two different dimensions",
                         lower->node->aten);
  }
  last_two(rank, a, b, order);
  ETX_TRY(etx_lower_permute(lower, self_of(lower), order, &value));
  etx_shape shape = *etx_lower_shape(lower, value);
  ETX_TRY(want_fixed(lower, &shape, rank - 2));
  const etx_dim rows = shape.dims[rank - 2];
  const etx_dim columns = shape.dims[rank - 1];
  etx_dim elements = 0;
  ETX_TRY(etx_lower_product(lower, shape.dims, rank - 2, rank, &elements));
  const etx_dim offset = lower->args[1].as.integer;
  const etx_dim top = offset < 0 ? -offset : 0;
  const etx_dim left = offset > 0 ? offset : 0;
  etx_dim length = rows - top < columns - left ? rows - top : columns - left;
  if (length < 0) length = 0;
  const etx_dim start = length == 0 ? 0 : top * columns + left;
  const etx_dim end =
      length == 0 ? start : start + (length - 1) * (columns + 1) + 1;
  shape.dims[rank - 2] = elements;
  ETX_TRY(etx_lower_view(lower, value, shape.dims, rank - 1, &value));
  return etx_lower_slice(lower, value, rank - 2, start, end, columns + 1,
                         &lower->results[0]);
}

enum { MAX_FACTOR = 1024 };  // of a pixel shuffle

// pixel_shuffle(self [.., C r r, H, W], r) -> [.., C, H r, W r]
etx_status etx_lowering_pixel_shuffle(etx_lower* lower) {
  const etx_shape shape = *etx_lower_shape(lower, self_of(lower));
  const etx_dim r = lower->args[1].as.integer;
  if (shape.rank < 3 || r < 1 || r > MAX_FACTOR ||
      shape.rank + 2 > ETX_MAX_RANK ||
      !etx_dim_is_number(shape.dims[shape.rank - 3]) ||
      shape.dims[shape.rank - 3] % (r * r) != 0) {
    return etx_diag_fail(lower->diag, ETX_BAD_ARGUMENT, "'%t' of these sizes",
                         lower->node->aten);
  }
  const size_t n = shape.rank - 3u;
  const etx_dim channels = shape.dims[n] / (r * r);
  etx_dim dims[ETX_MAX_RANK];
  memcpy(dims, shape.dims, sizeof dims);
  const etx_dim inner[] = {channels, r, r, shape.dims[n + 1],
                           shape.dims[n + 2]};
  memcpy(dims + n, inner, sizeof inner);
  uint32_t value = 0;
  ETX_TRY(etx_lower_view(lower, self_of(lower), dims, n + 5, &value));
  size_t order[ETX_MAX_RANK];
  const size_t moved[] = {n, n + 3, n + 1, n + 4, n + 2};
  for (size_t i = 0; i < n; ++i) order[i] = i;
  memcpy(order + n, moved, sizeof moved);
  ETX_TRY(etx_lower_permute(lower, value, order, &value));
  dims[n] = channels;
  for (size_t i = 1; i < 3; ++i) {
    ETX_TRY(etx_symbols_apply(&lower->method->symbols, ETX_SYMBOL_MULTIPLY,
                              shape.dims[n + i], r, &dims[n + i]));
  }
  return etx_lower_view(lower, value, dims, shape.rank, &lower->results[0]);
}

// pixel_unshuffle(self [.., C, H r, W r], r) -> [.., C r r, H, W]
etx_status etx_lowering_pixel_unshuffle(etx_lower* lower) {
  const etx_shape shape = *etx_lower_shape(lower, self_of(lower));
  const etx_dim r = lower->args[1].as.integer;
  if (shape.rank < 3 || r < 1 || r > MAX_FACTOR ||
      shape.rank + 2 > ETX_MAX_RANK) {
    return etx_diag_fail(lower->diag, ETX_BAD_ARGUMENT, "'%t' of these sizes",
                         lower->node->aten);
  }
  const size_t n = shape.rank - 3u;
  etx_symbols* const symbols = &lower->method->symbols;
  etx_dim height = 0;
  etx_dim width = 0;
  etx_dim channels = 0;
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_FLOOR_DIVIDE, shape.dims[n + 1],
                            r, &height));
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_FLOOR_DIVIDE, shape.dims[n + 2],
                            r, &width));
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_MULTIPLY, shape.dims[n], r * r,
                            &channels));
  etx_dim dims[ETX_MAX_RANK];
  memcpy(dims, shape.dims, sizeof dims);
  const etx_dim inner[] = {shape.dims[n], height, r, width, r};
  memcpy(dims + n, inner, sizeof inner);
  uint32_t value = 0;
  ETX_TRY(etx_lower_view(lower, self_of(lower), dims, n + 5, &value));
  size_t order[ETX_MAX_RANK];
  const size_t moved[] = {n, n + 2, n + 4, n + 1, n + 3};
  for (size_t i = 0; i < n; ++i) order[i] = i;
  memcpy(order + n, moved, sizeof moved);
  ETX_TRY(etx_lower_permute(lower, value, order, &value));
  const etx_dim last[] = {channels, height, width};
  memcpy(dims + n, last, sizeof last);
  return etx_lower_view(lower, value, dims, shape.rank, &lower->results[0]);
}

enum { MAX_WINDOW = 256 };  // slices that unfold may take

// unfold(self, dimension, size, step): windows of `size`, elements last. Place
// i of all windows is one strided slice.
etx_status etx_lowering_unfold(etx_lower* lower) {
  const etx_shape shape = *etx_lower_shape(lower, self_of(lower));
  const etx_dim size = lower->args[2].as.integer;
  const etx_dim stride = lower->args[3].as.integer;
  size_t axis = 0;
  ETX_TRY(etx_lower_axis(lower, lower->args[1].as.integer, shape.rank, &axis));
  etx_symbols* const symbols = &lower->method->symbols;
  etx_dim span = 0;
  int64_t low = 0;
  int64_t high = 0;
  if (shape.rank == 0 || size < 1 || size > MAX_WINDOW || stride < 1) {
    return etx_diag_fail(lower->diag, ETX_BAD_ARGUMENT,
                         "'%t' with such windows", lower->node->aten);
  }
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_SUBTRACT, shape.dims[axis],
                            size, &span));
  etx_symbols_bounds(symbols, span, &low, &high);
  if (low < 0) {
    return etx_diag_fail(lower->diag, ETX_BAD_ARGUMENT,
                         "'%t' with a window larger than its dimension",
                         lower->node->aten);
  }
  ETX_TRY(
      etx_symbols_apply(symbols, ETX_SYMBOL_FLOOR_DIVIDE, span, stride, &span));
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_MULTIPLY, span, stride, &span));
  uint32_t* const parts =
      etx_pool_take(lower->module->pool, (size_t)size * sizeof(uint32_t));
  if (parts == NULL) return ETX_OUT_OF_MEMORY;
  for (etx_dim i = 0; i < size; ++i) {
    etx_dim end = 0;
    ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_ADD, span, i + 1, &end));
    ETX_TRY(etx_lower_slice(lower, self_of(lower), axis, i, end, stride,
                            &parts[i]));
    ETX_TRY(etx_lower_unsqueeze(lower, parts[i], shape.rank, &parts[i]));
  }
  return join(lower, parts, (size_t)size, shape.rank, &lower->results[0]);
}

// ------------------------------------------------ edges

// The element that padding at `position` (negative before the start) repeats.
static int64_t edge_source(int64_t position, int64_t size, bool reflects) {
  if (!reflects) {
    return position < 0 ? 0 : position >= size ? size - 1 : position;
  }
  if (position < 0) return -position;
  return position >= size ? 2 * (size - 1) - position : position;
}

// The index is stored in the file.
enum { MAX_EDGE = 1 << 20 };

// One dimension padded by reading it through a constant index.
static etx_status pad_edge(etx_lower* lower, size_t axis, int64_t before,
                           int64_t after, bool reflects, uint32_t* self) {
  const etx_dim size = etx_lower_shape(lower, *self)->dims[axis];
  const int64_t limit = reflects ? size : MAX_EDGE;
  if (size < 1 || size > MAX_EDGE || before >= limit || after >= limit ||
      before < 0 || after < 0) {
    return etx_diag_fail(lower->diag, ETX_UNSUPPORTED,
                         "'%t' of a dimension that varies, or by these sizes",
                         lower->node->aten);
  }
  if (before == 0 && after == 0) return ETX_OK;
  const size_t count = (size_t)(before + size + after);
  int64_t* const index =
      etx_pool_take(lower->module->pool, count * sizeof(int64_t));
  if (index == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) {
    index[i] = edge_source((int64_t)i - before, size, reflects);
  }
  const etx_ir_constant constant = {
      ETX_DTYPE_INT64,
      1,
      {(int64_t)count},
      {(const uint8_t*)index, count * sizeof *index}};
  uint32_t value = 0;
  ETX_TRY(etx_lower_constant(lower, &constant, &value));
  const etx_ir_arg args[] = {etx_ir_value_arg(*self), etx_ir_int((etx_dim)axis),
                             etx_ir_value_arg(value)};
  return etx_lower_emit(lower, ETX_OP_index_select_out, args, 3, self);
}

// Padding comes innermost dimension first, as before and after.
static etx_status pad_edges(etx_lower* lower, bool reflects) {
  const size_t rank = etx_lower_shape(lower, self_of(lower))->rank;
  const etx_ir_arg* const pads = &lower->args[1];
  uint32_t value = self_of(lower);
  if (pads->as.list.count % 2 != 0 || pads->as.list.count / 2 > rank) {
    return etx_diag_fail(lower->diag, ETX_BAD_ARGUMENT,
                         "'%t' with %z sizes for rank %z", lower->node->aten,
                         pads->as.list.count, rank);
  }
  for (size_t i = 0; i < pads->as.list.count / 2; ++i) {
    const etx_dim before = pads->as.list.items[2 * i].as.integer;
    const etx_dim after = pads->as.list.items[2 * i + 1].as.integer;
    ETX_TRY(pad_edge(lower, rank - 1 - i, before, after, reflects, &value));
  }
  lower->results[0] = value;
  return ETX_OK;
}

etx_status etx_lowering_reflection_pad(etx_lower* lower) {
  return pad_edges(lower, true);
}

etx_status etx_lowering_replication_pad(etx_lower* lower) {
  return pad_edges(lower, false);
}

// pad(self, pad, mode, value)
etx_status etx_lowering_pad(etx_lower* lower) {
  const etx_text mode = lower->args[2].as.string;
  if (etx_text_is(mode, "reflect")) return pad_edges(lower, true);
  if (etx_text_is(mode, "replicate")) return pad_edges(lower, false);
  if (!etx_text_is(mode, "constant")) {
    return etx_diag_fail(lower->diag, ETX_UNSUPPORTED,
                         "padding mode '%t' of '%t', expected 'constant', "
                         "'reflect' or 'replicate'",
                         mode, lower->node->aten);
  }
  lower->args[2] = lower->args[3];
  return etx_lowering_constant_pad(lower);
}

// ------------------------------------------------ products of vectors

etx_status etx_lowering_outer(etx_lower* lower) {
  uint32_t column = 0;
  ETX_TRY(etx_lower_unsqueeze(lower, self_of(lower), 1, &column));
  lower->args[0] = etx_ir_value_arg(column);
  etx_dtype dtype;
  uint32_t operands[2];
  ETX_TRY(etx_lower_result_type(lower, lower->args, 2, &dtype));
  for (size_t i = 0; i < 2; ++i) {
    ETX_TRY(etx_lower_operand(lower, &lower->args[i], dtype, &operands[i]));
  }
  return etx_lower_binary(lower, ETX_OP_mul_out, operands[0], operands[1],
                          &lower->results[0]);
}

// meshgrid(tensors, indexing): each vector spread over the sizes of all.
etx_status etx_lowering_meshgrid(etx_lower* lower) {
  const etx_ir_arg* const list = &lower->args[0];
  const size_t count = list->as.list.count;
  const bool swapped = etx_text_is(lower->args[1].as.string, "xy") && count > 1;
  etx_dim dims[ETX_MAX_RANK];
  if (count > ETX_MAX_RANK || count != lower->node->output_count) {
    return etx_diag_fail(lower->diag, ETX_BAD_ARGUMENT,
                         "'%t' gives %z tensors, the node names %z",
                         lower->node->aten, count, lower->node->output_count);
  }
  for (size_t i = 0; i < count; ++i) {
    const size_t axis = swapped && i < 2 ? 1 - i : i;
    ETX_TRY(etx_lower_product(
        lower, etx_lower_shape(lower, list->as.list.items[i].as.value)->dims, 0,
        etx_lower_shape(lower, list->as.list.items[i].as.value)->rank,
        &dims[axis]));
  }
  for (size_t i = 0; i < count; ++i) {
    const size_t axis = swapped && i < 2 ? 1 - i : i;
    etx_dim ones[ETX_MAX_RANK];
    for (size_t j = 0; j < count; ++j) ones[j] = j == axis ? dims[j] : 1;
    uint32_t value = list->as.list.items[i].as.value;
    ETX_TRY(etx_lower_view(lower, value, ones, count, &value));
    ETX_TRY(etx_lower_expand(lower, value, dims, count, &lower->results[i]));
  }
  return ETX_OK;
}
