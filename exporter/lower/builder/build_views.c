// Views. No node is appended for a view that changes nothing, and a permute
// that only moves dimensions of size 1 becomes a view.

#include "exporter/lower/builder/builder.h"

etx_status etx_build_view(etx_builder* builder, uint32_t self,
                          const etx_dim* dims, size_t rank,
                          uint32_t* out_value) {
  const etx_shape* const shape = etx_builder_shape(builder, self);
  if (shape->rank == rank &&
      etx_builder_same_dims(builder, shape->dims, dims, rank)) {
    *out_value = self;
    return ETX_OK;
  }
  etx_ir_arg args[] = {etx_ir_value_arg(self), etx_ir_none()};
  ETX_TRY(etx_build_int_list(builder, dims, rank, &args[1]));
  return etx_build_op(builder, ETX_OP_view_copy_out, args, 2, out_value);
}

// True if the dimensions that are not of size 1 keep their order.
static bool keeps_order(const etx_shape* shape, const size_t* order) {
  size_t last = 0;
  for (size_t i = 0; i < shape->rank; ++i) {
    if (shape->dims[order[i]] == 1) continue;
    if (order[i] < last) return false;
    last = order[i];
  }
  return true;
}

etx_status etx_build_permute(etx_builder* builder, uint32_t self,
                             const size_t* order, uint32_t* out_value) {
  const etx_shape shape = *etx_builder_shape(builder, self);
  etx_dim dims[ETX_MAX_RANK];
  etx_dim axes[ETX_MAX_RANK];
  for (size_t i = 0; i < shape.rank; ++i) {
    dims[i] = shape.dims[order[i]];
    axes[i] = (etx_dim)order[i];
  }
  if (keeps_order(&shape, order)) {
    return etx_build_view(builder, self, dims, shape.rank, out_value);
  }
  etx_ir_arg args[] = {etx_ir_value_arg(self), etx_ir_none()};
  ETX_TRY(etx_build_int_list(builder, axes, shape.rank, &args[1]));
  return etx_build_op(builder, ETX_OP_permute_copy_out, args, 2, out_value);
}

etx_status etx_build_transpose(etx_builder* builder, uint32_t self, size_t a,
                               size_t b, uint32_t* out_value) {
  size_t order[ETX_MAX_RANK];
  for (size_t i = 0; i < ETX_MAX_RANK; ++i) order[i] = i;
  order[a] = b;
  order[b] = a;
  return etx_build_permute(builder, self, order, out_value);
}

etx_status etx_build_expand(etx_builder* builder, uint32_t self,
                            const etx_dim* dims, size_t rank,
                            uint32_t* out_value) {
  const etx_shape shape = *etx_builder_shape(builder, self);
  if (rank < shape.rank) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "a tensor of rank %u cannot be expanded to rank %z",
                         (uint64_t)shape.rank, rank);
  }
  // Adding leading dimensions of size 1 is only a view.
  const size_t added = rank - shape.rank;
  bool only_view = true;
  for (size_t i = 0; i < added; ++i) only_view = only_view && dims[i] == 1;
  if (only_view &&
      etx_builder_same_dims(builder, shape.dims, dims + added, shape.rank)) {
    return etx_build_view(builder, self, dims, rank, out_value);
  }
  etx_ir_arg args[] = {etx_ir_value_arg(self), etx_ir_none()};
  ETX_TRY(etx_build_int_list(builder, dims, rank, &args[1]));
  return etx_build_op(builder, ETX_OP_expand_copy_out, args, 2, out_value);
}

etx_status etx_build_unsqueeze(etx_builder* builder, uint32_t self, size_t axis,
                               uint32_t* out_value) {
  const etx_shape shape = *etx_builder_shape(builder, self);
  etx_dim dims[ETX_MAX_RANK + 1];
  for (size_t i = 0; i <= shape.rank; ++i) {
    dims[i] = i < axis ? shape.dims[i] : i == axis ? 1 : shape.dims[i - 1];
  }
  if (shape.rank == ETX_MAX_RANK) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "tensors of more than %i dimensions are not supported",
                         (int64_t)ETX_MAX_RANK);
  }
  return etx_build_view(builder, self, dims, shape.rank + 1u, out_value);
}

etx_status etx_build_slice(etx_builder* builder, uint32_t self,
                           etx_dim_slice slice, uint32_t* out_value) {
  if (slice.axis >= etx_builder_shape(builder, self)->rank) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "a tensor of rank 0 cannot be sliced");
  }
  const etx_dim size = etx_builder_shape(builder, self)->dims[slice.axis];
  if (slice.start == 0 && slice.step == 1 &&
      etx_symbols_equal(&builder->method->symbols, slice.end, size)) {
    *out_value = self;
    return ETX_OK;
  }
  const etx_ir_arg args[] = {
      etx_ir_value_arg(self), etx_ir_int((etx_dim)slice.axis),
      etx_ir_int(slice.start), etx_ir_int(slice.end), etx_ir_int(slice.step)};
  return etx_build_op(builder, ETX_OP_slice_copy_tensor_out, args, 5,
                      out_value);
}

// Adds the size to a bound where it is negative.
static etx_status count_from_end(etx_symbols* symbols, etx_dim size,
                                 etx_dim end, etx_dim* out) {
  etx_dim is_negative = 0;
  ETX_TRY(etx_symbols_compare(symbols, ETX_SYMBOL_LESS, end, 0, &is_negative));
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_MULTIPLY, size, is_negative,
                            &size));
  return etx_symbols_apply(symbols, ETX_SYMBOL_ADD, end, size, out);
}

// Clamps one bound of a slice to [0, size]. A symbolic bound needs a minimum or
// maximum only if the bounds of its symbols do not prove that it is inside.
static etx_status clamp_end(etx_builder* builder, etx_dim size, etx_dim end,
                            etx_dim* out) {
  etx_symbols* const symbols = &builder->method->symbols;
  int64_t low = 0;
  int64_t high = 0;
  etx_symbols_bounds(symbols, end, &low, &high);
  if (low < 0) {
    if (count_from_end(symbols, size, end, &end) != ETX_OK) {
      return etx_diag_fail(builder->diag, ETX_UNSUPPORTED,
                           "a slice bound that may be negative or positive, "
                           "and has no bounds of its own, is not supported");
    }
    etx_symbols_bounds(symbols, end, &low, &high);
  }
  if (low < 0) {
    ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_MAXIMUM, end, 0, &end));
  }
  etx_dim room = 0;
  const etx_status status =
      etx_symbols_apply(symbols, ETX_SYMBOL_SUBTRACT, size, end, &room);
  int64_t room_high = 0;
  if (status == ETX_OK) etx_symbols_bounds(symbols, room, &low, &room_high);
  if (status != ETX_OK || low < 0) {
    return etx_symbols_apply(symbols, ETX_SYMBOL_MINIMUM, end, size, out);
  }
  *out = end;
  return ETX_OK;
}

etx_status etx_builder_slice_range(etx_builder* builder, etx_dim size,
                                   const etx_ir_arg* start,
                                   const etx_ir_arg* end, etx_dim* out_start,
                                   etx_dim* out_end) {
  etx_dim first = 0;
  etx_dim last = size;
  if (start->kind == ETX_IR_ARG_INT) {
    ETX_TRY(clamp_end(builder, size, start->as.integer, &first));
  }
  if (end->kind == ETX_IR_ARG_INT && end->as.integer != INT64_MAX) {
    ETX_TRY(clamp_end(builder, size, end->as.integer, &last));
  }
  if (etx_dim_is_number(first) && etx_dim_is_number(last) && last < first) {
    last = first;
  }
  *out_start = first;
  *out_end = last;
  return ETX_OK;
}
