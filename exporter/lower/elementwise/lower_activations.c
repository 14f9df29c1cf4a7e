// Activations that ExecuTorch's portable library has no kernel for, as
// arithmetic. All are functions of one floating-point tensor.

#include "exporter/lower/builder/lowering_functions.h"

static etx_status floating_self(etx_builder* builder, uint32_t* out_self) {
  uint32_t self = 0;
  ETX_TRY(etx_build_tensor(builder, &builder->args[0], &self));
  const etx_dtype dtype = etx_builder_shape(builder, self)->dtype;
  if (etx_dtype_category_of(dtype) != ETX_CATEGORY_FLOATING) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "'%t' expects a floating-point tensor, found %s",
                         builder->node->aten, etx_dtype_name(dtype));
  }
  *out_self = self;
  return ETX_OK;
}

static etx_status clamp(etx_builder* builder, uint32_t self, double low,
                        double high, uint32_t* out_value) {
  const etx_ir_arg args[] = {etx_ir_value_arg(self), etx_ir_double(low),
                             etx_ir_double(high)};
  return etx_build_op(builder, ETX_OP_clamp_out, args, 3, out_value);
}

etx_status etx_lowering_silu(etx_builder* builder) {
  uint32_t self = 0;
  uint32_t gate = 0;
  ETX_TRY(floating_self(builder, &self));
  ETX_TRY(etx_build_unary(builder, ETX_OP_sigmoid_out, self, &gate));
  return etx_build_binary(builder, ETX_OP_mul_out, self, gate,
                          &builder->results[0]);
}

etx_status etx_lowering_relu6(etx_builder* builder) {
  uint32_t self = 0;
  ETX_TRY(floating_self(builder, &self));
  return clamp(builder, self, 0.0, 6.0, &builder->results[0]);
}

// relu6(x + 3) / 6
static etx_status hard_gate(etx_builder* builder, uint32_t self,
                            uint32_t* out_value) {
  uint32_t value = 0;
  ETX_TRY(
      etx_build_binary_constant(builder, ETX_OP_add_out, self, 3.0, &value));
  ETX_TRY(clamp(builder, value, 0.0, 6.0, &value));
  return etx_build_binary_constant(builder, ETX_OP_div_out, value, 6.0,
                                   out_value);
}

etx_status etx_lowering_hardsigmoid(etx_builder* builder) {
  uint32_t self = 0;
  ETX_TRY(floating_self(builder, &self));
  return hard_gate(builder, self, &builder->results[0]);
}

etx_status etx_lowering_hardswish(etx_builder* builder) {
  uint32_t self = 0;
  uint32_t gate = 0;
  ETX_TRY(floating_self(builder, &self));
  ETX_TRY(hard_gate(builder, self, &gate));
  return etx_build_binary(builder, ETX_OP_mul_out, self, gate,
                          &builder->results[0]);
}

// log(1 + exp(x)) as max(x, 0) + log(1 + exp(-|x|)), which never overflows.
static etx_status softplus(etx_builder* builder, uint32_t self,
                           uint32_t* out_value) {
  uint32_t value = 0;
  uint32_t positive = 0;
  ETX_TRY(etx_build_unary(builder, ETX_OP_abs_out, self, &value));
  ETX_TRY(etx_build_unary(builder, ETX_OP_neg_out, value, &value));
  ETX_TRY(etx_build_unary(builder, ETX_OP_exp_out, value, &value));
  ETX_TRY(
      etx_build_binary_constant(builder, ETX_OP_add_out, value, 1.0, &value));
  ETX_TRY(etx_build_unary(builder, ETX_OP_log_out, value, &value));
  ETX_TRY(etx_build_unary(builder, ETX_OP_relu_out, self, &positive));
  return etx_build_binary(builder, ETX_OP_add_out, positive, value, out_value);
}

static double number_of(const etx_ir_arg* arg) {
  return arg->kind == ETX_IR_ARG_INT ? (double)arg->as.integer : arg->as.real;
}

// softplus(beta * x) / beta, and x itself beyond the threshold.
etx_status etx_lowering_softplus(etx_builder* builder) {
  const double beta = number_of(&builder->args[1]);
  const double threshold = number_of(&builder->args[2]);
  uint32_t self = 0;
  uint32_t scaled = 0;
  uint32_t value = 0;
  uint32_t large = 0;
  ETX_TRY(floating_self(builder, &self));
  scaled = self;
  if (beta != 1.0) {
    ETX_TRY(etx_build_binary_constant(builder, ETX_OP_mul_out, self, beta,
                                      &scaled));
  }
  ETX_TRY(softplus(builder, scaled, &value));
  if (beta != 1.0) {
    ETX_TRY(etx_build_binary_constant(builder, ETX_OP_div_out, value, beta,
                                      &value));
  }
  ETX_TRY(etx_build_binary_number(builder, ETX_OP_gt_scalar_out, scaled,
                                  threshold, &large));
  return etx_build_where(builder, large, self, value, &builder->results[0]);
}

etx_status etx_lowering_mish(etx_builder* builder) {
  uint32_t self = 0;
  uint32_t value = 0;
  ETX_TRY(floating_self(builder, &self));
  ETX_TRY(softplus(builder, self, &value));
  ETX_TRY(etx_build_unary(builder, ETX_OP_tanh_out, value, &value));
  return etx_build_binary(builder, ETX_OP_mul_out, self, value,
                          &builder->results[0]);
}

// scale * (x > 0 ? x : alpha * (exp(x * input_scale) - 1))
static etx_status elu(etx_builder* builder, double alpha, double scale,
                      double input_scale) {
  const etx_ir_arg args[] = {builder->args[0], etx_ir_double(alpha),
                             etx_ir_double(scale), etx_ir_double(input_scale)};
  return etx_build_op(builder, ETX_OP_elu_out, args, 4, &builder->results[0]);
}

etx_status etx_lowering_celu(etx_builder* builder) {
  const double alpha = number_of(&builder->args[1]);
  return elu(builder, alpha, 1.0, 1.0 / alpha);
}

etx_status etx_lowering_selu(etx_builder* builder) {
  return elu(builder, 1.6732632423543772, 1.0507009873554805, 1.0);
}

// log(sigmoid(x)) = -softplus(-x)
etx_status etx_lowering_log_sigmoid(etx_builder* builder) {
  uint32_t self = 0;
  uint32_t value = 0;
  ETX_TRY(floating_self(builder, &self));
  ETX_TRY(etx_build_unary(builder, ETX_OP_neg_out, self, &value));
  ETX_TRY(softplus(builder, value, &value));
  return etx_build_unary(builder, ETX_OP_neg_out, value, &builder->results[0]);
}

// prelu: x where x > 0, else weight * x; the weight has one element for each
// index of dim 1, or one in all.
etx_status etx_lowering_prelu(etx_builder* builder) {
  uint32_t self = 0;
  ETX_TRY(floating_self(builder, &self));
  uint32_t weight = builder->args[1].as.value;
  const etx_shape shape = *etx_builder_shape(builder, self);
  etx_dim dims[ETX_MAX_RANK];
  for (size_t i = 0; i < shape.rank; ++i) dims[i] = 1;
  if (shape.rank > 1) dims[1] = etx_builder_shape(builder, weight)->dims[0];
  ETX_TRY(etx_build_view(builder, weight, dims, shape.rank, &weight));
  uint32_t low = 0;
  uint32_t positive = 0;
  ETX_TRY(etx_build_binary(builder, ETX_OP_mul_out, weight, self, &low));
  ETX_TRY(etx_build_binary_number(builder, ETX_OP_gt_scalar_out, self, 0.0,
                                  &positive));
  return etx_build_where(builder, positive, self, low, &builder->results[0]);
}

// ------------------------------------------------ shrinking

// hardshrink(self, lambd): 0 where |x| <= lambd, else x.
etx_status etx_lowering_hardshrink(etx_builder* builder) {
  const uint32_t self = builder->args[0].as.value;
  const etx_ir_arg zero = etx_ir_double(0.0);
  uint32_t test = 0;
  uint32_t none = 0;
  ETX_TRY(etx_build_unary(builder, ETX_OP_abs_out, self, &test));
  const etx_ir_arg args[] = {etx_ir_value_arg(test), builder->args[1]};
  ETX_TRY(etx_build_op(builder, ETX_OP_le_scalar_out, args, 2, &test));
  ETX_TRY(etx_build_scalar(builder, &zero,
                           etx_builder_shape(builder, self)->dtype, &none));
  return etx_build_where(builder, test, none, self, &builder->results[0]);
}

// softshrink(self, lambd): x - clamp(x, -lambd, lambd).
etx_status etx_lowering_softshrink(etx_builder* builder) {
  const uint32_t self = builder->args[0].as.value;
  const etx_ir_arg args[] = {
      etx_ir_value_arg(self),
      etx_ir_double(builder->args[1].kind == ETX_IR_ARG_DOUBLE
                        ? -builder->args[1].as.real
                        : -(double)builder->args[1].as.integer),
      builder->args[1]};
  uint32_t within = 0;
  ETX_TRY(etx_build_op(builder, ETX_OP_clamp_out, args, 3, &within));
  return etx_build_binary(builder, ETX_OP_sub_out, self, within,
                          &builder->results[0]);
}
