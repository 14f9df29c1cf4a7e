// Normalisations and softmax.

#include <math.h>

#include "exporter/lower_internal.h"

etx_status etx_lower_softmax(etx_lower* lower, uint32_t self, etx_dim dim,
                             uint32_t* out_value) {
  const etx_ir_arg args[] = {etx_ir_value_arg(self), etx_ir_int(dim),
                             etx_ir_bool(false)};
  return etx_lower_emit(lower, ETX_OP_softmax_out, args, 3, out_value);
}

// softmax.int, log_softmax.int: (self, dim, dtype)
etx_status etx_lowering_softmax(etx_lower* lower) {
  uint32_t self = lower->args[0].as.value;
  if (lower->args[2].kind == ETX_IR_ARG_DTYPE) {
    ETX_TRY(etx_lower_cast(lower, self, lower->args[2].as.dtype, &self));
  }
  const etx_ir_arg args[] = {etx_ir_value_arg(self), lower->args[1],
                             etx_ir_bool(false)};
  return etx_lower_emit(lower, lower->row->op, args, 3, &lower->results[0]);
}

// _softmax, _log_softmax: half_to_float asks for a float32 result.
etx_status etx_lowering_core_softmax(etx_lower* lower) {
  uint32_t self = lower->args[0].as.value;
  if (lower->args[2].as.boolean) {
    ETX_TRY(etx_lower_cast(lower, self, ETX_DTYPE_FLOAT32, &self));
  }
  const etx_ir_arg args[] = {etx_ir_value_arg(self), lower->args[1],
                             etx_ir_bool(false)};
  return etx_lower_emit(lower, lower->row->op, args, 3, &lower->results[0]);
}

// (input, normalized_shape, weight, bias, eps, ..), one result or three.
etx_status etx_lowering_layer_norm(etx_lower* lower) {
  uint32_t values[ETX_INFER_MAX_OUTPUTS];
  ETX_TRY(etx_lower_emit_all(lower, ETX_OP_native_layer_norm_out, lower->args,
                             5, NULL, values));
  for (size_t i = 0; i < lower->node->output_count && i < 3; ++i) {
    lower->results[i] = values[i];
  }
  return ETX_OK;
}

// x * weight + bias, either of which may be None.
static etx_status scale_and_shift(etx_lower* lower, uint32_t value,
                                  const etx_ir_arg* weight,
                                  const etx_ir_arg* bias, const etx_dim* dims,
                                  size_t rank, uint32_t* out_value) {
  const etx_ir_arg* const operands[] = {weight, bias};
  const etx_op_id ops[] = {ETX_OP_mul_out, ETX_OP_add_out};
  for (size_t i = 0; i < 2; ++i) {
    if (operands[i]->kind == ETX_IR_ARG_NONE) continue;
    uint32_t operand = 0;
    ETX_TRY(etx_lower_view(lower, operands[i]->as.value, dims, rank, &operand));
    ETX_TRY(etx_lower_binary(lower, ops[i], value, operand, &value));
  }
  *out_value = value;
  return ETX_OK;
}

// Groups are normalised like layers: [N, C, ..] as [N, G, C/G * ..].
// (input, num_groups, weight, bias, eps, ..)
etx_status etx_lowering_group_norm(etx_lower* lower) {
  const etx_shape shape = *etx_lower_shape(lower, lower->args[0].as.value);
  const etx_dim groups = lower->args[1].as.integer;
  if (shape.rank < 2 || !etx_dim_is_number(groups) || groups <= 0) {
    return etx_diag_fail(lower->diag, ETX_BAD_ARGUMENT,
                         "'%t' wants rank 2 or more and a fixed count of "
                         "groups",
                         lower->node->aten);
  }
  etx_dim dims[3] = {shape.dims[0], groups, 0};
  ETX_TRY(etx_lower_product(lower, shape.dims, 1, shape.rank, &dims[2]));
  ETX_TRY(etx_symbols_apply(&lower->method->symbols, ETX_SYMBOL_FLOOR_DIVIDE,
                            dims[2], groups, &dims[2]));
  uint32_t value = 0;
  uint32_t values[ETX_INFER_MAX_OUTPUTS];
  ETX_TRY(etx_lower_view(lower, lower->args[0].as.value, dims, 3, &value));
  etx_ir_arg args[] = {etx_ir_value_arg(value), etx_ir_none(), etx_ir_none(),
                       etx_ir_none(), lower->args[4]};
  ETX_TRY(etx_lower_ints(lower, &dims[2], 1, &args[1]));
  ETX_TRY(etx_lower_emit_all(lower, ETX_OP_native_layer_norm_out, args, 5, NULL,
                             values));
  ETX_TRY(etx_lower_view(lower, values[0], shape.dims, shape.rank, &value));
  etx_dim channel[ETX_MAX_RANK];
  channel[0] = shape.dims[1];
  for (size_t i = 1; i < ETX_MAX_RANK; ++i) channel[i] = 1;
  return scale_and_shift(lower, value, &lower->args[2], &lower->args[3],
                         channel, shape.rank - 1u, &lower->results[0]);
}

// Each channel of each example by itself: group norm with one channel a group.
// (input, weight, bias, running_mean, running_var, use_input_stats, momentum,
// eps, ..)
etx_status etx_lowering_instance_norm(etx_lower* lower) {
  const etx_shape shape = *etx_lower_shape(lower, lower->args[0].as.value);
  if (!lower->args[5].as.boolean || shape.rank < 3) {
    return etx_diag_fail(lower->diag, ETX_UNSUPPORTED,
                         "'%t' with running statistics", lower->node->aten);
  }
  const etx_ir_arg args[] = {lower->args[0], etx_ir_int(shape.dims[1]),
                             lower->args[1], lower->args[2], lower->args[7]};
  memcpy(lower->args, args, sizeof args);
  return etx_lowering_group_norm(lower);
}

// Batch norm by the input's own statistics, which for one example is what
// instance norm decomposes to: (input, weight, bias, training, momentum, eps)
etx_status etx_lowering_batch_norm_no_stats(etx_lower* lower) {
  const etx_shape shape = *etx_lower_shape(lower, lower->args[0].as.value);
  if (shape.rank < 3 || shape.dims[0] != 1) {
    return etx_diag_fail(lower->diag, ETX_UNSUPPORTED,
                         "'%t' over several examples: export the model in eval "
                         "mode",
                         lower->node->aten);
  }
  const etx_ir_arg args[] = {lower->args[0], etx_ir_int(shape.dims[1]),
                             lower->args[1], lower->args[2], lower->args[5]};
  memcpy(lower->args, args, sizeof args);
  return etx_lowering_group_norm(lower);
}

// native_group_norm(input, weight, bias, N, C, HxW, group, eps)
etx_status etx_lowering_native_group_norm(etx_lower* lower) {
  const etx_ir_arg args[] = {lower->args[0], lower->args[6], lower->args[1],
                             lower->args[2], lower->args[7]};
  memcpy(lower->args, args, sizeof args);
  return etx_lowering_group_norm(lower);
}

// A statistic of batch norm along dim 1.
static etx_status along_channels(etx_lower* lower, uint32_t value, size_t rank,
                                 uint32_t* out_value) {
  etx_dim dims[ETX_MAX_RANK];
  dims[0] = etx_lower_shape(lower, value)->dims[0];
  for (size_t i = 1; i < ETX_MAX_RANK; ++i) dims[i] = 1;
  return etx_lower_view(lower, value, dims, rank - 1, out_value);
}

// Batch norm with fixed statistics is one multiplication and one addition,
// whose operands fold to constants:
//   scale = weight / sqrt(var + eps),  shift = bias - mean * scale
static etx_status batch_norm(etx_lower* lower, const etx_ir_arg* weight,
                             const etx_ir_arg* bias, const etx_ir_arg* mean,
                             const etx_ir_arg* variance, double eps) {
  const uint32_t input = lower->args[0].as.value;
  const size_t rank = etx_lower_shape(lower, input)->rank;
  if (rank < 2 || mean->kind != ETX_IR_ARG_VALUE ||
      variance->kind != ETX_IR_ARG_VALUE) {
    return etx_diag_fail(lower->diag, ETX_UNSUPPORTED,
                         "'%t' without running statistics: export the model "
                         "in eval mode",
                         lower->node->aten);
  }
  uint32_t scale = 0;
  uint32_t shift = 0;
  uint32_t value = 0;
  ETX_TRY(etx_lower_with_constant(lower, ETX_OP_add_out, variance->as.value,
                                  eps, &scale));
  ETX_TRY(etx_lower_unary(lower, ETX_OP_rsqrt_out, scale, &scale));
  if (weight->kind == ETX_IR_ARG_VALUE) {
    ETX_TRY(etx_lower_binary(lower, ETX_OP_mul_out, scale, weight->as.value,
                             &scale));
  }
  ETX_TRY(
      etx_lower_binary(lower, ETX_OP_mul_out, mean->as.value, scale, &shift));
  if (bias->kind == ETX_IR_ARG_VALUE) {
    ETX_TRY(
        etx_lower_binary(lower, ETX_OP_sub_out, bias->as.value, shift, &shift));
  } else {
    ETX_TRY(etx_lower_unary(lower, ETX_OP_neg_out, shift, &shift));
  }
  ETX_TRY(along_channels(lower, scale, rank, &scale));
  ETX_TRY(along_channels(lower, shift, rank, &shift));
  ETX_TRY(etx_lower_binary(lower, ETX_OP_mul_out, input, scale, &value));
  return etx_lower_binary(lower, ETX_OP_add_out, value, shift,
                          &lower->results[0]);
}

// (input, weight, bias, running_mean, running_var, momentum, eps)
etx_status etx_lowering_batch_norm_fixed(etx_lower* lower) {
  const etx_ir_arg* const args = lower->args;
  return batch_norm(lower, &args[1], &args[2], &args[3], &args[4],
                    args[6].as.real);
}

// (input, weight, bias, running_mean, running_var, training, momentum, eps)
etx_status etx_lowering_batch_norm(etx_lower* lower) {
  const etx_ir_arg* const args = lower->args;
  if (args[5].as.boolean) {
    return etx_diag_fail(lower->diag, ETX_UNSUPPORTED,
                         "'%t' in training: export the model in eval mode",
                         lower->node->aten);
  }
  return batch_norm(lower, &args[1], &args[2], &args[3], &args[4],
                    args[7].as.real);
}

// x * rsqrt(mean(x * x) + eps) * weight over the last dimensions.
// (input, normalized_shape, weight, eps); eps None is the type's epsilon.
etx_status etx_lowering_rms_norm(etx_lower* lower) {
  const uint32_t input = lower->args[0].as.value;
  const size_t count = lower->args[1].as.list.count;
  const bool has_eps = lower->args[3].kind == ETX_IR_ARG_DOUBLE;
  const double eps = has_eps ? lower->args[3].as.real : 1.1920928955078125e-07;
  etx_dim dims[ETX_MAX_RANK];
  if (count > etx_lower_shape(lower, input)->rank) {
    return etx_diag_fail(lower->diag, ETX_BAD_ARGUMENT,
                         "'%t' normalises %z dimensions of %u",
                         lower->node->aten, count,
                         (uint64_t)etx_lower_shape(lower, input)->rank);
  }
  for (size_t i = 0; i < count; ++i) dims[i] = (etx_dim)i - (etx_dim)count;
  uint32_t value = 0;
  ETX_TRY(etx_lower_binary(lower, ETX_OP_mul_out, input, input, &value));
  ETX_TRY(etx_lower_reduce(lower, ETX_OP_mean_out, value, dims, count, true,
                           &value));
  ETX_TRY(etx_lower_with_constant(lower, ETX_OP_add_out, value, eps, &value));
  ETX_TRY(etx_lower_unary(lower, ETX_OP_rsqrt_out, value, &value));
  ETX_TRY(etx_lower_binary(lower, ETX_OP_mul_out, input, value, &value));
  if (lower->args[2].kind == ETX_IR_ARG_VALUE) {
    ETX_TRY(etx_lower_binary(lower, ETX_OP_mul_out, value,
                             lower->args[2].as.value, &value));
  }
  lower->results[0] = value;
  return ETX_OK;
}

// _safe_softmax(self, dim, dtype): rows that are all minus infinity give
// zeros.
etx_status etx_lowering_safe_softmax(etx_lower* lower) {
  uint32_t self = lower->args[0].as.value;
  uint32_t dead = 0;
  uint32_t zero = 0;
  uint32_t weights = 0;
  const etx_dim dims[] = {lower->args[1].as.integer};
  if (lower->args[2].kind == ETX_IR_ARG_DTYPE) {
    ETX_TRY(etx_lower_cast(lower, self, lower->args[2].as.dtype, &self));
  }
  ETX_TRY(etx_lower_softmax(lower, self, dims[0], &weights));
  ETX_TRY(etx_lower_reduce(lower, ETX_OP_amax_out, self, dims, 1, true, &dead));
  ETX_TRY(etx_lower_with_number(lower, ETX_OP_eq_scalar_out, dead,
                                -(double)INFINITY, &dead));
  const etx_ir_arg number = etx_ir_double(0.0);
  ETX_TRY(etx_lower_number(lower, &number,
                           etx_lower_shape(lower, weights)->dtype, &zero));
  return etx_lower_where(lower, dead, zero, weights, &lower->results[0]);
}
