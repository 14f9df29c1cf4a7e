// Elementary functions that are composed of others.

#include <math.h>

#include "exporter/lower/builder/lowering_functions.h"
#include "format/tensor/dtype_limits.h"

// The operand as a floating-point tensor.
static etx_status floating(etx_builder* builder, uint32_t* out_self) {
  uint32_t self = 0;
  ETX_TRY(etx_build_tensor(builder, &builder->args[0], &self));
  const etx_dtype dtype = etx_builder_shape(builder, self)->dtype;
  *out_self = self;
  if (etx_dtype_category_of(dtype) >= ETX_CATEGORY_FLOATING) return ETX_OK;
  return etx_build_cast(builder, self, ETX_DTYPE_FLOAT32, out_self);
}

static etx_status scalar_like(etx_builder* builder, uint32_t like,
                              double number, uint32_t* out_value) {
  const etx_ir_arg arg = etx_ir_double(number);
  return etx_build_scalar(builder, &arg,
                          etx_builder_shape(builder, like)->dtype, out_value);
}

etx_status etx_lowering_exp2(etx_builder* builder) {
  uint32_t value = 0;
  ETX_TRY(floating(builder, &value));
  const etx_ir_arg args[] = {etx_ir_double(2.0), etx_ir_value_arg(value)};
  return etx_build_op(builder, ETX_OP_pow_scalar_out, args, 2,
                      &builder->results[0]);
}

// 1 - erf(x)
etx_status etx_lowering_erfc(etx_builder* builder) {
  uint32_t value = 0;
  uint32_t one = 0;
  ETX_TRY(floating(builder, &value));
  ETX_TRY(scalar_like(builder, value, 1.0, &one));
  ETX_TRY(etx_build_unary(builder, ETX_OP_erf_out, value, &value));
  return etx_build_binary(builder, ETX_OP_sub_out, one, value,
                          &builder->results[0]);
}

etx_status etx_lowering_square(etx_builder* builder) {
  const uint32_t self = builder->args[0].as.value;
  return etx_build_binary(builder, ETX_OP_mul_out, self, self,
                          &builder->results[0]);
}

etx_status etx_lowering_isfinite(etx_builder* builder) {
  const uint32_t self = builder->args[0].as.value;
  uint32_t nan = 0;
  uint32_t infinite = 0;
  ETX_TRY(etx_build_unary(builder, ETX_OP_isnan_out, self, &nan));
  ETX_TRY(etx_build_unary(builder, ETX_OP_isinf_out, self, &infinite));
  ETX_TRY(
      etx_build_binary(builder, ETX_OP_logical_or_out, nan, infinite, &nan));
  return etx_build_unary(builder, ETX_OP_logical_not_out, nan,
                         &builder->results[0]);
}

// The value where self is not above the threshold; NaN stays.
etx_status etx_lowering_threshold(etx_builder* builder) {
  const uint32_t self = builder->args[0].as.value;
  uint32_t below = 0;
  uint32_t other = 0;
  const etx_ir_arg args[] = {etx_ir_value_arg(self), builder->args[1]};
  ETX_TRY(etx_build_op(builder, ETX_OP_le_scalar_out, args, 2, &below));
  ETX_TRY(etx_build_scalar(builder, &builder->args[2],
                           etx_builder_shape(builder, self)->dtype, &other));
  return etx_build_where(builder, below, other, self, &builder->results[0]);
}

// Replaces elements that equal `infinity` by a given number, or by `otherwise`.
static etx_status replace_infinity(etx_builder* builder,
                                   const etx_ir_arg* stated, double infinity,
                                   double otherwise, uint32_t* self) {
  const bool given = stated->kind == ETX_IR_ARG_DOUBLE;
  uint32_t test = 0;
  uint32_t number = 0;
  ETX_TRY(etx_build_binary_number(builder, ETX_OP_eq_scalar_out, *self,
                                  infinity, &test));
  ETX_TRY(scalar_like(builder, *self, given ? stated->as.real : otherwise,
                      &number));
  return etx_build_where(builder, test, number, *self, self);
}

// nan_to_num(self, nan, posinf, neginf)
etx_status etx_lowering_nan_to_num(etx_builder* builder) {
  const etx_ir_arg* const args = builder->args;
  uint32_t self = args[0].as.value;
  const etx_dtype dtype = etx_builder_shape(builder, self)->dtype;
  if (etx_dtype_category_of(dtype) < ETX_CATEGORY_FLOATING) {
    builder->results[0] = self;
    return ETX_OK;
  }
  const double largest = etx_dtype_max(dtype);
  const bool given = args[1].kind == ETX_IR_ARG_DOUBLE;
  uint32_t nan = 0;
  uint32_t number = 0;
  ETX_TRY(etx_build_unary(builder, ETX_OP_isnan_out, self, &nan));
  ETX_TRY(scalar_like(builder, self, given ? args[1].as.real : 0.0, &number));
  ETX_TRY(etx_build_where(builder, nan, number, self, &self));
  ETX_TRY(
      replace_infinity(builder, &args[2], (double)INFINITY, largest, &self));
  ETX_TRY(
      replace_infinity(builder, &args[3], -(double)INFINITY, -largest, &self));
  builder->results[0] = self;
  return ETX_OK;
}

// frac(self): x - trunc(x).
etx_status etx_lowering_frac(etx_builder* builder) {
  const uint32_t self = builder->args[0].as.value;
  uint32_t whole = 0;
  ETX_TRY(etx_build_unary(builder, ETX_OP_trunc_out, self, &whole));
  return etx_build_binary(builder, ETX_OP_sub_out, self, whole,
                          &builder->results[0]);
}

// round(self, decimals) of floats; decimals may be negative.
etx_status etx_lowering_round_decimals(etx_builder* builder) {
  uint32_t value = builder->args[0].as.value;
  const etx_dim decimals = builder->args[1].as.integer;
  const etx_dtype dtype = etx_builder_shape(builder, value)->dtype;
  if (etx_dtype_category_of(dtype) < ETX_CATEGORY_FLOATING || decimals > 300 ||
      decimals < -300) {
    return etx_diag_fail(builder->diag, ETX_UNSUPPORTED,
                         "'%t' of integers or to %i decimals is not supported",
                         builder->node->aten, decimals);
  }
  const double ten = pow(10.0, fabs((double)decimals));
  const etx_op_id up = decimals < 0 ? ETX_OP_div_out : ETX_OP_mul_out;
  const etx_op_id down = decimals < 0 ? ETX_OP_mul_out : ETX_OP_div_out;
  ETX_TRY(etx_build_binary_constant(builder, up, value, ten, &value));
  ETX_TRY(etx_build_unary(builder, ETX_OP_round_out, value, &value));
  return etx_build_binary_constant(builder, down, value, ten,
                                   &builder->results[0]);
}

// |self - other| <= atol + rtol |other|, where the distance is finite: an
// infinite one is never small.
static etx_status is_near(etx_builder* builder, const uint32_t pair[2],
                          double rtol, double atol, uint32_t* out) {
  uint32_t distance = 0;
  uint32_t tolerance = 0;
  uint32_t test = 0;
  ETX_TRY(
      etx_build_binary(builder, ETX_OP_sub_out, pair[0], pair[1], &distance));
  ETX_TRY(etx_build_unary(builder, ETX_OP_abs_out, distance, &distance));
  ETX_TRY(etx_build_unary(builder, ETX_OP_abs_out, pair[1], &tolerance));
  ETX_TRY(etx_build_binary_constant(builder, ETX_OP_mul_out, tolerance, rtol,
                                    &tolerance));
  ETX_TRY(etx_build_binary_constant(builder, ETX_OP_add_out, tolerance, atol,
                                    &tolerance));
  ETX_TRY(etx_build_binary(builder, ETX_OP_le_tensor_out, distance, tolerance,
                           &tolerance));
  ETX_TRY(etx_build_unary(builder, ETX_OP_isinf_out, distance, &test));
  ETX_TRY(etx_build_unary(builder, ETX_OP_logical_not_out, test, &test));
  return etx_build_binary(builder, ETX_OP_logical_and_out, tolerance, test,
                          out);
}

// isclose(self, other, rtol, atol, equal_nan): both are near, or equal, which
// covers infinities, or, with equal_nan, NaN.
etx_status etx_lowering_isclose(etx_builder* builder) {
  const etx_ir_arg* const args = builder->args;
  uint32_t pair[2];
  uint32_t near = 0;
  uint32_t test = 0;
  etx_dtype dtype;
  ETX_TRY(etx_builder_result_type(builder, args, 2, &dtype));
  if (etx_dtype_category_of(dtype) < ETX_CATEGORY_FLOATING) {
    return etx_diag_fail(builder->diag, ETX_UNSUPPORTED,
                         "'%t' of integers is not supported",
                         builder->node->aten);
  }
  for (size_t i = 0; i < 2; ++i) {
    ETX_TRY(etx_build_operand(builder, &args[i], dtype, &pair[i]));
  }
  ETX_TRY(is_near(builder, pair, args[2].as.real, args[3].as.real, &near));
  ETX_TRY(
      etx_build_binary(builder, ETX_OP_eq_tensor_out, pair[0], pair[1], &test));
  ETX_TRY(etx_build_binary(builder, ETX_OP_logical_or_out, near, test,
                           &builder->results[0]));
  if (!args[4].as.boolean) return ETX_OK;
  ETX_TRY(etx_build_unary(builder, ETX_OP_isnan_out, pair[0], &near));
  ETX_TRY(etx_build_unary(builder, ETX_OP_isnan_out, pair[1], &test));
  ETX_TRY(etx_build_binary(builder, ETX_OP_logical_and_out, near, test, &near));
  return etx_build_binary(builder, ETX_OP_logical_or_out, builder->results[0],
                          near, &builder->results[0]);
}

// True where the sign bit is set, also for -0, whose reciprocal is below 0.
static etx_status is_signed(etx_builder* builder, uint32_t self,
                            uint32_t* out) {
  uint32_t inverse = 0;
  uint32_t below = 0;
  ETX_TRY(etx_build_binary_number(builder, ETX_OP_lt_scalar_out, self, 0.0,
                                  &below));
  ETX_TRY(etx_build_unary(builder, ETX_OP_reciprocal_out, self, &inverse));
  ETX_TRY(etx_build_binary_number(builder, ETX_OP_lt_scalar_out, inverse, 0.0,
                                  &inverse));
  return etx_build_binary(builder, ETX_OP_logical_or_out, below, inverse, out);
}

// copysign(self, other): a NaN counts as positive.
etx_status etx_lowering_copysign(etx_builder* builder) {
  uint32_t pair[2];
  uint32_t size = 0;
  uint32_t negative = 0;
  uint32_t test = 0;
  etx_dtype dtype;
  ETX_TRY(etx_builder_result_type(builder, builder->args, 2, &dtype));
  if (etx_dtype_category_of(dtype) < ETX_CATEGORY_FLOATING) {
    dtype = ETX_DTYPE_FLOAT32;
  }
  for (size_t i = 0; i < 2; ++i) {
    ETX_TRY(etx_build_operand(builder, &builder->args[i], dtype, &pair[i]));
  }
  ETX_TRY(is_signed(builder, pair[1], &test));
  ETX_TRY(etx_build_unary(builder, ETX_OP_abs_out, pair[0], &size));
  ETX_TRY(etx_build_unary(builder, ETX_OP_neg_out, size, &negative));
  return etx_build_where(builder, test, negative, size, &builder->results[0]);
}

// signbit(self): a NaN counts as positive.
etx_status etx_lowering_signbit(etx_builder* builder) {
  const uint32_t self = builder->args[0].as.value;
  const etx_dtype dtype = etx_builder_shape(builder, self)->dtype;
  if (etx_dtype_category_of(dtype) >= ETX_CATEGORY_FLOATING) {
    return is_signed(builder, self, &builder->results[0]);
  }
  return etx_build_binary_number(builder, ETX_OP_lt_scalar_out, self, 0.0,
                                 &builder->results[0]);
}

// fmax and fmin: the other operand where one is NaN.
etx_status etx_lowering_ignoring_nan(etx_builder* builder) {
  uint32_t pair[2];
  uint32_t value = 0;
  etx_dtype dtype;
  ETX_TRY(etx_builder_result_type(builder, builder->args, 2, &dtype));
  for (size_t i = 0; i < 2; ++i) {
    ETX_TRY(etx_build_operand(builder, &builder->args[i], dtype, &pair[i]));
  }
  ETX_TRY(
      etx_build_binary(builder, builder->row->op, pair[0], pair[1], &value));
  for (size_t i = 0;
       i < 2 && etx_dtype_category_of(dtype) >= ETX_CATEGORY_FLOATING; ++i) {
    uint32_t nan = 0;
    ETX_TRY(etx_build_unary(builder, ETX_OP_isnan_out, pair[i], &nan));
    ETX_TRY(etx_build_where(builder, nan, pair[1 - i], value, &value));
  }
  builder->results[0] = value;
  return ETX_OK;
}

// ldexp(self, other) = self 2^other.
etx_status etx_lowering_ldexp(etx_builder* builder) {
  uint32_t power = 0;
  uint32_t self = 0;
  etx_dtype dtype;
  ETX_TRY(etx_builder_result_type(builder, builder->args, 2, &dtype));
  if (etx_dtype_category_of(dtype) < ETX_CATEGORY_FLOATING) {
    dtype = ETX_DTYPE_FLOAT32;
  }
  ETX_TRY(etx_build_operand(builder, &builder->args[0], dtype, &self));
  ETX_TRY(etx_build_operand(builder, &builder->args[1], dtype, &power));
  const etx_ir_arg args[] = {etx_ir_double(2.0), etx_ir_value_arg(power)};
  ETX_TRY(etx_build_op(builder, ETX_OP_pow_scalar_out, args, 2, &power));
  return etx_build_binary(builder, ETX_OP_mul_out, self, power,
                          &builder->results[0]);
}

static etx_status times(etx_builder* builder, double factor) {
  uint32_t self = 0;
  ETX_TRY(floating(builder, &self));
  return etx_build_binary_constant(builder, ETX_OP_mul_out, self, factor,
                                   &builder->results[0]);
}

etx_status etx_lowering_deg2rad(etx_builder* builder) {
  return times(builder, 0.017453292519943295);
}

etx_status etx_lowering_rad2deg(etx_builder* builder) {
  return times(builder, 57.295779513082323);
}

// polygamma(n, self): the n-th derivative of digamma.
etx_status etx_lowering_polygamma(etx_builder* builder) {
  const etx_dim order = builder->args[0].as.integer;
  const etx_ir_arg number = builder->args[1];
  uint32_t self = 0;
  if (order < 0 || order > 100) {
    return etx_diag_fail(builder->diag, ETX_UNSUPPORTED,
                         "'%t' of order %i is not supported, expected 0 to 100",
                         builder->node->aten, order);
  }
  builder->args[0] = number;
  ETX_TRY(floating(builder, &self));
  if (order == 0) {
    return etx_build_unary(builder, ETX_OP_digamma_out, self,
                           &builder->results[0]);
  }
  // The zeta function has no halves.
  const etx_dtype dtype = etx_builder_shape(builder, self)->dtype;
  if (dtype != ETX_DTYPE_FLOAT64) {
    ETX_TRY(etx_build_cast(builder, self, ETX_DTYPE_FLOAT32, &self));
  }
  double factor = order % 2 == 0 ? -1.0 : 1.0;
  for (etx_dim i = 2; i <= order; ++i) factor *= (double)i;
  uint32_t exponent = 0;
  ETX_TRY(scalar_like(builder, self, (double)order + 1.0, &exponent));
  ETX_TRY(etx_build_binary(builder, ETX_OP_zeta_out, exponent, self, &self));
  ETX_TRY(
      etx_build_binary_constant(builder, ETX_OP_mul_out, self, factor, &self));
  return etx_build_cast(builder, self, dtype, &builder->results[0]);
}
