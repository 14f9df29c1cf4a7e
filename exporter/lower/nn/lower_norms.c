// Softmax, and layer, group, instance, batch and RMS norms.

#include <math.h>

#include "exporter/lower/builder/lowering_functions.h"

// softmax.int, log_softmax.int: (self, dim, dtype)
etx_status etx_lowering_softmax(etx_builder* builder) {
  uint32_t self = builder->args[0].as.value;
  if (builder->args[2].kind == ETX_IR_ARG_DTYPE) {
    ETX_TRY(etx_build_cast(builder, self, builder->args[2].as.dtype, &self));
  }
  const etx_ir_arg args[] = {etx_ir_value_arg(self), builder->args[1],
                             etx_ir_bool(false)};
  return etx_build_op(builder, builder->row->op, args, 3, &builder->results[0]);
}

// _softmax, _log_softmax: with half_to_float the result is float32.
etx_status etx_lowering_core_softmax(etx_builder* builder) {
  uint32_t self = builder->args[0].as.value;
  if (builder->args[2].as.boolean) {
    ETX_TRY(etx_build_cast(builder, self, ETX_DTYPE_FLOAT32, &self));
  }
  const etx_ir_arg args[] = {etx_ir_value_arg(self), builder->args[1],
                             etx_ir_bool(false)};
  return etx_build_op(builder, builder->row->op, args, 3, &builder->results[0]);
}

// (input, normalized_shape, weight, bias, eps, ..), with one output or three.
etx_status etx_lowering_layer_norm(etx_builder* builder) {
  uint32_t values[ETX_TYPE_INFERENCE_MAX_OUTPUTS];
  ETX_TRY(etx_build_op_outputs(builder, ETX_OP_native_layer_norm_out,
                               builder->args, 5, NULL, values));
  for (size_t i = 0; i < builder->node->output_count && i < 3; ++i) {
    builder->results[i] = values[i];
  }
  return ETX_OK;
}

// input [N, C, ..] in groups of channels.
static etx_status group_norm(etx_builder* builder, etx_dim groups,
                             const etx_ir_arg* weight, const etx_ir_arg* bias,
                             const etx_ir_arg* eps) {
  const etx_shape shape =
      *etx_builder_shape(builder, builder->args[0].as.value);
  if (shape.rank < 2) {
    return etx_diag_fail(
        builder->diag, ETX_BAD_ARGUMENT,
        "'%t' expects a tensor of rank 2 or more, found rank %u",
        builder->node->aten, (uint64_t)shape.rank);
  }
  etx_dim plane = 0;
  uint32_t values[ETX_TYPE_INFERENCE_MAX_OUTPUTS];
  ETX_TRY(etx_builder_product(builder, shape.dims, 2, shape.rank, &plane));
  const etx_ir_arg args[] = {builder->args[0],
                             *weight,
                             *bias,
                             etx_ir_int(shape.dims[0]),
                             etx_ir_int(shape.dims[1]),
                             etx_ir_int(plane),
                             etx_ir_int(groups),
                             *eps};
  ETX_TRY(etx_build_op_outputs(builder, ETX_OP_native_group_norm_out, args, 8,
                               NULL, values));
  builder->results[0] = values[0];
  return ETX_OK;
}

// (input, num_groups, weight, bias, eps, ..)
etx_status etx_lowering_group_norm(etx_builder* builder) {
  const etx_ir_arg* const args = builder->args;
  return group_norm(builder, args[1].as.integer, &args[2], &args[3], &args[4]);
}

// Each channel of each example is a group.
// (input, weight, bias, running_mean, running_var, use_input_stats, momentum,
// eps, ..)
etx_status etx_lowering_instance_norm(etx_builder* builder) {
  const etx_shape shape =
      *etx_builder_shape(builder, builder->args[0].as.value);
  if (!builder->args[5].as.boolean || shape.rank < 3) {
    return etx_diag_fail(builder->diag, ETX_UNSUPPORTED,
                         "'%t' is supported only with use_input_stats=True and "
                         "a tensor of rank 3 or more",
                         builder->node->aten);
  }
  return group_norm(builder, shape.dims[1], &builder->args[1],
                    &builder->args[2], &builder->args[7]);
}

// (input, weight, bias, running_mean, running_var, training, momentum, eps):
// with the running statistics, or with those of the input if there are none.
etx_status etx_lowering_batch_norm(etx_builder* builder) {
  const etx_ir_arg* const args = builder->args;
  const bool has_statistics = args[3].kind == ETX_IR_ARG_VALUE;
  uint32_t values[ETX_TYPE_INFERENCE_MAX_OUTPUTS];
  if (has_statistics && args[5].as.boolean) {
    return etx_diag_fail(
        builder->diag, ETX_UNSUPPORTED,
        "'%t' in training mode is not supported: export the model in eval mode",
        builder->node->aten);
  }
  const etx_ir_arg fixed[] = {args[0], args[1], args[2], args[3],
                              args[4], args[6], args[7]};
  const etx_ir_arg own[] = {args[0],           args[1], args[2],
                            etx_ir_bool(true), args[6], args[7]};
  if (has_statistics) {
    ETX_TRY(etx_build_op_outputs(builder,
                                 ETX_OP_native_batch_norm_legit_no_training_out,
                                 fixed, 7, NULL, values));
  } else {
    ETX_TRY(etx_build_op_outputs(builder,
                                 ETX_OP_native_batch_norm_legit_no_stats_out,
                                 own, 6, NULL, values));
  }
  builder->results[0] = values[0];
  return ETX_OK;
}

// running * (1 - momentum) + found * momentum
static etx_status update_running(etx_builder* builder, uint32_t running,
                                 uint32_t found, double momentum,
                                 uint32_t* out_value) {
  uint32_t kept = 0;
  uint32_t added = 0;
  ETX_TRY(etx_build_cast(builder, found,
                         etx_builder_shape(builder, running)->dtype, &found));
  ETX_TRY(etx_build_binary_constant(builder, ETX_OP_mul_out, running,
                                    1.0 - momentum, &kept));
  ETX_TRY(etx_build_binary_constant(builder, ETX_OP_mul_out, found, momentum,
                                    &added));
  return etx_build_binary(builder, ETX_OP_add_out, kept, added, out_value);
}

// The unbiased variance of each channel, for the running statistics.
static etx_status channel_variance(etx_builder* builder, uint32_t* out_value) {
  const uint32_t input = builder->args[0].as.value;
  const size_t rank = etx_builder_shape(builder, input)->rank;
  etx_dim dims[ETX_MAX_RANK];
  size_t count = 0;
  for (size_t i = 0; i < rank; ++i) {
    if (i != 1) dims[count++] = (etx_dim)i;
  }
  etx_ir_arg args[] = {etx_ir_value_arg(input), etx_ir_none(), etx_ir_int(1),
                       etx_ir_bool(false)};
  ETX_TRY(etx_build_int_list(builder, dims, count, &args[1]));
  return etx_build_op(builder, ETX_OP_var_correction_out, args, 4, out_value);
}

// The same arguments. Outputs: output, mean, inverse standard deviation, and
// the new running_mean and running_var.
etx_status etx_lowering_batch_norm_functional(etx_builder* builder) {
  const etx_ir_arg* const args = builder->args;
  const bool is_training = args[5].as.boolean;
  const etx_ir_arg fixed[] = {args[0], args[1], args[2], args[3],
                              args[4], args[6], args[7]};
  const etx_ir_arg own[] = {args[0], args[1], args[2],
                            args[5], args[6], args[7]};
  builder->results[3] = args[3].as.value;
  builder->results[4] = args[4].as.value;
  if (!is_training) {
    return etx_build_op_outputs(builder,
                                ETX_OP_native_batch_norm_legit_no_training_out,
                                fixed, 7, NULL, builder->results);
  }
  uint32_t variance = 0;
  ETX_TRY(etx_build_op_outputs(builder,
                               ETX_OP_native_batch_norm_legit_no_stats_out, own,
                               6, NULL, builder->results));
  ETX_TRY(channel_variance(builder, &variance));
  ETX_TRY(update_running(builder, args[3].as.value, builder->results[1],
                         args[6].as.real, &builder->results[3]));
  return update_running(builder, args[4].as.value, variance, args[6].as.real,
                        &builder->results[4]);
}

// x * rsqrt(mean(x * x) + eps) * weight over the last dimensions.
// (input, normalized_shape, weight, eps); eps None is the type's epsilon.
etx_status etx_lowering_rms_norm(etx_builder* builder) {
  const uint32_t input = builder->args[0].as.value;
  const size_t count = builder->args[1].as.list.count;
  const bool has_eps = builder->args[3].kind == ETX_IR_ARG_DOUBLE;
  const double eps =
      has_eps ? builder->args[3].as.real : 1.1920928955078125e-07;
  etx_dim dims[ETX_MAX_RANK];
  if (count > etx_builder_shape(builder, input)->rank) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "'%t' normalises %z dimensions of a tensor of rank %u",
                         builder->node->aten, count,
                         (uint64_t)etx_builder_shape(builder, input)->rank);
  }
  for (size_t i = 0; i < count; ++i) dims[i] = (etx_dim)i - (etx_dim)count;
  uint32_t value = 0;
  ETX_TRY(etx_build_binary(builder, ETX_OP_mul_out, input, input, &value));
  ETX_TRY(etx_build_reduce(builder, ETX_OP_mean_out, value,
                           (etx_reduced_dims){dims, count, true}, &value));
  ETX_TRY(
      etx_build_binary_constant(builder, ETX_OP_add_out, value, eps, &value));
  ETX_TRY(etx_build_unary(builder, ETX_OP_rsqrt_out, value, &value));
  ETX_TRY(etx_build_binary(builder, ETX_OP_mul_out, input, value, &value));
  if (builder->args[2].kind == ETX_IR_ARG_VALUE) {
    ETX_TRY(etx_build_binary(builder, ETX_OP_mul_out, value,
                             builder->args[2].as.value, &value));
  }
  builder->results[0] = value;
  return ETX_OK;
}

// _safe_softmax(self, dim, dtype): a row of minus infinities gives zeros.
etx_status etx_lowering_safe_softmax(etx_builder* builder) {
  uint32_t self = builder->args[0].as.value;
  uint32_t masked = 0;
  uint32_t zero = 0;
  uint32_t weights = 0;
  const etx_dim dims[] = {builder->args[1].as.integer};
  if (builder->args[2].kind == ETX_IR_ARG_DTYPE) {
    ETX_TRY(etx_build_cast(builder, self, builder->args[2].as.dtype, &self));
  }
  ETX_TRY(etx_build_softmax(builder, self, dims[0], &weights));
  ETX_TRY(etx_build_reduce(builder, ETX_OP_amax_out, self,
                           (etx_reduced_dims){dims, 1, true}, &masked));
  ETX_TRY(etx_build_binary_number(builder, ETX_OP_eq_scalar_out, masked,
                                  -(double)INFINITY, &masked));
  const etx_ir_arg number = etx_ir_double(0.0);
  ETX_TRY(etx_build_scalar(builder, &number,
                           etx_builder_shape(builder, weights)->dtype, &zero));
  return etx_build_where(builder, masked, zero, weights, &builder->results[0]);
}
