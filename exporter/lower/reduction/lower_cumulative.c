// cummax, cummin and logcumsumexp by the parallel prefix algorithm of Hillis
// and Steele: after steps of 1, 2, 4, .. each element is combined with all
// before it. Where the size varies, there are as many steps as the largest size
// needs.

#include "exporter/lower/builder/lowering_functions.h"

// Combines two tensors of the same shape.
typedef etx_status (*combine_function)(etx_builder* builder, uint32_t a,
                                       uint32_t b, uint32_t* out_value);

static etx_status larger(etx_builder* builder, uint32_t a, uint32_t b,
                         uint32_t* out_value) {
  return etx_build_binary(builder, ETX_OP_maximum_out, a, b, out_value);
}

static etx_status smaller(etx_builder* builder, uint32_t a, uint32_t b,
                          uint32_t* out_value) {
  return etx_build_binary(builder, ETX_OP_minimum_out, a, b, out_value);
}

// Combines each element with the one `step` before it, if there is one.
static etx_status combine_step(etx_builder* builder, combine_function combine,
                               uint32_t self, size_t axis, etx_dim step,
                               uint32_t* out_value) {
  etx_symbols* const symbols = &builder->method->symbols;
  const etx_dim size = etx_builder_shape(builder, self)->dims[axis];
  etx_dim rest = 0;
  uint32_t parts[2];
  uint32_t before = 0;
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_MINIMUM, step, size, &step));
  ETX_TRY(etx_symbols_apply(symbols, ETX_SYMBOL_SUBTRACT, size, step, &rest));
  ETX_TRY(etx_build_slice(builder, self, (etx_dim_slice){axis, 0, step, 1},
                          &parts[0]));
  ETX_TRY(etx_build_slice(builder, self, (etx_dim_slice){axis, step, size, 1},
                          &parts[1]));
  ETX_TRY(etx_build_slice(builder, self, (etx_dim_slice){axis, 0, rest, 1},
                          &before));
  ETX_TRY(combine(builder, parts[1], before, &parts[1]));
  return etx_build_concat(builder, parts, 2, axis, out_value);
}

// Each element combined with all before it along `axis`.
static etx_status combine_prefixes(etx_builder* builder,
                                   combine_function combine, uint32_t self,
                                   size_t axis, uint32_t* out_value) {
  int64_t low = 0, high = 0;
  etx_symbols_bounds(&builder->method->symbols,
                     etx_builder_shape(builder, self)->dims[axis], &low, &high);
  for (etx_dim step = 1; step < high; step *= 2) {
    ETX_TRY(combine_step(builder, combine, self, axis, step, &self));
    if (step > high / 2) break;
  }
  *out_value = self;
  return ETX_OK;
}

// True for elements that are the extreme so far: equal to it, or NaN, which
// stays the extreme from then on.
static etx_status is_extreme(etx_builder* builder, uint32_t self,
                             uint32_t extreme, uint32_t* out_value) {
  const etx_dtype dtype = etx_builder_shape(builder, self)->dtype;
  uint32_t test = 0;
  ETX_TRY(etx_build_binary(builder, ETX_OP_eq_tensor_out, self, extreme,
                           out_value));
  if (etx_dtype_category_of(dtype) != ETX_CATEGORY_FLOATING) return ETX_OK;
  ETX_TRY(etx_build_unary(builder, ETX_OP_isnan_out, self, &test));
  return etx_build_binary(builder, ETX_OP_logical_or_out, *out_value, test,
                          out_value);
}

etx_status etx_build_positions(etx_builder* builder, const etx_shape* shape,
                               size_t axis, uint32_t* out_value) {
  etx_dim dims[ETX_MAX_RANK];
  for (size_t i = 0; i < shape->rank; ++i) dims[i] = 1;
  dims[axis] = shape->dims[axis];
  ETX_TRY(etx_build_arange(builder, shape->dims[axis], out_value));
  return etx_build_view(builder, *out_value, dims, shape->rank, out_value);
}

// (self, dim): the extremes, and the last position of each so far.
static etx_status running(etx_builder* builder, combine_function combine) {
  const uint32_t self = builder->args[0].as.value;
  const etx_shape shape = *etx_builder_shape(builder, self);
  size_t axis = 0;
  uint32_t test = 0;
  uint32_t position = 0;
  uint32_t none = 0;
  const etx_ir_arg zero = etx_ir_int(0);
  ETX_TRY(etx_builder_axis(builder, builder->args[1].as.integer, shape.rank,
                           &axis));
  if (shape.rank == 0) {
    builder->results[0] = self;
    return etx_build_scalar(builder, &zero, ETX_DTYPE_INT64,
                            &builder->results[1]);
  }
  ETX_TRY(combine_prefixes(builder, combine, self, axis, &builder->results[0]));
  if (!etx_builder_is_read(builder, 1)) return ETX_OK;
  ETX_TRY(is_extreme(builder, self, builder->results[0], &test));
  ETX_TRY(etx_build_positions(builder, &shape, axis, &position));
  ETX_TRY(etx_build_scalar(builder, &zero, ETX_DTYPE_INT64, &none));
  ETX_TRY(etx_build_where(builder, test, position, none, &position));
  return combine_prefixes(builder, larger, position, axis,
                          &builder->results[1]);
}

etx_status etx_lowering_cummax(etx_builder* builder) {
  return running(builder, larger);
}

etx_status etx_lowering_cummin(etx_builder* builder) {
  return running(builder, smaller);
}

etx_status etx_build_running_maximum(etx_builder* builder, uint32_t self,
                                     size_t axis, uint32_t* out_value) {
  uint32_t pair[ETX_TYPE_INFERENCE_MAX_OUTPUTS];
  if (builder->target != ETX_TARGET_ETX) {
    return combine_prefixes(builder, larger, self, axis, out_value);
  }
  const etx_ir_arg args[] = {etx_ir_value_arg(self), etx_ir_int((etx_dim)axis)};
  ETX_TRY(
      etx_build_op_outputs(builder, ETX_OP_cummax_out, args, 2, NULL, pair));
  *out_value = pair[0];
  return ETX_OK;
}

// logcumsumexp(self, dim)
etx_status etx_lowering_logcumsumexp(etx_builder* builder) {
  const uint32_t self = builder->args[0].as.value;
  const size_t rank = etx_builder_shape(builder, self)->rank;
  size_t axis = 0;
  ETX_TRY(etx_builder_axis(builder, builder->args[1].as.integer, rank, &axis));
  builder->results[0] = self;
  if (rank == 0) return ETX_OK;
  return combine_prefixes(builder, etx_build_logaddexp, self, axis,
                          &builder->results[0]);
}
