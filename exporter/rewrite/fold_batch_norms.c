// Folds a batch norm in inference mode into the weight and bias of the
// convolution before it:
//
//   norm(conv(x, w, b))  ->  conv(x, w s, (b - mean) s + shift)
//                            s = scale / sqrt(variance + eps)
//
// The pass emits nodes that compute the new weight and bias; all their operands
// are constant, so fold_constants computes them later. Products are rounded in
// another order: results agree within 1e-5 of the largest value.

#include "exporter/ir/ir_edit.h"
#include "exporter/rewrite/ir_rewrite.h"

// Arguments of the norm and of the convolution.
enum { NORMED, SCALE, SHIFT, MEAN, VARIANCE, EPSILON = 6 };
enum { INPUT, WEIGHT, BIAS, TRANSPOSED = 6, GROUPS = 8, CONVOLUTION_ARGUMENTS };

static bool is_constant(const etx_rewrite* rewrite, const etx_ir_arg* arg) {
  return arg->kind == ETX_IR_ARG_NONE ||
         (arg->kind == ETX_IR_ARG_VALUE &&
          etx_rewrite_constant(rewrite->builder.module, rewrite->builder.method,
                               arg->as.value) != NULL);
}

// True if the outputs for the saved statistics are not read.
static bool has_one_read_output(const etx_rewrite* rewrite) {
  const etx_ir_node* const node = rewrite->builder.node;
  for (size_t i = 1; i < node->output_count; ++i) {
    const uint32_t value = node->outputs[i];
    if (value != ETX_IR_NONE && rewrite->uses[value] != 0) return false;
  }
  return true;
}

// The convolution that the norm can be folded into, or NULL.
static const etx_ir_node* find_convolution(const etx_rewrite* rewrite) {
  const etx_ir_node* const node = rewrite->builder.node;
  if (node->op->id != ETX_OP_native_batch_norm_legit_no_training_out) {
    return NULL;
  }
  const etx_ir_node* const convolution =
      etx_rewrite_operand(rewrite, node, NORMED, ETX_OP_convolution_out);
  if (convolution == NULL ||
      (convolution->args[TRANSPOSED].as.boolean &&
       !etx_rewrite_is_int(&convolution->args[GROUPS], 1)) ||
      etx_rewrite_shape(rewrite, &node->args[NORMED])->dtype !=
          ETX_DTYPE_FLOAT32 ||
      !etx_rewrite_is_only_use(rewrite, node->args[NORMED].as.value) ||
      !has_one_read_output(rewrite)) {
    return NULL;
  }
  for (size_t i = SCALE; i <= VARIANCE; ++i) {
    if (!is_constant(rewrite, &node->args[i])) return NULL;
  }
  return is_constant(rewrite, &convolution->args[WEIGHT]) &&
                 is_constant(rewrite, &convolution->args[BIAS])
             ? convolution
             : NULL;
}

// scale / sqrt(variance + eps), one number per channel.
static etx_status emit_factor(etx_builder* builder, uint32_t* out_value) {
  const etx_ir_node* const node = builder->node;
  uint32_t value = 0;
  ETX_TRY(etx_build_binary_constant(builder, ETX_OP_add_out,
                                    node->args[VARIANCE].as.value,
                                    node->args[EPSILON].as.real, &value));
  ETX_TRY(etx_build_unary(builder, ETX_OP_rsqrt_out, value, &value));
  *out_value = value;
  if (node->args[SCALE].kind == ETX_IR_ARG_NONE) return ETX_OK;
  return etx_build_binary(builder, ETX_OP_mul_out, value,
                          node->args[SCALE].as.value, out_value);
}

// (bias - mean) factor + shift
static etx_status emit_bias(etx_builder* builder, const etx_ir_arg* bias,
                            uint32_t factor, uint32_t* out_value) {
  const etx_ir_node* const node = builder->node;
  uint32_t value = node->args[MEAN].as.value;
  if (bias->kind == ETX_IR_ARG_NONE) {
    ETX_TRY(etx_build_unary(builder, ETX_OP_neg_out, value, &value));
  } else {
    ETX_TRY(etx_build_binary(builder, ETX_OP_sub_out, bias->as.value, value,
                             &value));
  }
  ETX_TRY(etx_build_binary(builder, ETX_OP_mul_out, value, factor, out_value));
  if (node->args[SHIFT].kind == ETX_IR_ARG_NONE) return ETX_OK;
  return etx_build_binary(builder, ETX_OP_add_out, *out_value,
                          node->args[SHIFT].as.value, out_value);
}

// The weight with each output channel scaled by its factor. Output channels are
// the first dimension, or the second one of a transposed convolution.
static etx_status emit_weight(etx_builder* builder, uint32_t weight,
                              bool is_transposed, uint32_t factor,
                              uint32_t* out_value) {
  const etx_shape shape = *etx_builder_shape(builder, weight);
  const size_t channels = is_transposed ? 1 : 0;
  etx_dim dims[ETX_MAX_RANK];
  for (size_t i = 0; i < shape.rank; ++i) {
    dims[i] = i == channels ? shape.dims[i] : 1;
  }
  ETX_TRY(etx_build_view(builder, factor, dims, shape.rank, &factor));
  return etx_build_binary(builder, ETX_OP_mul_out, weight, factor, out_value);
}

static etx_status fold_norm(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const convolution = find_convolution(rewrite);
  if (convolution == NULL) return ETX_OK;
  etx_ir_arg args[CONVOLUTION_ARGUMENTS];
  memcpy(args, convolution->args, sizeof args);
  uint32_t factor = 0;
  uint32_t value = 0;
  ETX_TRY(emit_factor(builder, &factor));
  ETX_TRY(emit_bias(builder, &args[BIAS], factor, &value));
  args[BIAS] = etx_ir_value_arg(value);
  ETX_TRY(emit_weight(builder, args[WEIGHT].as.value,
                      args[TRANSPOSED].as.boolean, factor, &value));
  args[WEIGHT] = etx_ir_value_arg(value);
  *out_done = true;
  ETX_TRY(etx_fusion_report_fused(rewrite->fusions, builder, "batch norm"));
  return etx_build_op(builder, ETX_OP_convolution_out, args,
                      CONVOLUTION_ARGUMENTS, &builder->results[0]);
}

etx_status etx_pass_fold_batch_norms(etx_pass_context* context) {
  static const etx_rewrite_rule rules[] = {fold_norm};
  return etx_rewrite_module(context, rules, 1);
}
