// Operators that become several views, slices and concatenations: tile, pad
// with a mode, meshgrid, channel_shuffle, diagonals; and outer products.

#include "exporter/lower/builder/lowering_functions.h"

static uint32_t self_of(const etx_builder* builder) {
  return builder->args[0].as.value;
}

// tile(self, dims): repeat, with leading ones if there are fewer dims than the
// tensor has.
etx_status etx_lowering_tile(etx_builder* builder) {
  const size_t rank = etx_builder_shape(builder, self_of(builder))->rank;
  const etx_ir_arg list = builder->args[1];
  const size_t count = list.as.list.count;
  etx_dim repeats[ETX_MAX_RANK];
  const size_t wide = count > rank ? count : rank;
  if (wide > ETX_MAX_RANK) return ETX_OUT_OF_RANGE;
  for (size_t i = 0; i < wide; ++i) {
    repeats[i] =
        i + count < wide ? 1 : list.as.list.items[i + count - wide].as.integer;
  }
  ETX_TRY(etx_build_int_list(builder, repeats, wide, &builder->args[1]));
  return etx_lowering_repeat(builder);
}

// ------------------------------------------------ edges

// Circular padding of one dimension: its last elements in front, its first ones
// behind.
static etx_status wrap_edge(etx_builder* builder, size_t axis, etx_dim before,
                            etx_dim after, uint32_t* self) {
  const etx_dim size = etx_builder_shape(builder, *self)->dims[axis];
  etx_dim start = 0;
  uint32_t parts[3];
  size_t count = 0;
  if (!etx_dim_is_number(before) || !etx_dim_is_number(after) || before < 0 ||
      after < 0 ||
      (etx_dim_is_number(size) && (before > size || after > size))) {
    return etx_diag_fail(builder->diag, ETX_UNSUPPORTED,
                         "'%t' in mode 'circular' by more than the dimension's "
                         "size, or by dynamic sizes, is not supported",
                         builder->node->aten);
  }
  ETX_TRY(etx_build_at_least(
      builder, size, before > after ? before : after,
      "circular padding is at most as long as the dimension"));
  if (before != 0) {
    ETX_TRY(etx_symbols_apply(&builder->method->symbols, ETX_SYMBOL_SUBTRACT,
                              size, before, &start));
    ETX_TRY(etx_build_slice(builder, *self,
                            (etx_dim_slice){axis, start, size, 1},
                            &parts[count++]));
  }
  parts[count++] = *self;
  if (after != 0) {
    ETX_TRY(etx_build_slice(builder, *self, (etx_dim_slice){axis, 0, after, 1},
                            &parts[count++]));
  }
  return etx_build_concat(builder, parts, count, axis, self);
}

// Circular padding. `pad` has pairs (before, after), the innermost dimension
// first.
static etx_status pad_around(etx_builder* builder) {
  const size_t rank = etx_builder_shape(builder, self_of(builder))->rank;
  const etx_ir_arg* const pads = &builder->args[1];
  const size_t count = pads->as.list.count / 2;
  uint32_t value = self_of(builder);
  if (pads->as.list.count % 2 != 0 || count > rank) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "'%t' has %z padding sizes for a tensor of rank %z",
                         builder->node->aten, pads->as.list.count, rank);
  }
  for (size_t i = 0; i < count; ++i) {
    const etx_ir_arg* const pair = &pads->as.list.items[2 * i];
    ETX_TRY(wrap_edge(builder, rank - 1 - i, pair[0].as.integer,
                      pair[1].as.integer, &value));
  }
  builder->results[0] = value;
  return ETX_OK;
}

// Appends the operator for the number of padded dimensions.
static etx_status pad_by(etx_builder* builder, const etx_op_id ops[3]) {
  const size_t count = builder->args[1].as.list.count / 2;
  if (count < 1 || count > 3 || builder->args[1].as.list.count % 2 != 0) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "'%t' has %z padding sizes, expected 2, 4 or 6",
                         builder->node->aten, builder->args[1].as.list.count);
  }
  return etx_build_op(builder, ops[count - 1], builder->args, 2,
                      &builder->results[0]);
}

// pad(self, pad, mode, value)
etx_status etx_lowering_pad(etx_builder* builder) {
  static const etx_op_id reflected[] = {ETX_OP_reflection_pad1d_out,
                                        ETX_OP_reflection_pad2d_out,
                                        ETX_OP_reflection_pad3d_out};
  static const etx_op_id repeated[] = {ETX_OP_replication_pad1d_out,
                                       ETX_OP_replication_pad2d_out,
                                       ETX_OP_replication_pad3d_out};
  const etx_text mode = builder->args[2].as.string;
  if (etx_text_is(mode, "reflect")) return pad_by(builder, reflected);
  if (etx_text_is(mode, "replicate")) return pad_by(builder, repeated);
  if (etx_text_is(mode, "circular")) return pad_around(builder);
  if (!etx_text_is(mode, "constant")) {
    return etx_diag_fail(builder->diag, ETX_UNSUPPORTED,
                         "padding mode '%t' of '%t', expected 'constant', "
                         "'reflect', 'replicate' or 'circular'",
                         mode, builder->node->aten);
  }
  builder->args[2] = builder->args[3];
  return etx_lowering_constant_pad(builder);
}

// ------------------------------------------------ products of vectors

etx_status etx_lowering_outer(etx_builder* builder) {
  uint32_t column = 0;
  ETX_TRY(etx_build_unsqueeze(builder, self_of(builder), 1, &column));
  builder->args[0] = etx_ir_value_arg(column);
  etx_dtype dtype;
  uint32_t operands[2];
  ETX_TRY(etx_builder_result_type(builder, builder->args, 2, &dtype));
  for (size_t i = 0; i < 2; ++i) {
    ETX_TRY(etx_build_operand(builder, &builder->args[i], dtype, &operands[i]));
  }
  return etx_build_binary(builder, ETX_OP_mul_out, operands[0], operands[1],
                          &builder->results[0]);
}

// meshgrid(tensors, indexing): expands each vector to the sizes of all.
etx_status etx_lowering_meshgrid(etx_builder* builder) {
  const etx_ir_arg* const list = &builder->args[0];
  const size_t count = list->as.list.count;
  const bool swapped =
      etx_text_is(builder->args[1].as.string, "xy") && count > 1;
  etx_dim dims[ETX_MAX_RANK];
  if (count > ETX_MAX_RANK || count != builder->node->output_count) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "'%t' gives %z tensors, but the node has %z outputs",
                         builder->node->aten, count,
                         builder->node->output_count);
  }
  for (size_t i = 0; i < count; ++i) {
    const size_t axis = swapped && i < 2 ? 1 - i : i;
    ETX_TRY(etx_builder_product(
        builder,
        etx_builder_shape(builder, list->as.list.items[i].as.value)->dims, 0,
        etx_builder_shape(builder, list->as.list.items[i].as.value)->rank,
        &dims[axis]));
  }
  for (size_t i = 0; i < count; ++i) {
    const size_t axis = swapped && i < 2 ? 1 - i : i;
    etx_dim ones[ETX_MAX_RANK];
    for (size_t j = 0; j < count; ++j) ones[j] = j == axis ? dims[j] : 1;
    uint32_t value = list->as.list.items[i].as.value;
    ETX_TRY(etx_build_view(builder, value, ones, count, &value));
    ETX_TRY(
        etx_build_expand(builder, value, dims, count, &builder->results[i]));
  }
  return ETX_OK;
}

// channel_shuffle(self, groups): the first channel of every group, then the
// second of every group, and so on.
etx_status etx_lowering_channel_shuffle(etx_builder* builder) {
  uint32_t value = self_of(builder);
  const etx_shape shape = *etx_builder_shape(builder, value);
  const etx_dim groups = builder->args[1].as.integer;
  if (shape.rank < 3 || shape.rank == ETX_MAX_RANK || groups < 1 ||
      !etx_dim_is_number(shape.dims[1]) || shape.dims[1] % groups != 0) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "'%t' expects a fixed number of channels that is a "
                         "multiple of %i groups",
                         builder->node->aten, groups);
  }
  etx_dim dims[ETX_MAX_RANK] = {shape.dims[0], groups, shape.dims[1] / groups};
  for (size_t i = 2; i < shape.rank; ++i) dims[i + 1] = shape.dims[i];
  ETX_TRY(etx_build_view(builder, value, dims, shape.rank + 1u, &value));
  ETX_TRY(etx_build_transpose(builder, value, 1, 2, &value));
  return etx_build_view(builder, value, shape.dims, shape.rank,
                        &builder->results[0]);
}

// trace(self): the sum of the diagonal.
etx_status etx_lowering_trace(etx_builder* builder) {
  const etx_ir_arg args[] = {builder->args[0]};
  uint32_t value = 0;
  ETX_TRY(etx_build_op(builder, ETX_OP_diagonal_copy_out, args, 1, &value));
  return etx_build_reduce(builder, ETX_OP_sum_intlist_out, value,
                          (etx_reduced_dims){NULL, 0, false},
                          &builder->results[0]);
}

// Replaces a diagonal of the last two dimensions, which are fixed: with the
// rows flattened, it is every (columns + 1)-th element.
static etx_status put_diagonal(etx_builder* builder, uint32_t src,
                               int64_t offset, uint32_t* value) {
  const etx_shape shape = *etx_builder_shape(builder, *value);
  const etx_dim rows = shape.dims[shape.rank - 2];
  const etx_dim columns = shape.dims[shape.rank - 1];
  const etx_dim count = etx_builder_shape(builder, src)->dims[shape.rank - 2];
  if (!etx_dim_is_number(rows) || !etx_dim_is_number(columns) ||
      !etx_dim_is_number(count)) {
    return etx_diag_fail(builder->diag, ETX_UNSUPPORTED,
                         "'%t' of dynamic dimensions is not supported",
                         builder->node->aten);
  }
  if (offset <= -rows || offset >= columns) {
    return count == 0 ? ETX_OK
                      : etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                                      "diagonal %i is outside a matrix of "
                                      "%i x %i",
                                      offset, rows, columns);
  }
  etx_shape flat = shape;
  ETX_TRY(etx_builder_product(builder, shape.dims, shape.rank - 2u, shape.rank,
                              &flat.dims[--flat.rank - 1]));
  const etx_dim start = offset < 0 ? -offset * columns : offset;
  const etx_dim end = start + (count - 1) * (columns + 1) + 1;
  ETX_TRY(etx_build_view(builder, *value, flat.dims, flat.rank, value));
  const etx_ir_arg args[] = {etx_ir_value_arg(*value),
                             etx_ir_value_arg(src),
                             etx_ir_int((etx_dim)flat.rank - 1),
                             etx_ir_int(start),
                             etx_ir_int(end),
                             etx_ir_int(columns + 1)};
  ETX_TRY(etx_build_op(builder, ETX_OP_slice_scatter_out, args, 6, value));
  return etx_build_view(builder, *value, shape.dims, shape.rank, value);
}

// diagonal_scatter(self, src, offset, dim1, dim2)
etx_status etx_lowering_diagonal_scatter(etx_builder* builder) {
  const etx_ir_arg* const args = builder->args;
  const etx_shape shape = *etx_builder_shape(builder, self_of(builder));
  size_t order[ETX_MAX_RANK];
  size_t back[ETX_MAX_RANK];
  size_t pair[2];
  size_t rank = 0;
  uint32_t value = self_of(builder);
  uint32_t src = args[1].as.value;
  for (size_t i = 0; i < 2; ++i) {
    ETX_TRY(etx_builder_axis(builder, args[3 + i].as.integer, shape.rank,
                             &pair[i]));
  }
  for (size_t i = 0; i < shape.rank; ++i) {
    if (i != pair[0] && i != pair[1]) order[rank++] = i;
  }
  if (rank + 2 != shape.rank ||
      etx_builder_shape(builder, src)->rank + 1 != shape.rank) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "'%t' expects two different dimensions and a source "
                         "with one dimension less",
                         builder->node->aten);
  }
  order[rank] = pair[0];
  order[rank + 1] = pair[1];
  for (size_t i = 0; i < shape.rank; ++i) back[order[i]] = i;
  ETX_TRY(etx_build_permute(builder, value, order, &value));
  ETX_TRY(etx_build_cast(builder, src, shape.dtype, &src));
  ETX_TRY(put_diagonal(builder, src, args[2].as.integer, &value));
  return etx_build_permute(builder, value, back, &builder->results[0]);
}
