// Elementary functions without a row of their own, from those that have one.

#include <math.h>

#include "exporter/lower_internal.h"

// The operand as a floating tensor.
static etx_status floating(etx_lower* lower, uint32_t* out_self) {
  uint32_t self = 0;
  ETX_TRY(etx_lower_tensor(lower, &lower->args[0], &self));
  const etx_dtype dtype = etx_lower_shape(lower, self)->dtype;
  *out_self = self;
  if (etx_dtype_category_of(dtype) >= ETX_CATEGORY_FLOATING) return ETX_OK;
  return etx_lower_cast(lower, self, ETX_DTYPE_FLOAT32, out_self);
}

static etx_status zero_d(etx_lower* lower, uint32_t like, double number,
                         uint32_t* out_value) {
  const etx_ir_arg arg = etx_ir_double(number);
  return etx_lower_number(lower, &arg, etx_lower_shape(lower, like)->dtype,
                          out_value);
}

// log(1 + x) without losing small x: with u = 1 + x rounded, log(u) * x / (u
// - 1) corrects for the rounding; where u is 1 the result is x.
etx_status etx_lowering_log1p(etx_lower* lower) {
  uint32_t x = 0;
  uint32_t u = 0;
  uint32_t low = 0;
  uint32_t is_one = 0;
  uint32_t value = 0;
  ETX_TRY(floating(lower, &x));
  ETX_TRY(etx_lower_with_constant(lower, ETX_OP_add_out, x, 1.0, &u));
  ETX_TRY(etx_lower_with_constant(lower, ETX_OP_sub_out, u, 1.0, &low));
  ETX_TRY(
      etx_lower_with_number(lower, ETX_OP_eq_scalar_out, low, 0.0, &is_one));
  ETX_TRY(etx_lower_binary(lower, ETX_OP_div_out, x, low, &low));
  ETX_TRY(etx_lower_unary(lower, ETX_OP_log_out, u, &value));
  ETX_TRY(etx_lower_binary(lower, ETX_OP_mul_out, value, low, &value));
  // An infinite x gives infinity / infinity above.
  ETX_TRY(etx_lower_unary(lower, ETX_OP_isinf_out, x, &low));
  ETX_TRY(etx_lower_binary(lower, ETX_OP_logical_or_out, is_one, low, &low));
  return etx_lower_where(lower, low, x, value, &lower->results[0]);
}

// exp(x) - 1 without losing small x, by the inverse trick: (u - 1) * x /
// log(u) with u = exp(x); beyond |x| of 1 the plain difference is exact enough.
etx_status etx_lowering_expm1(etx_lower* lower) {
  uint32_t x = 0;
  uint32_t u = 0;
  uint32_t plain = 0;
  uint32_t value = 0;
  uint32_t test = 0;
  ETX_TRY(floating(lower, &x));
  ETX_TRY(etx_lower_unary(lower, ETX_OP_exp_out, x, &u));
  ETX_TRY(etx_lower_with_constant(lower, ETX_OP_sub_out, u, 1.0, &plain));
  ETX_TRY(etx_lower_unary(lower, ETX_OP_log_out, u, &value));
  ETX_TRY(etx_lower_binary(lower, ETX_OP_div_out, x, value, &value));
  ETX_TRY(etx_lower_binary(lower, ETX_OP_mul_out, plain, value, &value));
  ETX_TRY(
      etx_lower_with_number(lower, ETX_OP_eq_scalar_out, plain, 0.0, &test));
  ETX_TRY(etx_lower_where(lower, test, x, value, &value));
  ETX_TRY(etx_lower_unary(lower, ETX_OP_abs_out, x, &test));
  ETX_TRY(etx_lower_with_number(lower, ETX_OP_gt_scalar_out, test, 1.0, &test));
  return etx_lower_where(lower, test, plain, value, &lower->results[0]);
}

// log2, log10: the natural logarithm, scaled.
static etx_status scaled_log(etx_lower* lower, double scale) {
  uint32_t value = 0;
  ETX_TRY(floating(lower, &value));
  ETX_TRY(etx_lower_unary(lower, ETX_OP_log_out, value, &value));
  return etx_lower_with_constant(lower, ETX_OP_mul_out, value, scale,
                                 &lower->results[0]);
}

etx_status etx_lowering_log2(etx_lower* lower) {
  return scaled_log(lower, 1.4426950408889634);
}

etx_status etx_lowering_log10(etx_lower* lower) {
  return scaled_log(lower, 0.4342944819032518);
}

etx_status etx_lowering_exp2(etx_lower* lower) {
  uint32_t value = 0;
  ETX_TRY(floating(lower, &value));
  const etx_ir_arg args[] = {etx_ir_double(2.0), etx_ir_value_arg(value)};
  return etx_lower_emit(lower, ETX_OP_pow_scalar_out, args, 2,
                        &lower->results[0]);
}

etx_status etx_lowering_tan(etx_lower* lower) {
  uint32_t x = 0;
  uint32_t sine = 0;
  uint32_t cosine = 0;
  ETX_TRY(floating(lower, &x));
  ETX_TRY(etx_lower_unary(lower, ETX_OP_sin_out, x, &sine));
  ETX_TRY(etx_lower_unary(lower, ETX_OP_cos_out, x, &cosine));
  return etx_lower_binary(lower, ETX_OP_div_out, sine, cosine,
                          &lower->results[0]);
}

etx_status etx_lowering_square(etx_lower* lower) {
  const uint32_t self = lower->args[0].as.value;
  return etx_lower_binary(lower, ETX_OP_mul_out, self, self,
                          &lower->results[0]);
}

etx_status etx_lowering_isfinite(etx_lower* lower) {
  const uint32_t self = lower->args[0].as.value;
  uint32_t nan = 0;
  uint32_t infinite = 0;
  ETX_TRY(etx_lower_unary(lower, ETX_OP_isnan_out, self, &nan));
  ETX_TRY(etx_lower_unary(lower, ETX_OP_isinf_out, self, &infinite));
  ETX_TRY(etx_lower_binary(lower, ETX_OP_logical_or_out, nan, infinite, &nan));
  return etx_lower_unary(lower, ETX_OP_logical_not_out, nan,
                         &lower->results[0]);
}

// self where it exceeds the threshold, else the value.
etx_status etx_lowering_threshold(etx_lower* lower) {
  const uint32_t self = lower->args[0].as.value;
  uint32_t above = 0;
  uint32_t other = 0;
  const etx_ir_arg args[] = {etx_ir_value_arg(self), lower->args[1]};
  ETX_TRY(etx_lower_emit(lower, ETX_OP_gt_scalar_out, args, 2, &above));
  ETX_TRY(etx_lower_number(lower, &lower->args[2],
                           etx_lower_shape(lower, self)->dtype, &other));
  return etx_lower_where(lower, above, self, other, &lower->results[0]);
}

// Replaces elements that `op` compares true with `limit` by a stated number,
// or by the largest float of that sign.
static etx_status replace_infinity(etx_lower* lower, const etx_ir_arg* stated,
                                   double infinity, double otherwise,
                                   uint32_t* self) {
  const bool given = stated->kind == ETX_IR_ARG_DOUBLE;
  uint32_t test = 0;
  uint32_t number = 0;
  ETX_TRY(etx_lower_with_number(lower, ETX_OP_eq_scalar_out, *self, infinity,
                                &test));
  ETX_TRY(zero_d(lower, *self, given ? stated->as.real : otherwise, &number));
  return etx_lower_where(lower, test, number, *self, self);
}

// nan_to_num(self, nan, posinf, neginf)
etx_status etx_lowering_nan_to_num(etx_lower* lower) {
  const etx_ir_arg* const args = lower->args;
  uint32_t self = args[0].as.value;
  const etx_dtype dtype = etx_lower_shape(lower, self)->dtype;
  if (etx_dtype_category_of(dtype) < ETX_CATEGORY_FLOATING) {
    lower->results[0] = self;
    return ETX_OK;
  }
  const double largest = dtype == ETX_DTYPE_FLOAT32 ? 3.4028234663852886e+38
                                                    : 1.7976931348623157e308;
  const bool given = args[1].kind == ETX_IR_ARG_DOUBLE;
  uint32_t nan = 0;
  uint32_t number = 0;
  ETX_TRY(etx_lower_unary(lower, ETX_OP_isnan_out, self, &nan));
  ETX_TRY(zero_d(lower, self, given ? args[1].as.real : 0.0, &number));
  ETX_TRY(etx_lower_where(lower, nan, number, self, &self));
  ETX_TRY(replace_infinity(lower, &args[2], (double)INFINITY, largest, &self));
  ETX_TRY(
      replace_infinity(lower, &args[3], -(double)INFINITY, -largest, &self));
  lower->results[0] = self;
  return ETX_OK;
}
