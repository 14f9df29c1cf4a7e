// var, std, var_mean and std_mean. `correction` is a number, or the flag
// `unbiased` of older overloads.

#include "exporter/lower/builder/lowering_functions.h"

// Changes (self, dim, unbiased, keepdim) to (self, dim, correction, keepdim).
static void read_correction(etx_builder* builder) {
  etx_ir_arg* const correction = &builder->args[2];
  if (correction->kind != ETX_IR_ARG_BOOL) return;
  *correction = etx_ir_int(correction->as.boolean ? 1 : 0);
}

// Changes (self, unbiased) to (self, None, unbiased, false).
static void reduce_all_dims(etx_builder* builder) {
  builder->args[2] = builder->args[1];
  builder->args[1] = etx_ir_none();
  builder->args[3] = etx_ir_bool(false);
}

etx_status etx_lowering_var(etx_builder* builder) {
  read_correction(builder);
  return etx_build_op(builder, ETX_OP_var_correction_out, builder->args, 4,
                      &builder->results[0]);
}

etx_status etx_lowering_var_all(etx_builder* builder) {
  reduce_all_dims(builder);
  return etx_lowering_var(builder);
}

etx_status etx_lowering_std(etx_builder* builder) {
  uint32_t value = 0;
  read_correction(builder);
  if (builder->target == ETX_TARGET_ETX) {
    return etx_build_op(builder, ETX_OP_std_correction_out, builder->args, 4,
                        &builder->results[0]);
  }
  ETX_TRY(etx_build_op(builder, ETX_OP_var_correction_out, builder->args, 4,
                       &value));
  return etx_build_unary(builder, ETX_OP_sqrt_out, value, &builder->results[0]);
}

etx_status etx_lowering_std_all(etx_builder* builder) {
  reduce_all_dims(builder);
  return etx_lowering_std(builder);
}

etx_status etx_lowering_var_mean(etx_builder* builder) {
  read_correction(builder);
  return etx_build_op_outputs(builder, ETX_OP_var_mean_correction_out,
                              builder->args, 4, NULL, builder->results);
}

etx_status etx_lowering_var_mean_all(etx_builder* builder) {
  reduce_all_dims(builder);
  return etx_lowering_var_mean(builder);
}

etx_status etx_lowering_std_mean(etx_builder* builder) {
  ETX_TRY(etx_lowering_var_mean(builder));
  return etx_build_unary(builder, ETX_OP_sqrt_out, builder->results[0],
                         &builder->results[0]);
}

etx_status etx_lowering_std_mean_all(etx_builder* builder) {
  reduce_all_dims(builder);
  return etx_lowering_std_mean(builder);
}
