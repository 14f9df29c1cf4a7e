// Elementwise operators. Operands are cast to one dtype first, because
// ExecuTorch's portable kernels promote 0-d tensors and numbers differently
// from PyTorch.

#include <math.h>

#include "exporter/lower/builder/lowering_functions.h"

// ------------------------------------------------ one tensor

// Operators with the same arguments in ATen and in format/ops.
etx_status etx_lowering_direct(etx_builder* builder) {
  if (builder->args[0].kind != ETX_IR_ARG_LIST) {
    uint32_t self = 0;
    ETX_TRY(etx_build_tensor(builder, &builder->args[0], &self));
    builder->args[0] = etx_ir_value_arg(self);
  }
  return etx_build_op_outputs(builder, builder->row->op, builder->args,
                              builder->arg_count, NULL, builder->results);
}

// Operators with floating-point results for integers: integers are cast first.
etx_status etx_lowering_float_unary(etx_builder* builder) {
  uint32_t self = 0;
  ETX_TRY(etx_build_tensor(builder, &builder->args[0], &self));
  const etx_dtype dtype = etx_builder_shape(builder, self)->dtype;
  if (etx_dtype_category_of(dtype) < ETX_CATEGORY_FLOATING) {
    ETX_TRY(etx_build_cast(builder, self, ETX_DTYPE_FLOAT32, &self));
  }
  builder->args[0] = etx_ir_value_arg(self);
  return etx_lowering_direct(builder);
}

// Rounding: integers stay as they are.
etx_status etx_lowering_round(etx_builder* builder) {
  const etx_dtype dtype =
      etx_builder_shape(builder, builder->args[0].as.value)->dtype;
  if (etx_dtype_category_of(dtype) < ETX_CATEGORY_FLOATING) {
    builder->results[0] = builder->args[0].as.value;
    return ETX_OK;
  }
  return etx_build_unary(builder, builder->row->op, builder->args[0].as.value,
                         &builder->results[0]);
}

// The value itself: clone, alias, detach, contiguous.
etx_status etx_lowering_identity(etx_builder* builder) {
  return etx_build_tensor(builder, &builder->args[0], &builder->results[0]);
}

// Assertions about types and sizes, which the exporter has checked.
etx_status etx_lowering_no_op(etx_builder* builder) {
  (void)builder;
  return ETX_OK;
}

// The function for target executorch of operators that only etx's runtime has.
etx_status etx_lowering_etx_only(etx_builder* builder) {
  return etx_builder_refuse_target(builder);
}

// dropout(input, p, train) of a model in eval mode.
etx_status etx_lowering_dropout(etx_builder* builder) {
  const bool trains =
      builder->args[2].kind != ETX_IR_ARG_BOOL || builder->args[2].as.boolean;
  if (trains) {
    return etx_diag_fail(
        builder->diag, ETX_UNSUPPORTED,
        "'%t' in training mode is not supported: export the model in eval mode",
        builder->node->aten);
  }
  return etx_lowering_identity(builder);
}

// ------------------------------------------------ two operands

static size_t rank_of(const etx_builder* builder, const etx_ir_arg* arg) {
  return arg->kind == ETX_IR_ARG_VALUE
             ? etx_builder_shape(builder, arg->as.value)->rank
             : 0;
}

// True for products and quotients of a tensor of halves and a single number.
// PyTorch computes them in float32 and does not round the number to the half
// type first, as it does in sums.
static bool keeps_number(const etx_builder* builder, etx_op_id op,
                         etx_dtype dtype) {
  const bool is_scaling =
      op == ETX_OP_mul_out || op == ETX_OP_div_out || op == ETX_OP_div_mode_out;
  return is_scaling && etx_dtype_is_half(dtype) &&
         builder->args[0].kind == ETX_IR_ARG_VALUE &&
         rank_of(builder, &builder->args[1]) == 0;
}

// Calls `op` with `count` arguments, of which the first two are cast for a
// result of `dtype`.
static etx_status build_promoted(etx_builder* builder, etx_op_id op,
                                 etx_dtype dtype, size_t count) {
  const bool is_wide = keeps_number(builder, op, dtype);
  const bool is_scalar = rank_of(builder, &builder->args[0]) == 0;
  const etx_dtype dtypes[2] = {is_wide && is_scalar ? ETX_DTYPE_FLOAT32 : dtype,
                               is_wide ? ETX_DTYPE_FLOAT32 : dtype};
  for (size_t i = 0; i < 2; ++i) {
    uint32_t value = 0;
    ETX_TRY(etx_build_operand(builder, &builder->args[i], dtypes[i], &value));
    builder->args[i] = etx_ir_value_arg(value);
  }
  uint32_t* const result = &builder->results[0];
  ETX_TRY(etx_build_op(builder, op, builder->args, count, result));
  // The type of two scalars is that of the wider one.
  return is_wide ? etx_build_cast(builder, *result, dtype, result) : ETX_OK;
}

// add, sub, mul, minimum, comparisons, bitwise and logical operators.
etx_status etx_lowering_promoted(etx_builder* builder) {
  etx_dtype dtype;
  ETX_TRY(etx_builder_result_type(builder, builder->args, 2, &dtype));
  return build_promoted(builder, builder->row->op, dtype, builder->arg_count);
}

static etx_status emit_floating(etx_builder* builder, etx_op_id op) {
  etx_dtype dtype;
  ETX_TRY(etx_builder_result_type(builder, builder->args, 2, &dtype));
  if (etx_dtype_category_of(dtype) < ETX_CATEGORY_FLOATING) {
    dtype = ETX_DTYPE_FLOAT32;
  }
  return build_promoted(builder, op, dtype, 2);
}

// Integers are cast to float32.
etx_status etx_lowering_float_promoted(etx_builder* builder) {
  return emit_floating(builder, builder->row->op);
}

// True division.
etx_status etx_lowering_divide(etx_builder* builder) {
  return emit_floating(builder, ETX_OP_div_out);
}

etx_status etx_lowering_divide_mode(etx_builder* builder) {
  if (builder->args[2].kind == ETX_IR_ARG_NONE)
    return etx_lowering_divide(builder);
  etx_dtype dtype;
  ETX_TRY(etx_builder_result_type(builder, builder->args, 2, &dtype));
  return build_promoted(builder, ETX_OP_div_mode_out, dtype, 3);
}

etx_status etx_lowering_floor_divide(etx_builder* builder) {
  builder->args[2] = (etx_ir_arg){ETX_IR_ARG_STRING, {0}};
  builder->args[2].as.string = etx_text_of("floor");
  return etx_lowering_divide_mode(builder);
}

// other - alpha * self.
etx_status etx_lowering_reverse_subtract(etx_builder* builder) {
  const etx_ir_arg self = builder->args[0];
  builder->args[0] = builder->args[1];
  builder->args[1] = self;
  etx_dtype dtype;
  ETX_TRY(etx_builder_result_type(builder, builder->args, 2, &dtype));
  return build_promoted(builder, ETX_OP_sub_out, dtype, 3);
}

// The number that float16 or bfloat16 holds in place of `number`.
static double rounded_to_half(double number, etx_dtype dtype) {
  const int digits = dtype == ETX_DTYPE_FLOAT16 ? 11 : 8;
  const int least_exponent = dtype == ETX_DTYPE_FLOAT16 ? -13 : -125;
  const double single = (double)(float)number;
  int exponent = 0;
  if (single == 0 || !isfinite(single)) return single;
  (void)frexp(single, &exponent);
  if (exponent < least_exponent) exponent = least_exponent;
  return ldexp(rint(ldexp(single, digits - exponent)), exponent - digits);
}

// A tensor and a number that stays a number: comparisons, remainder. The tensor
// is cast to the common dtype. PyTorch and etx's runtime round the number to
// it; ExecuTorch's runtime does not.
etx_status etx_lowering_tensor_and_number(etx_builder* builder) {
  etx_dtype dtype;
  ETX_TRY(etx_builder_result_type(builder, builder->args, 2, &dtype));
  uint32_t self = 0;
  ETX_TRY(etx_build_operand(builder, &builder->args[0], dtype, &self));
  builder->args[0] = etx_ir_value_arg(self);
  etx_ir_arg* const number = &builder->args[1];
  if (builder->target == ETX_TARGET_EXECUTORCH && etx_dtype_is_half(dtype) &&
      number->kind == ETX_IR_ARG_DOUBLE) {
    number->as.real = rounded_to_half(number->as.real, dtype);
  }
  return etx_build_op(builder, builder->row->op, builder->args,
                      builder->arg_count, &builder->results[0]);
}

static bool number_is(const etx_ir_arg* number, double wanted) {
  if (number->kind == ETX_IR_ARG_DOUBLE) return number->as.real == wanted;
  return number->kind == ETX_IR_ARG_INT &&
         etx_dim_is_number(number->as.integer) &&
         (double)number->as.integer == wanted;
}

// Squares and square roots are exact and cheap without pow.
etx_status etx_lowering_power(etx_builder* builder) {
  etx_dtype dtype;
  ETX_TRY(etx_builder_result_type(builder, builder->args, 2, &dtype));
  uint32_t self = 0;
  ETX_TRY(etx_build_operand(builder, &builder->args[0], dtype, &self));
  builder->args[0] = etx_ir_value_arg(self);
  if (number_is(&builder->args[1], 1.0)) {
    builder->results[0] = self;
    return ETX_OK;
  }
  if (number_is(&builder->args[1], 2.0)) {
    return etx_build_binary(builder, ETX_OP_mul_out, self, self,
                            &builder->results[0]);
  }
  if (number_is(&builder->args[1], 0.5) &&
      etx_dtype_category_of(dtype) == ETX_CATEGORY_FLOATING) {
    return etx_build_unary(builder, ETX_OP_sqrt_out, self,
                           &builder->results[0]);
  }
  return etx_build_op(builder, ETX_OP_pow_tensor_scalar_out, builder->args, 2,
                      &builder->results[0]);
}

// A number to the power of a tensor.
etx_status etx_lowering_power_of_scalar(etx_builder* builder) {
  etx_dtype dtype;
  ETX_TRY(etx_builder_result_type(builder, builder->args, 2, &dtype));
  uint32_t exponent = 0;
  ETX_TRY(etx_build_operand(builder, &builder->args[1], dtype, &exponent));
  builder->args[1] = etx_ir_value_arg(exponent);
  return etx_build_op(builder, ETX_OP_pow_scalar_out, builder->args, 2,
                      &builder->results[0]);
}

// clamp, clamp_min, clamp_max: bounds that are numbers.
etx_status etx_lowering_clamp(etx_builder* builder) {
  const etx_ir_arg operands[] = {builder->args[0], builder->args[1],
                                 builder->args[2]};
  etx_dtype dtype;
  ETX_TRY(
      etx_builder_result_type(builder, operands, builder->arg_count, &dtype));
  uint32_t self = 0;
  ETX_TRY(etx_build_operand(builder, &builder->args[0], dtype, &self));
  builder->args[0] = etx_ir_value_arg(self);
  return etx_build_op(builder, ETX_OP_clamp_out, builder->args, 3,
                      &builder->results[0]);
}

etx_status etx_lowering_clamp_min(etx_builder* builder) {
  builder->args[2] = etx_ir_none();
  builder->arg_count = 3;
  return etx_lowering_clamp(builder);
}

etx_status etx_lowering_clamp_max(etx_builder* builder) {
  builder->args[2] = builder->args[1];
  builder->args[1] = etx_ir_none();
  builder->arg_count = 3;
  return etx_lowering_clamp(builder);
}

// Bounds that are tensors: maximum, then minimum.
etx_status etx_lowering_clamp_tensor(etx_builder* builder) {
  etx_dtype dtype;
  ETX_TRY(etx_builder_result_type(builder, builder->args, 3, &dtype));
  const etx_op_id ops[] = {ETX_OP_maximum_out, ETX_OP_minimum_out};
  uint32_t value = 0;
  ETX_TRY(etx_build_operand(builder, &builder->args[0], dtype, &value));
  for (size_t i = 0; i < 2; ++i) {
    if (builder->args[1 + i].kind == ETX_IR_ARG_NONE) continue;
    uint32_t bound = 0;
    ETX_TRY(etx_build_operand(builder, &builder->args[1 + i], dtype, &bound));
    ETX_TRY(etx_build_binary(builder, ops[i], value, bound, &value));
  }
  builder->results[0] = value;
  return ETX_OK;
}

// ------------------------------------------------ three operands

etx_status etx_lowering_where(etx_builder* builder) {
  uint32_t condition = 0;
  ETX_TRY(etx_build_tensor(builder, &builder->args[0], &condition));
  ETX_TRY(etx_build_cast(builder, condition, ETX_DTYPE_BOOL, &condition));
  etx_dtype dtype;
  ETX_TRY(etx_builder_result_type(builder, builder->args + 1, 2, &dtype));
  uint32_t self = 0;
  uint32_t other = 0;
  ETX_TRY(etx_build_operand(builder, &builder->args[1], dtype, &self));
  ETX_TRY(etx_build_operand(builder, &builder->args[2], dtype, &other));
  return etx_build_where(builder, condition, self, other, &builder->results[0]);
}

// masked_fill(self, mask, value): the result has the dtype of self.
etx_status etx_lowering_masked_fill(etx_builder* builder) {
  const uint32_t self = builder->args[0].as.value;
  const etx_dtype dtype = etx_builder_shape(builder, self)->dtype;
  uint32_t mask = 0;
  uint32_t value = 0;
  ETX_TRY(etx_build_tensor(builder, &builder->args[1], &mask));
  ETX_TRY(etx_build_cast(builder, mask, ETX_DTYPE_BOOL, &mask));
  ETX_TRY(etx_build_operand(builder, &builder->args[2], dtype, &value));
  return etx_build_where(builder, mask, value, self, &builder->results[0]);
}

// Operators of three operands, which PyTorch computes in float32 without
// rounding the steps if the type is float16 or bfloat16. `op` of etx's runtime
// does so; for ExecuTorch the operands are cast.
static etx_status cast_three(etx_builder* builder, etx_dtype dtype,
                             uint32_t operands[3]) {
  for (size_t i = 0; i < 3; ++i) {
    ETX_TRY(etx_build_operand(builder, &builder->args[i], dtype, &operands[i]));
  }
  return ETX_OK;
}

// Makes the result of a value that was computed for `dtype`.
static etx_status narrow_if_half(etx_builder* builder, uint32_t value,
                                 etx_dtype dtype) {
  if (etx_dtype_is_half(dtype)) {
    return etx_build_cast(builder, value, dtype, &builder->results[0]);
  }
  builder->results[0] = value;
  return ETX_OK;
}

// Tensor operands are cast to `dtype`; numbers stay numbers.
static etx_status call_halves(etx_builder* builder, etx_op_id op,
                              etx_dtype dtype) {
  for (size_t i = 0; i < 3; ++i) {
    etx_ir_arg* const arg = &builder->args[i];
    if (arg->kind != ETX_IR_ARG_VALUE) continue;
    ETX_TRY(etx_build_cast(builder, arg->as.value, dtype, &arg->as.value));
  }
  return etx_build_op(builder, op, builder->args, builder->arg_count,
                      &builder->results[0]);
}

// self + value * a * b, and self + value * a / b.
static etx_status add_scaled_product(etx_builder* builder, etx_op_id op,
                                     etx_op_id op_for_halves) {
  etx_dtype dtype;
  ETX_TRY(etx_builder_result_type(builder, builder->args, 3, &dtype));
  if (etx_dtype_is_half(dtype) && builder->target == ETX_TARGET_ETX) {
    return call_halves(builder, op_for_halves, dtype);
  }
  uint32_t operands[3], product = 0, sum = 0;
  ETX_TRY(cast_three(
      builder, etx_dtype_is_half(dtype) ? ETX_DTYPE_FLOAT32 : dtype, operands));
  ETX_TRY(etx_build_binary(builder, op, operands[1], operands[2], &product));
  const etx_ir_arg args[] = {etx_ir_value_arg(operands[0]),
                             etx_ir_value_arg(product), builder->args[3]};
  ETX_TRY(etx_build_op(builder, ETX_OP_add_out, args, 3, &sum));
  return narrow_if_half(builder, sum, dtype);
}

etx_status etx_lowering_addcmul(etx_builder* builder) {
  return add_scaled_product(builder, ETX_OP_mul_out, ETX_OP_addcmul_out);
}

etx_status etx_lowering_addcdiv(etx_builder* builder) {
  return add_scaled_product(builder, ETX_OP_div_out, ETX_OP_addcdiv_out);
}

// self + weight * (end - self).
etx_status etx_lowering_lerp(etx_builder* builder) {
  etx_dtype dtype;
  ETX_TRY(etx_builder_result_type(builder, builder->args, 3, &dtype));
  if (etx_dtype_is_half(dtype) && builder->target == ETX_TARGET_ETX) {
    const bool is_number = builder->args[2].kind != ETX_IR_ARG_VALUE;
    return call_halves(
        builder, is_number ? ETX_OP_lerp_scalar_out : ETX_OP_lerp_tensor_out,
        dtype);
  }
  uint32_t operands[3], value = 0;
  ETX_TRY(cast_three(
      builder, etx_dtype_is_half(dtype) ? ETX_DTYPE_FLOAT32 : dtype, operands));
  ETX_TRY(etx_build_binary(builder, ETX_OP_sub_out, operands[1], operands[0],
                           &value));
  ETX_TRY(
      etx_build_binary(builder, ETX_OP_mul_out, operands[2], value, &value));
  ETX_TRY(
      etx_build_binary(builder, ETX_OP_add_out, operands[0], value, &value));
  return narrow_if_half(builder, value, dtype);
}

// ------------------------------------------------ casts

// _to_copy and to: `dtype` is argument 1, or 2 behind a device; the other
// arguments have no effect here.
etx_status etx_lowering_cast(etx_builder* builder) {
  uint32_t self = 0;
  ETX_TRY(etx_build_tensor(builder, &builder->args[0], &self));
  for (size_t i = 1; i <= 2; ++i) {
    const etx_ir_arg* const dtype = &builder->args[i];
    if (dtype->kind != ETX_IR_ARG_DTYPE) continue;
    return etx_build_cast(builder, self, dtype->as.dtype, &builder->results[0]);
  }
  builder->results[0] = self;
  return ETX_OK;
}

// type_as, to.other: the type of the second tensor.
etx_status etx_lowering_cast_as(etx_builder* builder) {
  uint32_t other = 0;
  ETX_TRY(etx_build_tensor(builder, &builder->args[1], &other));
  return etx_build_operand(builder, &builder->args[0],
                           etx_builder_shape(builder, other)->dtype,
                           &builder->results[0]);
}

// copy(self, src): src with the dtype and sizes of self.
etx_status etx_lowering_copy(etx_builder* builder) {
  const etx_shape shape =
      *etx_builder_shape(builder, builder->args[0].as.value);
  uint32_t value = 0;
  ETX_TRY(etx_build_operand(builder, &builder->args[1], shape.dtype, &value));
  return etx_build_expand(builder, value, shape.dims, shape.rank,
                          &builder->results[0]);
}
