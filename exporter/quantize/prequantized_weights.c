#include "exporter/quantize/prequantized_weights.h"

#include "exporter/ir/ir_edit.h"

uint32_t etx_prequantized_origin(const etx_rewrite* rewrite, uint32_t value) {
  const etx_ir_method* const method = rewrite->builder.method;
  const etx_ir_node* node = etx_ir_definition(method, value);
  while (node != NULL && (node->op->id == ETX_OP_view_copy_out ||
                          node->op->id == ETX_OP_to_dim_order_copy_out)) {
    value = node->args[ETX_PREQUANTIZED_INPUT].as.value;
    node = etx_ir_definition(method, value);
  }
  return value;
}

bool etx_prequantized_is_zero(const etx_ir_constant* constant) {
  for (size_t i = 0; i < constant->data.size; ++i) {
    if (constant->data.data[i] != 0) return false;
  }
  return true;
}

bool etx_prequantized_has_no_zero_points(const etx_rewrite* rewrite,
                                         const etx_ir_node* weight) {
  const etx_ir_arg* const zeros = &weight->args[ETX_PREQUANTIZED_ZEROS];
  if (zeros->kind == ETX_IR_ARG_NONE) return true;
  const etx_ir_constant* const constant =
      etx_rewrite_constant(rewrite->builder.module, rewrite->builder.method,
                           etx_prequantized_origin(rewrite, zeros->as.value));
  return constant != NULL && etx_prequantized_is_zero(constant);
}

// True if both arguments are the outputs of the node, in order.
static bool are_outputs_of(const etx_rewrite* rewrite,
                           const etx_ir_node* params, const etx_ir_arg* first,
                           const etx_ir_arg* second) {
  return first->kind == ETX_IR_ARG_VALUE && second->kind == ETX_IR_ARG_VALUE &&
         etx_prequantized_origin(rewrite, first->as.value) ==
             params->outputs[0] &&
         etx_prequantized_origin(rewrite, second->as.value) ==
             params->outputs[1];
}

const etx_ir_arg* etx_prequantized_rows(const etx_rewrite* rewrite,
                                        const etx_ir_node* node) {
  const etx_ir_node* const dequantize =
      etx_rewrite_operand(rewrite, node, 0, ETX_OP_dequantize_per_token_out);
  const etx_ir_node* const quantize =
      dequantize == NULL
          ? NULL
          : etx_rewrite_operand(rewrite, dequantize, ETX_PREQUANTIZED_INPUT,
                                ETX_OP_quantize_per_token_out);
  const etx_ir_node* const params =
      quantize == NULL ||
              quantize->args[ETX_PREQUANTIZED_SCALES].kind != ETX_IR_ARG_VALUE
          ? NULL
          : etx_ir_definition(
                rewrite->builder.method,
                etx_prequantized_origin(
                    rewrite, quantize->args[ETX_PREQUANTIZED_SCALES].as.value));
  if (params == NULL ||
      params->op->id != ETX_OP_choose_qparams_per_token_asymmetric_out ||
      params->args[0].as.value != quantize->args[0].as.value ||
      !are_outputs_of(rewrite, params,
                      &dequantize->args[ETX_PREQUANTIZED_SCALES],
                      &dequantize->args[ETX_PREQUANTIZED_ZEROS]) ||
      !are_outputs_of(rewrite, params, &quantize->args[ETX_PREQUANTIZED_SCALES],
                      &quantize->args[ETX_PREQUANTIZED_ZEROS]) ||
      !etx_rewrite_is_int(&quantize->args[3], INT8_MIN) ||
      !etx_rewrite_is_int(&quantize->args[4], INT8_MAX) ||
      etx_rewrite_shape(rewrite, &quantize->args[0])->dtype !=
          ETX_DTYPE_FLOAT32 ||
      etx_rewrite_shape(rewrite, &node->args[0])->dtype != ETX_DTYPE_FLOAT32) {
    return NULL;
  }
  return &quantize->args[0];
}
