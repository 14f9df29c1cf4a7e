// Finds the softmax that models spell out:
//
//   exp(x - max(x)) / sum(exp(x - max(x)))         softmax(x)
//   exp(log_softmax(x))                            softmax(x)
//
// Sums have another order: results agree within 1e-5 of the largest value.

#include "exporter/ir_edit.h"
#include "exporter/ir_rewrite.h"

// The only dimension of a reduction, which stays; from the front.
static bool read_dim(const etx_rewrite* rewrite, const etx_ir_node* node,
                     etx_dim* out_dim) {
  const etx_ir_arg* dim = &node->args[1];
  const bool keeps =
      node->args[2].kind == ETX_IR_ARG_BOOL && node->args[2].as.boolean;
  if (dim->kind == ETX_IR_ARG_LIST) {
    if (dim->as.list.count != 1) return false;
    dim = &dim->as.list.items[0];
  }
  if (!keeps || dim->kind != ETX_IR_ARG_INT) return false;
  const etx_dim rank = etx_rewrite_shape(rewrite, &node->args[0])->rank;
  *out_dim = dim->as.integer < 0 ? dim->as.integer + rank : dim->as.integer;
  return true;
}

// x - max(x) over a dimension.
static bool read_shifted(const etx_rewrite* rewrite, const etx_ir_node* node,
                         uint32_t* out_value, etx_dim* out_dim) {
  if (node == NULL || !etx_rewrite_is_int(&node->args[2], 1)) return false;
  const uint32_t most = node->args[1].as.value;
  const etx_ir_node* const reduction =
      etx_ir_definition(rewrite->lower.method, most);
  if (reduction == NULL || (reduction->op->id != ETX_OP_amax_out &&
                            reduction->op->id != ETX_OP_max_dim_max)) {
    return false;
  }
  *out_value = node->args[0].as.value;
  return reduction->outputs[0] == most &&
         reduction->args[0].as.value == *out_value &&
         read_dim(rewrite, reduction, out_dim);
}

// exp(x - max(x)) / sum of that
static bool read_quotient(const etx_rewrite* rewrite, uint32_t* out_value,
                          etx_dim* out_dim) {
  const etx_ir_node* const node = rewrite->lower.node;
  const etx_ir_node* const powers =
      etx_rewrite_operand(rewrite, node, 0, ETX_OP_exp_out);
  const etx_ir_node* const sum =
      etx_rewrite_operand(rewrite, node, 1, ETX_OP_sum_intlist_out);
  etx_dim dim = 0;
  return powers != NULL && sum != NULL &&
         sum->args[0].as.value == node->args[0].as.value &&
         read_shifted(rewrite,
                      etx_rewrite_operand(rewrite, powers, 0, ETX_OP_sub_out),
                      out_value, out_dim) &&
         read_dim(rewrite, sum, &dim) && dim == *out_dim;
}

// exp(log_softmax(x))
static bool read_power(const etx_rewrite* rewrite, uint32_t* out_value,
                       etx_dim* out_dim) {
  const etx_ir_node* const softmax = etx_rewrite_operand(
      rewrite, rewrite->lower.node, 0, ETX_OP_log_softmax_out);
  if (softmax == NULL) return false;
  *out_value = softmax->args[0].as.value;
  *out_dim = softmax->args[1].as.integer;
  return true;
}

static etx_status find_softmax(etx_rewrite* rewrite, bool* out_done) {
  etx_lower* const lower = &rewrite->lower;
  uint32_t value = 0;
  etx_dim dim = 0;
  const bool is_found = lower->node->op->id == ETX_OP_div_out
                            ? read_quotient(rewrite, &value, &dim)
                        : lower->node->op->id == ETX_OP_exp_out
                            ? read_power(rewrite, &value, &dim)
                            : false;
  const etx_dtype dtype =
      etx_lower_shape(lower, lower->node->outputs[0])->dtype;
  if (!is_found || etx_lower_shape(lower, value)->dtype != dtype) return ETX_OK;
  *out_done = true;
  ETX_TRY(etx_fusion_made(rewrite->fusions, lower, "softmax"));
  return etx_lower_softmax(lower, value, dim, &lower->results[0]);
}

etx_status etx_pass_recompose_softmax(etx_pass_context* context) {
  static const etx_rewrite_rule rules[] = {find_softmax};
  if (context->options->target != ETX_TARGET_ETX) return ETX_OK;
  return etx_rewrite_module(context, rules, 1);
}
