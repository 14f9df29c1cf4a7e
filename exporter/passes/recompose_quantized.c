// Quantised weights that a graph spells out as floats. etx's own runtime has
// operators that read them as they are, so that no weight is unpacked into
// scratch, whole, at every call, or stored as floats by folding:
//
//   linear(x, dequantize_per_channel(w, s, 0), b)    linear_w8(x, w, s, b)
//   the same where x is quantised row by row         linear_a8w8(x, w, s, b)
//   embedding(dequantize_per_channel(w, s, z), i)    embedding_byte(w, s, z, i)
//
// Results are the same but for the order of sums: int8 times a float scale is
// one rounding in either form.

#include "exporter/ir_rewrite.h"

// Arguments of dequantize_per_channel, of quantize_per_token (whose dtype is
// number 5) and of dequantize_per_token.
enum { INPUT = 0, SCALES = 1, ZEROS = 2, AXIS = 3, LOW = 4, HIGH = 5 };

// A byte matrix with one scale for each row, as float32, or NULL.
static const etx_ir_node* find_weight(const etx_rewrite* rewrite,
                                      const etx_ir_node* node, size_t position,
                                      bool takes_uint8) {
  const etx_ir_node* const weight = etx_rewrite_operand(
      rewrite, node, position, ETX_OP_dequantize_per_channel_out);
  if (weight == NULL) return NULL;
  const etx_shape* const bytes =
      etx_rewrite_shape(rewrite, &weight->args[INPUT]);
  const etx_shape* const scales =
      etx_rewrite_shape(rewrite, &weight->args[SCALES]);
  const bool is_byte = bytes->dtype == ETX_DTYPE_INT8 ||
                       (takes_uint8 && bytes->dtype == ETX_DTYPE_UINT8);
  const bool by_row = etx_rewrite_is_int(&weight->args[AXIS], 0) ||
                      etx_rewrite_is_int(&weight->args[AXIS], -2);
  const bool is_float =
      etx_rewrite_shape(rewrite, &node->args[position])->dtype ==
      ETX_DTYPE_FLOAT32;
  return is_byte && by_row && is_float && bytes->rank == 2 &&
                 scales->dims[0] == bytes->dims[0]
             ? weight
             : NULL;
}

static bool has_no_zeros(const etx_rewrite* rewrite,
                         const etx_ir_node* weight) {
  const etx_ir_arg* const zeros = &weight->args[ZEROS];
  double number = 1;
  if (zeros->kind == ETX_IR_ARG_NONE) return true;
  const etx_ir_constant* const constant = etx_rewrite_constant(
      rewrite->lower.module, rewrite->lower.method, zeros->as.value);
  return constant != NULL && etx_rewrite_number(constant, &number) &&
         number == 0;
}

// True if both arguments are the results of the node, in order.
static bool are_results(const etx_ir_node* pair, const etx_ir_arg* first,
                        const etx_ir_arg* second) {
  return first->kind == ETX_IR_ARG_VALUE && second->kind == ETX_IR_ARG_VALUE &&
         first->as.value == pair->outputs[0] &&
         second->as.value == pair->outputs[1];
}

// What was quantised row by row, by ranges of its own, and became floats again
// in argument 0 of the node; NULL if it was not.
static const etx_ir_arg* find_rows(const etx_rewrite* rewrite,
                                   const etx_ir_node* node) {
  const etx_ir_node* const back =
      etx_rewrite_operand(rewrite, node, 0, ETX_OP_dequantize_per_token_out);
  const etx_ir_node* const there =
      back == NULL ? NULL
                   : etx_rewrite_operand(rewrite, back, INPUT,
                                         ETX_OP_quantize_per_token_out);
  const etx_ir_node* const pair =
      there == NULL
          ? NULL
          : etx_rewrite_operand(rewrite, there, SCALES,
                                ETX_OP_choose_qparams_per_token_asymmetric_out);
  if (pair == NULL || pair->args[0].as.value != there->args[0].as.value ||
      !are_results(pair, &back->args[SCALES], &back->args[ZEROS]) ||
      !are_results(pair, &there->args[SCALES], &there->args[ZEROS]) ||
      !etx_rewrite_is_int(&there->args[3], INT8_MIN) ||
      !etx_rewrite_is_int(&there->args[4], INT8_MAX) ||
      etx_rewrite_shape(rewrite, &there->args[0])->dtype != ETX_DTYPE_FLOAT32 ||
      etx_rewrite_shape(rewrite, &node->args[0])->dtype != ETX_DTYPE_FLOAT32) {
    return NULL;
  }
  return &there->args[0];
}

static etx_status find_linear(etx_rewrite* rewrite, bool* out_done) {
  const etx_ir_node* const node = rewrite->lower.node;
  if (node->op->id != ETX_OP_linear_out) return ETX_OK;
  const etx_ir_node* const weight = find_weight(rewrite, node, 1, false);
  if (weight == NULL || !has_no_zeros(rewrite, weight)) return ETX_OK;
  const etx_ir_arg* const rows = find_rows(rewrite, node);
  etx_ir_arg args[] = {rows == NULL ? node->args[0] : *rows,
                       weight->args[INPUT], weight->args[SCALES],
                       node->args[2]};
  const etx_op_id op =
      rows == NULL ? ETX_OP_linear_w8_out : ETX_OP_linear_a8w8_out;
  // Appending nodes may move those that were looked at.
  uint32_t scales = 0;
  ETX_TRY(etx_lower_cast(&rewrite->lower, args[2].as.value, ETX_DTYPE_FLOAT32,
                         &scales));
  args[2] = etx_ir_value_arg(scales);
  *out_done = true;
  return etx_lower_emit(&rewrite->lower, op, args, 4,
                        &rewrite->lower.results[0]);
}

static etx_status find_embedding(etx_rewrite* rewrite, bool* out_done) {
  etx_lower* const lower = &rewrite->lower;
  if (lower->node->op->id != ETX_OP_embedding_out) return ETX_OK;
  const etx_ir_node* const weight = find_weight(rewrite, lower->node, 0, true);
  if (weight == NULL) return ETX_OK;
  const bool has_zeros = !has_no_zeros(rewrite, weight);
  etx_ir_arg args[] = {weight->args[INPUT],
                       weight->args[SCALES],
                       has_zeros ? weight->args[ZEROS] : etx_ir_none(),
                       weight->args[LOW],
                       weight->args[HIGH],
                       lower->node->args[1]};
  for (size_t i = SCALES; i <= ZEROS; ++i) {
    uint32_t value = 0;
    if (args[i].kind != ETX_IR_ARG_VALUE) continue;
    ETX_TRY(etx_lower_cast(lower, args[i].as.value, ETX_DTYPE_FLOAT32, &value));
    args[i] = etx_ir_value_arg(value);
  }
  *out_done = true;
  return etx_lower_emit(lower, ETX_OP_embedding_byte_out, args, 6,
                        &lower->results[0]);
}

etx_status etx_pass_recompose_quantized(etx_pass_context* context) {
  static const etx_rewrite_rule rules[] = {find_linear, find_embedding};
  if (context->options->target != ETX_TARGET_ETX) return ETX_OK;
  return etx_rewrite_module(context, rules, sizeof rules / sizeof *rules);
}
