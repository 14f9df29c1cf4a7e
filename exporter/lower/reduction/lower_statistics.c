// Variance and standard deviation, with or without the mean, over dimensions or
// everything: `correction` is a number, or the flag that older forms take.

#include "exporter/lower/builder/lowering_functions.h"

// The arguments (self, dim, correction or unbiased, keepdim) as the operators
// want them.
static void take_correction(etx_builder* lower) {
  etx_ir_arg* const correction = &lower->args[2];
  if (correction->kind != ETX_IR_ARG_BOOL) return;
  *correction = etx_ir_int(correction->as.boolean ? 1 : 0);
}

// (self, unbiased) as (self, None, unbiased, false)
static void over_all(etx_builder* lower) {
  lower->args[2] = lower->args[1];
  lower->args[1] = etx_ir_none();
  lower->args[3] = etx_ir_bool(false);
}

etx_status etx_lowering_variance(etx_builder* lower) {
  take_correction(lower);
  return etx_build_op(lower, ETX_OP_var_correction_out, lower->args, 4,
                      &lower->results[0]);
}

etx_status etx_lowering_variance_all(etx_builder* lower) {
  over_all(lower);
  return etx_lowering_variance(lower);
}

etx_status etx_lowering_deviation(etx_builder* lower) {
  uint32_t value = 0;
  take_correction(lower);
  if (lower->target == ETX_TARGET_ETX) {
    return etx_build_op(lower, ETX_OP_std_correction_out, lower->args, 4,
                        &lower->results[0]);
  }
  ETX_TRY(
      etx_build_op(lower, ETX_OP_var_correction_out, lower->args, 4, &value));
  return etx_build_unary(lower, ETX_OP_sqrt_out, value, &lower->results[0]);
}

etx_status etx_lowering_deviation_all(etx_builder* lower) {
  over_all(lower);
  return etx_lowering_deviation(lower);
}

etx_status etx_lowering_variance_and_mean(etx_builder* lower) {
  take_correction(lower);
  return etx_build_op_outputs(lower, ETX_OP_var_mean_correction_out,
                              lower->args, 4, NULL, lower->results);
}

etx_status etx_lowering_variance_and_mean_all(etx_builder* lower) {
  over_all(lower);
  return etx_lowering_variance_and_mean(lower);
}

etx_status etx_lowering_deviation_and_mean(etx_builder* lower) {
  ETX_TRY(etx_lowering_variance_and_mean(lower));
  return etx_build_unary(lower, ETX_OP_sqrt_out, lower->results[0],
                         &lower->results[0]);
}

etx_status etx_lowering_deviation_and_mean_all(etx_builder* lower) {
  over_all(lower);
  return etx_lowering_deviation_and_mean(lower);
}
