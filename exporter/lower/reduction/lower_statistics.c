// Variance and standard deviation, with or without the mean, over dimensions or
// everything: `correction` is a number, or the flag that older forms take.

#include "exporter/lower/builder/lowering_functions.h"

// The arguments (self, dim, correction or unbiased, keepdim) as the operators
// want them.
static void take_correction(etx_builder* builder) {
  etx_ir_arg* const correction = &builder->args[2];
  if (correction->kind != ETX_IR_ARG_BOOL) return;
  *correction = etx_ir_int(correction->as.boolean ? 1 : 0);
}

// (self, unbiased) as (self, None, unbiased, false)
static void over_all(etx_builder* builder) {
  builder->args[2] = builder->args[1];
  builder->args[1] = etx_ir_none();
  builder->args[3] = etx_ir_bool(false);
}

etx_status etx_lowering_variance(etx_builder* builder) {
  take_correction(builder);
  return etx_build_op(builder, ETX_OP_var_correction_out, builder->args, 4,
                      &builder->results[0]);
}

etx_status etx_lowering_variance_all(etx_builder* builder) {
  over_all(builder);
  return etx_lowering_variance(builder);
}

etx_status etx_lowering_deviation(etx_builder* builder) {
  uint32_t value = 0;
  take_correction(builder);
  if (builder->target == ETX_TARGET_ETX) {
    return etx_build_op(builder, ETX_OP_std_correction_out, builder->args, 4,
                        &builder->results[0]);
  }
  ETX_TRY(etx_build_op(builder, ETX_OP_var_correction_out, builder->args, 4,
                       &value));
  return etx_build_unary(builder, ETX_OP_sqrt_out, value, &builder->results[0]);
}

etx_status etx_lowering_deviation_all(etx_builder* builder) {
  over_all(builder);
  return etx_lowering_deviation(builder);
}

etx_status etx_lowering_variance_and_mean(etx_builder* builder) {
  take_correction(builder);
  return etx_build_op_outputs(builder, ETX_OP_var_mean_correction_out,
                              builder->args, 4, NULL, builder->results);
}

etx_status etx_lowering_variance_and_mean_all(etx_builder* builder) {
  over_all(builder);
  return etx_lowering_variance_and_mean(builder);
}

etx_status etx_lowering_deviation_and_mean(etx_builder* builder) {
  ETX_TRY(etx_lowering_variance_and_mean(builder));
  return etx_build_unary(builder, ETX_OP_sqrt_out, builder->results[0],
                         &builder->results[0]);
}

etx_status etx_lowering_deviation_and_mean_all(etx_builder* builder) {
  over_all(builder);
  return etx_lowering_deviation_and_mean(builder);
}
