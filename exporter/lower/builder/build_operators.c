// Single operators that many lowering functions and passes append.

#include "exporter/lower/builder/builder.h"

etx_status etx_build_where(etx_builder* builder, uint32_t condition,
                           uint32_t self, uint32_t other, uint32_t* out_value) {
  const etx_ir_arg args[] = {etx_ir_value_arg(condition),
                             etx_ir_value_arg(self), etx_ir_value_arg(other)};
  return etx_build_op(builder, ETX_OP_where_self_out, args, 3, out_value);
}

etx_status etx_build_reduce(etx_builder* builder, etx_op_id op, uint32_t self,
                            etx_reduced_dims dims, uint32_t* out_value) {
  etx_ir_arg args[] = {etx_ir_value_arg(self), etx_ir_none(),
                       etx_ir_bool(dims.keep)};
  ETX_TRY(etx_build_int_list(builder, dims.dims, dims.count, &args[1]));
  return etx_build_op(builder, op, args, 3, out_value);
}

etx_status etx_build_softmax(etx_builder* builder, uint32_t self, etx_dim dim,
                             uint32_t* out_value) {
  const etx_ir_arg args[] = {etx_ir_value_arg(self), etx_ir_int(dim),
                             etx_ir_bool(false)};
  return etx_build_op(builder, ETX_OP_softmax_out, args, 3, out_value);
}

etx_status etx_build_concat(etx_builder* builder, const uint32_t* values,
                            size_t count, size_t axis, uint32_t* out_value) {
  etx_ir_arg* const items =
      etx_pool_take(builder->module->pool, count * sizeof(etx_ir_arg));
  if (items == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) items[i] = etx_ir_value_arg(values[i]);
  if (count == 1) {
    *out_value = values[0];
    return ETX_OK;
  }
  const etx_ir_arg args[] = {etx_ir_list(items, count),
                             etx_ir_int((etx_dim)axis)};
  return etx_build_op(builder, ETX_OP_cat_out, args, 2, out_value);
}

etx_status etx_build_arange(etx_builder* builder, etx_dim count,
                            uint32_t* out_value) {
  const etx_dtype dtype = ETX_DTYPE_INT64;
  const etx_ir_arg args[] = {etx_ir_int(0), etx_ir_int(count), etx_ir_int(1)};
  return etx_build_op_outputs(builder, ETX_OP_arange_start_out, args, 3, &dtype,
                              out_value);
}
