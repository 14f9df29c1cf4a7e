// Rearrangements that are several views, slices and joins: tile, padding by
// mode, products of vectors.

#include "exporter/lower/builder/lowering_functions.h"

static uint32_t self_of(const etx_builder* lower) {
  return lower->args[0].as.value;
}

// tile(self, dims): repeat with dims of 1 in front where there are too few.
etx_status etx_lowering_tile(etx_builder* lower) {
  const size_t rank = etx_builder_shape(lower, self_of(lower))->rank;
  const etx_ir_arg list = lower->args[1];
  const size_t count = list.as.list.count;
  etx_dim repeats[ETX_MAX_RANK];
  const size_t wide = count > rank ? count : rank;
  if (wide > ETX_MAX_RANK) return ETX_OUT_OF_RANGE;
  for (size_t i = 0; i < wide; ++i) {
    repeats[i] =
        i + count < wide ? 1 : list.as.list.items[i + count - wide].as.integer;
  }
  ETX_TRY(etx_build_int_list(lower, repeats, wide, &lower->args[1]));
  return etx_lowering_repeat(lower);
}

// ------------------------------------------------ edges

// One dimension with its own last elements in front and its first behind.
static etx_status wrap_edge(etx_builder* lower, size_t axis, etx_dim before,
                            etx_dim after, uint32_t* self) {
  const etx_dim size = etx_builder_shape(lower, *self)->dims[axis];
  etx_dim start = 0;
  uint32_t parts[3];
  size_t count = 0;
  if (!etx_dim_is_number(before) || !etx_dim_is_number(after) || before < 0 ||
      after < 0 ||
      (etx_dim_is_number(size) && (before > size || after > size))) {
    return etx_diag_fail(lower->diag, ETX_UNSUPPORTED,
                         "'%t' around a dimension by more than its size, or by "
                         "sizes that vary",
                         lower->node->aten);
  }
  if (before != 0) {
    ETX_TRY(etx_symbols_apply(&lower->method->symbols, ETX_SYMBOL_SUBTRACT,
                              size, before, &start));
    ETX_TRY(
        etx_build_slice(lower, *self, axis, start, size, 1, &parts[count++]));
  }
  parts[count++] = *self;
  if (after != 0) {
    ETX_TRY(etx_build_slice(lower, *self, axis, 0, after, 1, &parts[count++]));
  }
  return etx_build_concat(lower, parts, count, axis, self);
}

// Padding comes innermost dimension first, as before and after.
static etx_status pad_around(etx_builder* lower) {
  const size_t rank = etx_builder_shape(lower, self_of(lower))->rank;
  const etx_ir_arg* const pads = &lower->args[1];
  const size_t count = pads->as.list.count / 2;
  uint32_t value = self_of(lower);
  if (pads->as.list.count % 2 != 0 || count > rank) {
    return etx_diag_fail(lower->diag, ETX_BAD_ARGUMENT,
                         "'%t' with %z sizes for rank %z", lower->node->aten,
                         pads->as.list.count, rank);
  }
  for (size_t i = 0; i < count; ++i) {
    const etx_ir_arg* const pair = &pads->as.list.items[2 * i];
    ETX_TRY(wrap_edge(lower, rank - 1 - i, pair[0].as.integer,
                      pair[1].as.integer, &value));
  }
  lower->results[0] = value;
  return ETX_OK;
}

// One operator for each count of padded dimensions.
static etx_status pad_by(etx_builder* lower, const etx_op_id ops[3]) {
  const size_t count = lower->args[1].as.list.count / 2;
  if (count < 1 || count > 3 || lower->args[1].as.list.count % 2 != 0) {
    return etx_diag_fail(lower->diag, ETX_BAD_ARGUMENT,
                         "'%t' with %z sizes, expected 2, 4 or 6",
                         lower->node->aten, lower->args[1].as.list.count);
  }
  return etx_build_op(lower, ops[count - 1], lower->args, 2,
                      &lower->results[0]);
}

// pad(self, pad, mode, value)
etx_status etx_lowering_pad(etx_builder* lower) {
  static const etx_op_id reflected[] = {ETX_OP_reflection_pad1d_out,
                                        ETX_OP_reflection_pad2d_out,
                                        ETX_OP_reflection_pad3d_out};
  static const etx_op_id repeated[] = {ETX_OP_replication_pad1d_out,
                                       ETX_OP_replication_pad2d_out,
                                       ETX_OP_replication_pad3d_out};
  const etx_text mode = lower->args[2].as.string;
  if (etx_text_is(mode, "reflect")) return pad_by(lower, reflected);
  if (etx_text_is(mode, "replicate")) return pad_by(lower, repeated);
  if (etx_text_is(mode, "circular")) return pad_around(lower);
  if (!etx_text_is(mode, "constant")) {
    return etx_diag_fail(lower->diag, ETX_UNSUPPORTED,
                         "padding mode '%t' of '%t', expected 'constant', "
                         "'reflect', 'replicate' or 'circular'",
                         mode, lower->node->aten);
  }
  lower->args[2] = lower->args[3];
  return etx_lowering_constant_pad(lower);
}

// ------------------------------------------------ products of vectors

etx_status etx_lowering_outer(etx_builder* lower) {
  uint32_t column = 0;
  ETX_TRY(etx_build_unsqueeze(lower, self_of(lower), 1, &column));
  lower->args[0] = etx_ir_value_arg(column);
  etx_dtype dtype;
  uint32_t operands[2];
  ETX_TRY(etx_builder_result_type(lower, lower->args, 2, &dtype));
  for (size_t i = 0; i < 2; ++i) {
    ETX_TRY(etx_build_operand(lower, &lower->args[i], dtype, &operands[i]));
  }
  return etx_build_binary(lower, ETX_OP_mul_out, operands[0], operands[1],
                          &lower->results[0]);
}

// meshgrid(tensors, indexing): each vector spread over the sizes of all.
etx_status etx_lowering_meshgrid(etx_builder* lower) {
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
    ETX_TRY(etx_builder_product(
        lower, etx_builder_shape(lower, list->as.list.items[i].as.value)->dims,
        0, etx_builder_shape(lower, list->as.list.items[i].as.value)->rank,
        &dims[axis]));
  }
  for (size_t i = 0; i < count; ++i) {
    const size_t axis = swapped && i < 2 ? 1 - i : i;
    etx_dim ones[ETX_MAX_RANK];
    for (size_t j = 0; j < count; ++j) ones[j] = j == axis ? dims[j] : 1;
    uint32_t value = list->as.list.items[i].as.value;
    ETX_TRY(etx_build_view(lower, value, ones, count, &value));
    ETX_TRY(etx_build_expand(lower, value, dims, count, &lower->results[i]));
  }
  return ETX_OK;
}

// channel_shuffle(self, groups): the first channel of every group, then the
// second one.
etx_status etx_lowering_channel_shuffle(etx_builder* lower) {
  uint32_t value = self_of(lower);
  const etx_shape shape = *etx_builder_shape(lower, value);
  const etx_dim groups = lower->args[1].as.integer;
  if (shape.rank < 3 || shape.rank == ETX_MAX_RANK || groups < 1 ||
      !etx_dim_is_number(shape.dims[1]) || shape.dims[1] % groups != 0) {
    return etx_diag_fail(lower->diag, ETX_BAD_ARGUMENT,
                         "'%t' of channels that %i does not divide",
                         lower->node->aten, groups);
  }
  etx_dim dims[ETX_MAX_RANK] = {shape.dims[0], groups, shape.dims[1] / groups};
  for (size_t i = 2; i < shape.rank; ++i) dims[i + 1] = shape.dims[i];
  ETX_TRY(etx_build_view(lower, value, dims, shape.rank + 1u, &value));
  ETX_TRY(etx_build_transpose(lower, value, 1, 2, &value));
  return etx_build_view(lower, value, shape.dims, shape.rank,
                        &lower->results[0]);
}

// trace(self): the sum of the diagonal.
etx_status etx_lowering_trace(etx_builder* lower) {
  const etx_ir_arg args[] = {lower->args[0]};
  uint32_t value = 0;
  ETX_TRY(etx_build_op(lower, ETX_OP_diagonal_copy_out, args, 1, &value));
  return etx_build_reduce(lower, ETX_OP_sum_intlist_out, value, NULL, 0, false,
                          &lower->results[0]);
}

// Replaces a diagonal of the last two dimensions, which are fixed: of all rows
// after each other, every (columns + 1)-th element.
static etx_status put_diagonal(etx_builder* lower, uint32_t src, int64_t offset,
                               uint32_t* value) {
  const etx_shape shape = *etx_builder_shape(lower, *value);
  const etx_dim rows = shape.dims[shape.rank - 2];
  const etx_dim columns = shape.dims[shape.rank - 1];
  const etx_dim count = etx_builder_shape(lower, src)->dims[shape.rank - 2];
  if (!etx_dim_is_number(rows) || !etx_dim_is_number(columns) ||
      !etx_dim_is_number(count)) {
    return etx_diag_fail(lower->diag, ETX_UNSUPPORTED,
                         "'%t' of dimensions that vary", lower->node->aten);
  }
  if (offset <= -rows || offset >= columns) {
    return count == 0 ? ETX_OK
                      : etx_diag_fail(lower->diag, ETX_BAD_ARGUMENT,
                                      "diagonal %i is outside a matrix of "
                                      "%i x %i",
                                      offset, rows, columns);
  }
  etx_shape flat = shape;
  ETX_TRY(etx_builder_product(lower, shape.dims, shape.rank - 2u, shape.rank,
                              &flat.dims[--flat.rank - 1]));
  const etx_dim start = offset < 0 ? -offset * columns : offset;
  const etx_dim end = start + (count - 1) * (columns + 1) + 1;
  ETX_TRY(etx_build_view(lower, *value, flat.dims, flat.rank, value));
  const etx_ir_arg args[] = {etx_ir_value_arg(*value),
                             etx_ir_value_arg(src),
                             etx_ir_int((etx_dim)flat.rank - 1),
                             etx_ir_int(start),
                             etx_ir_int(end),
                             etx_ir_int(columns + 1)};
  ETX_TRY(etx_build_op(lower, ETX_OP_slice_scatter_out, args, 6, value));
  return etx_build_view(lower, *value, shape.dims, shape.rank, value);
}

// diagonal_scatter(self, src, offset, dim1, dim2)
etx_status etx_lowering_diagonal_scatter(etx_builder* lower) {
  const etx_ir_arg* const args = lower->args;
  const etx_shape shape = *etx_builder_shape(lower, self_of(lower));
  size_t order[ETX_MAX_RANK];
  size_t back[ETX_MAX_RANK];
  size_t pair[2];
  size_t rank = 0;
  uint32_t value = self_of(lower);
  uint32_t src = args[1].as.value;
  for (size_t i = 0; i < 2; ++i) {
    ETX_TRY(
        etx_builder_axis(lower, args[3 + i].as.integer, shape.rank, &pair[i]));
  }
  for (size_t i = 0; i < shape.rank; ++i) {
    if (i != pair[0] && i != pair[1]) order[rank++] = i;
  }
  if (rank + 2 != shape.rank ||
      etx_builder_shape(lower, src)->rank + 1 != shape.rank) {
    return etx_diag_fail(lower->diag, ETX_BAD_ARGUMENT,
                         "'%t' wants two dimensions, and a source with one "
                         "instead of them",
                         lower->node->aten);
  }
  order[rank] = pair[0];
  order[rank + 1] = pair[1];
  for (size_t i = 0; i < shape.rank; ++i) back[order[i]] = i;
  ETX_TRY(etx_build_permute(lower, value, order, &value));
  ETX_TRY(etx_build_cast(lower, src, shape.dtype, &src));
  ETX_TRY(put_diagonal(lower, src, args[2].as.integer, &value));
  return etx_build_permute(lower, value, back, &lower->results[0]);
}
