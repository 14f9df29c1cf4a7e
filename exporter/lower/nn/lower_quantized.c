// PT2E's quantize and dequantize operators. They have the same arguments in
// ATen and in format/ops. ExecuTorch's kernels support only one dtype for some
// arguments where PyTorch supports several, and misread others, so these are
// cast for target executorch. Results stay the same, because those kernels
// compute in float32 in any case.

#include "exporter/lower/builder/lowering_functions.h"

// The dtype that ExecuTorch's kernel of an operator requires for an argument.
typedef struct dtype_requirement {
  etx_op_id op;
  size_t argument;
  etx_dtype dtype;
  bool only_bfloat16;  // cast only an argument that is bfloat16
} dtype_requirement;

static const dtype_requirement requirements[] = {
    {ETX_OP_quantize_per_tensor_out, 0, ETX_DTYPE_FLOAT32, true},
    {ETX_OP_quantize_per_tensor_tensor_out, 0, ETX_DTYPE_FLOAT32, true},
    {ETX_OP_quantize_per_tensor_tensor_out, 1, ETX_DTYPE_FLOAT64, false},
    {ETX_OP_quantize_per_tensor_tensor_out, 2, ETX_DTYPE_INT64, false},
    {ETX_OP_dequantize_per_tensor_tensor_out, 1, ETX_DTYPE_FLOAT64, false},
    {ETX_OP_dequantize_per_tensor_tensor_out, 2, ETX_DTYPE_INT64, false},
    {ETX_OP_quantize_per_channel_out, 0, ETX_DTYPE_FLOAT32, true},
    {ETX_OP_quantize_per_channel_out, 1, ETX_DTYPE_FLOAT64, false},
    {ETX_OP_quantize_per_channel_out, 2, ETX_DTYPE_INT64, false},
    {ETX_OP_dequantize_per_channel_out, 2, ETX_DTYPE_INT64, false},
    {ETX_OP_quantize_per_token_out, 0, ETX_DTYPE_FLOAT32, true},
    {ETX_OP_quantize_per_token_out, 1, ETX_DTYPE_FLOAT64, false},
    {ETX_OP_quantize_per_token_out, 2, ETX_DTYPE_INT64, false},
    {ETX_OP_dequantize_per_token_out, 1, ETX_DTYPE_FLOAT64, false},
    {ETX_OP_dequantize_per_token_out, 2, ETX_DTYPE_INT64, false},
    {ETX_OP_choose_qparams_tensor_out, 0, ETX_DTYPE_FLOAT32, false},
    {ETX_OP_choose_qparams_per_token_asymmetric_out, 0, ETX_DTYPE_FLOAT32,
     false},
};

static etx_status cast_argument(etx_builder* builder,
                                const dtype_requirement* requirement) {
  etx_ir_arg* const arg = &builder->args[requirement->argument];
  if (arg->kind != ETX_IR_ARG_VALUE) return ETX_OK;
  const etx_dtype own = etx_builder_shape(builder, arg->as.value)->dtype;
  if (requirement->only_bfloat16 && own != ETX_DTYPE_BFLOAT16) return ETX_OK;
  uint32_t value = 0;
  ETX_TRY(etx_build_cast(builder, arg->as.value, requirement->dtype, &value));
  *arg = etx_ir_value_arg(value);
  return ETX_OK;
}

etx_status etx_lowering_quantized(etx_builder* builder) {
  const size_t count = sizeof requirements / sizeof requirements[0];
  const bool is_stock = builder->target == ETX_TARGET_EXECUTORCH;
  for (size_t i = 0; is_stock && i < count; ++i) {
    if (requirements[i].op == builder->row->op)
      ETX_TRY(cast_argument(builder, &requirements[i]));
  }
  return etx_lowering_direct(builder);
}

// (weight, scales, zero_points, quant_min, quant_max, indices, dtype).
// ExecuTorch's kernels read the scales as if they had the dtype of the result.
etx_status etx_lowering_quantized_embedding(etx_builder* builder) {
  const etx_ir_arg dtype = builder->args[6];
  const etx_dtype scales =
      etx_builder_shape(builder, builder->args[1].as.value)->dtype;
  const bool is_stock = builder->target == ETX_TARGET_EXECUTORCH;
  if (!is_stock || dtype.kind != ETX_IR_ARG_DTYPE || dtype.as.dtype == scales) {
    return etx_lowering_direct(builder);
  }
  builder->args[6].as.dtype = scales;
  ETX_TRY(etx_lowering_direct(builder));
  return etx_build_cast(builder, builder->results[0], dtype.as.dtype,
                        &builder->results[0]);
}

// (input, weight, scales, zero_points, dtype): without a dtype, the result has
// that of the input.
etx_status etx_lowering_mixed_linear(etx_builder* builder) {
  if (builder->args[4].kind == ETX_IR_ARG_NONE) {
    builder->args[4].kind = ETX_IR_ARG_DTYPE;
    builder->args[4].as.dtype =
        etx_builder_shape(builder, builder->args[0].as.value)->dtype;
  }
  return etx_lowering_direct(builder);
}

// custom_quantized_sdpa of int8 gives float32.
etx_status etx_lowering_custom_quantized_sdpa(etx_builder* builder) {
  const etx_dtype query =
      etx_builder_shape(builder, builder->args[0].as.value)->dtype;
  const etx_dtype dtype = query == ETX_DTYPE_INT8 ? ETX_DTYPE_FLOAT32 : query;
  return etx_build_op_outputs(builder, builder->row->op, builder->args,
                              builder->arg_count, &dtype, builder->results);
}
