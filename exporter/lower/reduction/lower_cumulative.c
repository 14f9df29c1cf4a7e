// cummax and cummin by the parallel prefix algorithm of Hillis and Steele:
// after steps of 1, 2, 4, .. each element is the extreme of itself and all
// before it.

#include "exporter/lower/builder/lowering_functions.h"

// The prefix extremes along `axis`; `op` is maximum or minimum.
static etx_status running_extreme(etx_builder* builder, etx_op_id op,
                                  uint32_t self, size_t axis,
                                  uint32_t* out_value) {
  const etx_dim size = etx_builder_shape(builder, self)->dims[axis];
  for (etx_dim step = 1; step < size; step *= 2) {
    uint32_t parts[2];
    uint32_t before = 0;
    ETX_TRY(etx_build_slice(builder, self, (etx_dim_slice){axis, 0, step, 1},
                            &parts[0]));
    ETX_TRY(etx_build_slice(builder, self, (etx_dim_slice){axis, step, size, 1},
                            &parts[1]));
    ETX_TRY(etx_build_slice(builder, self,
                            (etx_dim_slice){axis, 0, size - step, 1}, &before));
    ETX_TRY(etx_build_binary(builder, op, parts[1], before, &parts[1]));
    ETX_TRY(etx_build_concat(builder, parts, 2, axis, &self));
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

// 0, 1, .. along `axis`, of size 1 in the other dimensions.
static etx_status positions(etx_builder* builder, const etx_shape* shape,
                            size_t axis, uint32_t* out_value) {
  etx_dim dims[ETX_MAX_RANK];
  for (size_t i = 0; i < shape->rank; ++i) dims[i] = 1;
  dims[axis] = shape->dims[axis];
  ETX_TRY(etx_build_arange(builder, shape->dims[axis], out_value));
  return etx_build_view(builder, *out_value, dims, shape->rank, out_value);
}

// (self, dim): the extremes, and the last position of each so far.
static etx_status running(etx_builder* builder, etx_op_id op) {
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
  if (!etx_dim_is_number(shape.dims[axis])) {
    return etx_diag_fail(builder->diag, ETX_UNSUPPORTED,
                         "'%t' along a dynamic dimension runs only in etx's "
                         "runtime: plan for target 'etx'",
                         builder->node->aten);
  }
  ETX_TRY(running_extreme(builder, op, self, axis, &builder->results[0]));
  if (!etx_builder_is_read(builder, 1)) return ETX_OK;
  ETX_TRY(is_extreme(builder, self, builder->results[0], &test));
  ETX_TRY(positions(builder, &shape, axis, &position));
  ETX_TRY(etx_build_scalar(builder, &zero, ETX_DTYPE_INT64, &none));
  ETX_TRY(etx_build_where(builder, test, position, none, &position));
  return running_extreme(builder, ETX_OP_maximum_out, position, axis,
                         &builder->results[1]);
}

etx_status etx_lowering_cummax(etx_builder* builder) {
  return running(builder, ETX_OP_maximum_out);
}

etx_status etx_lowering_cummin(etx_builder* builder) {
  return running(builder, ETX_OP_minimum_out);
}
