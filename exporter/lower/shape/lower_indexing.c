// Operators that read and write by index tensors. Writing along one dimension
// is an index_put whose index list has None for the dimensions before it.

#include "exporter/lower/builder/lowering_functions.h"

// [None, .., index]
static etx_status index_list(etx_builder* builder, size_t axis, uint32_t index,
                             etx_ir_arg* out) {
  etx_ir_arg* const items =
      etx_pool_take(builder->module->pool, (axis + 1) * sizeof(etx_ir_arg));
  if (items == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < axis; ++i) items[i] = etx_ir_none();
  items[axis] = etx_ir_value_arg(index);
  *out = etx_ir_list(items, axis + 1);
  return ETX_OK;
}

// An index of any rank as one dimension.
static etx_status flat_index(etx_builder* builder, uint32_t index,
                             uint32_t* out_value) {
  const etx_shape shape = *etx_builder_shape(builder, index);
  if (shape.rank == 1) {
    *out_value = index;
    return ETX_OK;
  }
  etx_dim count = 0;
  ETX_TRY(etx_builder_product(builder, shape.dims, 0, shape.rank, &count));
  return etx_build_view(builder, index, &count, 1, out_value);
}

static etx_status put_along(etx_builder* builder, uint32_t self, etx_dim dim,
                            uint32_t index, uint32_t values, bool accumulate) {
  const etx_shape shape = *etx_builder_shape(builder, self);
  size_t axis = 0;
  ETX_TRY(etx_builder_axis(builder, dim, shape.rank, &axis));
  ETX_TRY(flat_index(builder, index, &index));
  ETX_TRY(etx_build_cast(builder, values, shape.dtype, &values));
  etx_ir_arg args[] = {etx_ir_value_arg(self), etx_ir_none(),
                       etx_ir_value_arg(values), etx_ir_bool(accumulate)};
  ETX_TRY(index_list(builder, axis, index, &args[1]));
  return etx_build_op(builder, ETX_OP_index_put_out, args, 4,
                      &builder->results[0]);
}

// index_copy(self, dim, index, source)
etx_status etx_lowering_index_copy(etx_builder* builder) {
  return put_along(builder, builder->args[0].as.value,
                   builder->args[1].as.integer, builder->args[2].as.value,
                   builder->args[3].as.value, false);
}

// index_add(self, dim, index, source, alpha)
etx_status etx_lowering_index_add(etx_builder* builder) {
  uint32_t source = builder->args[3].as.value;
  const bool scaled = !(builder->args[4].kind == ETX_IR_ARG_INT &&
                        builder->args[4].as.integer == 1);
  if (scaled) {
    uint32_t alpha = 0;
    ETX_TRY(etx_build_scalar(builder, &builder->args[4],
                             etx_builder_shape(builder, source)->dtype,
                             &alpha));
    ETX_TRY(etx_build_binary(builder, ETX_OP_mul_out, source, alpha, &source));
  }
  return put_along(builder, builder->args[0].as.value,
                   builder->args[1].as.integer, builder->args[2].as.value,
                   source, true);
}

// index_fill(self, dim, index, value)
etx_status etx_lowering_index_fill(etx_builder* builder) {
  uint32_t value = 0;
  const uint32_t self = builder->args[0].as.value;
  ETX_TRY(etx_build_operand(builder, &builder->args[3],
                            etx_builder_shape(builder, self)->dtype, &value));
  return put_along(builder, self, builder->args[1].as.integer,
                   builder->args[2].as.value, value, false);
}

static bool is_mask(const etx_builder* builder, const etx_ir_arg* index) {
  if (index->kind != ETX_IR_ARG_VALUE) return false;
  const etx_dtype dtype = etx_builder_shape(builder, index->as.value)->dtype;
  return dtype == ETX_DTYPE_BOOL || dtype == ETX_DTYPE_UINT8;
}

// index_put with a leading mask and one value is a where, whose sizes do not
// depend on the mask.
static etx_status put_masked(etx_builder* builder, uint32_t mask) {
  const uint32_t self = builder->args[0].as.value;
  etx_shape wide = *etx_builder_shape(builder, mask);
  const etx_shape shape = *etx_builder_shape(builder, self);
  if (wide.rank > shape.rank ||
      !etx_builder_same_dims(builder, wide.dims, shape.dims, wide.rank)) {
    return etx_diag_fail(
        builder->diag, ETX_BAD_ARGUMENT,
        "the mask of '%t' has other sizes than the tensor that it indexes",
        builder->node->aten);
  }
  while (wide.rank < shape.rank) wide.dims[wide.rank++] = 1;
  uint32_t value = 0;
  ETX_TRY(etx_build_cast(builder, mask, ETX_DTYPE_BOOL, &mask));
  ETX_TRY(etx_build_view(builder, mask, wide.dims, wide.rank, &mask));
  ETX_TRY(etx_build_operand(builder, &builder->args[2], shape.dtype, &value));
  ETX_TRY(etx_build_view(builder, value, NULL, 0, &value));
  return etx_build_where(builder, mask, value, self, &builder->results[0]);
}

static bool has_one_element(const etx_shape* shape) {
  for (size_t i = 0; i < shape->rank; ++i) {
    if (shape->dims[i] != 1) return false;
  }
  return true;
}

// index_put(self, indices, values, accumulate)
etx_status etx_lowering_index_put(etx_builder* builder) {
  const etx_ir_arg* const indices = &builder->args[1];
  uint32_t values = 0;
  ETX_TRY(etx_build_tensor(builder, &builder->args[2], &values));
  const bool accumulate = builder->args[3].as.boolean;
  if (!accumulate && indices->as.list.count == 1 &&
      is_mask(builder, &indices->as.list.items[0]) &&
      has_one_element(etx_builder_shape(builder, values))) {
    return put_masked(builder, indices->as.list.items[0].as.value);
  }
  const etx_dtype dtype =
      etx_builder_shape(builder, builder->args[0].as.value)->dtype;
  ETX_TRY(etx_build_cast(builder, values, dtype, &values));
  builder->args[2] = etx_ir_value_arg(values);
  return etx_build_op(builder, ETX_OP_index_put_out, builder->args, 4,
                      &builder->results[0]);
}

// index(self, indices)
etx_status etx_lowering_index(etx_builder* builder) {
  return etx_build_op(builder, ETX_OP_index_tensor_out, builder->args, 2,
                      &builder->results[0]);
}

// scatter.src, scatter_add: the source is cast to the dtype of self.
etx_status etx_lowering_scatter(etx_builder* builder) {
  uint32_t source = 0;
  const etx_dtype dtype =
      etx_builder_shape(builder, builder->args[0].as.value)->dtype;
  ETX_TRY(etx_build_operand(builder, &builder->args[3], dtype, &source));
  builder->args[3] = etx_ir_value_arg(source);
  return etx_build_op(builder, builder->row->op, builder->args, 4,
                      &builder->results[0]);
}

// scatter_reduce.two(self, dim, index, src, reduce, include_self) for target
// executorch, which has only the sum.
etx_status etx_lowering_scatter_reduce(etx_builder* builder) {
  const bool adds = etx_text_is(builder->args[4].as.string, "sum") &&
                    builder->args[5].as.boolean;
  if (!adds) return etx_builder_refuse_target(builder);
  return etx_build_op(builder, ETX_OP_scatter_add_out, builder->args, 4,
                      &builder->results[0]);
}

// scatter.reduce(self, dim, index, src, reduce) and scatter.value_reduce, where
// src is a number.
etx_status etx_lowering_scatter_with_reduce(etx_builder* builder) {
  const uint32_t index = builder->args[2].as.value;
  const etx_dtype dtype =
      etx_builder_shape(builder, builder->args[0].as.value)->dtype;
  const etx_shape shape = *etx_builder_shape(builder, index);
  const bool multiplies = etx_text_is(builder->args[4].as.string, "multiply");
  uint32_t source = 0;
  ETX_TRY(etx_build_operand(builder, &builder->args[3], dtype, &source));
  if (builder->args[3].kind != ETX_IR_ARG_VALUE) {
    ETX_TRY(etx_build_expand(builder, source, shape.dims, shape.rank, &source));
  }
  builder->args[3] = etx_ir_value_arg(source);
  builder->args[4] = (etx_ir_arg){ETX_IR_ARG_STRING, {0}};
  builder->args[4].as.string = etx_text_of(multiplies ? "prod" : "sum");
  builder->args[5] = etx_ir_bool(true);
  if (!multiplies) return etx_lowering_scatter_reduce(builder);
  if (builder->target != ETX_TARGET_ETX)
    return etx_builder_refuse_target(builder);
  return etx_build_op(builder, ETX_OP_scatter_reduce_two_out, builder->args, 6,
                      &builder->results[0]);
}

// take_along_dim(self, indices, dim): a gather whose other dimensions
// broadcast.
etx_status etx_lowering_take_along_dim(etx_builder* builder) {
  uint32_t self = builder->args[0].as.value;
  uint32_t index = builder->args[1].as.value;
  etx_shape from = *etx_builder_shape(builder, self);
  etx_shape to = *etx_builder_shape(builder, index);
  size_t axis = 0;
  if (builder->args[2].kind != ETX_IR_ARG_INT || from.rank != to.rank) {
    return etx_diag_fail(builder->diag, ETX_UNSUPPORTED,
                         "'%t' without 'dim' or with tensors of different "
                         "ranks is not supported",
                         builder->node->aten);
  }
  ETX_TRY(
      etx_builder_axis(builder, builder->args[2].as.integer, from.rank, &axis));
  for (size_t i = 0; i < from.rank; ++i) {
    if (i == axis) continue;
    if (from.dims[i] == 1) from.dims[i] = to.dims[i];
    if (to.dims[i] == 1) to.dims[i] = from.dims[i];
  }
  ETX_TRY(etx_build_expand(builder, self, from.dims, from.rank, &self));
  ETX_TRY(etx_build_expand(builder, index, to.dims, to.rank, &index));
  const etx_ir_arg args[] = {etx_ir_value_arg(self), etx_ir_int((etx_dim)axis),
                             etx_ir_value_arg(index)};
  return etx_build_op(builder, ETX_OP_gather_out, args, 3,
                      &builder->results[0]);
}

// item(self): sets a symbol, and has a result without elements.
etx_status etx_lowering_item(etx_builder* builder) {
  const etx_shape shape =
      *etx_builder_shape(builder, builder->args[0].as.value);
  if (etx_dtype_category_of(shape.dtype) != ETX_CATEGORY_INTEGER) {
    return etx_diag_fail(builder->diag, ETX_UNSUPPORTED,
                         "'%t' of a tensor of %s is not supported: only "
                         "integers can be read",
                         builder->node->aten, etx_dtype_name(shape.dtype));
  }
  return etx_build_item(builder, builder->args[0].as.value,
                        &builder->results[0]);
}

// where(condition), nonzero_numpy(self): the columns of nonzero, one for each
// dimension.
etx_status etx_lowering_nonzero_columns(etx_builder* builder) {
  uint32_t rows = 0;
  ETX_TRY(etx_build_op(builder, ETX_OP_nonzero_out, builder->args, 1, &rows));
  for (size_t i = 0; i < builder->node->output_count; ++i) {
    const etx_ir_arg args[] = {etx_ir_value_arg(rows), etx_ir_int(1),
                               etx_ir_int((etx_dim)i)};
    ETX_TRY(etx_build_op(builder, ETX_OP_select_copy_int_out, args, 3,
                         &builder->results[i]));
  }
  return ETX_OK;
}

// _assert_scalar(self, assert_msg). ExecuTorch has no operator for it: there it
// is left out, as its own exporter does.
etx_status etx_lowering_assert_scalar(etx_builder* builder) {
  const etx_ir_arg* const condition = &builder->args[0];
  const bool is_known = condition->kind != ETX_IR_ARG_INT ||
                        etx_dim_is_number(condition->as.integer);
  if (is_known && condition->kind == ETX_IR_ARG_INT &&
      condition->as.integer == 0) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "no size within the bounds meets the condition '%t'",
                         builder->args[1].as.string);
  }
  if (is_known || builder->target != ETX_TARGET_ETX) return ETX_OK;
  uint32_t unread = 0;
  return etx_build_check(builder, condition, &builder->args[1], &unread);
}

// The stated size of the result. A node that sets the size itself has none.
static etx_ir_arg repeated_size(const etx_builder* builder, size_t argument) {
  return builder->node->late == 0 ? builder->args[argument] : etx_ir_none();
}

// repeat_interleave(repeats, output_size)
etx_status etx_lowering_repeat_by_tensor(etx_builder* builder) {
  builder->args[1] = repeated_size(builder, 1);
  return etx_build_op(builder, ETX_OP_repeat_interleave_tensor_out,
                      builder->args, 2, &builder->results[0]);
}

// repeat_interleave(self, repeats, dim, output_size): index_select by the
// indices that repeat. Without a dimension, self is flattened.
etx_status etx_lowering_repeat_along_by_tensor(etx_builder* builder) {
  uint32_t self = builder->args[0].as.value;
  uint32_t indices = 0;
  const etx_shape shape = *etx_builder_shape(builder, self);
  const etx_ir_arg repeats[] = {builder->args[1], repeated_size(builder, 3)};
  const bool is_flat = builder->args[2].kind == ETX_IR_ARG_NONE;
  if (is_flat) {
    etx_dim count = 0;
    ETX_TRY(etx_builder_product(builder, shape.dims, 0, shape.rank, &count));
    ETX_TRY(etx_build_view(builder, self, &count, 1, &self));
  }
  ETX_TRY(etx_build_op(builder, ETX_OP_repeat_interleave_tensor_out, repeats, 2,
                       &indices));
  const etx_ir_arg args[] = {etx_ir_value_arg(self),
                             is_flat ? etx_ir_int(0) : builder->args[2],
                             etx_ir_value_arg(indices)};
  return etx_build_op(builder, ETX_OP_index_select_out, args, 3,
                      &builder->results[0]);
}
