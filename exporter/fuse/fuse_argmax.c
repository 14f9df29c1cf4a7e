// Fuses argmax over the last dimension into the packed int8 linear layer before
// it, as in a step of greedy decoding. The logits are then never stored:
//
//   argmax(linear_a8w8_panels(x, p, s, sums, b), -1, k)
//     -> linear_a8w8_panels_argmax(x, p, s, sums, b, k)
//
// With 32 rows and a vocabulary of 58101 words this saves writing and reading
// 7.4 MB. Layers with few rows are not packed, and their results stay in cache.

#include "exporter/rewrite/ir_rewrite.h"

static const char* const kind = "argmax";

// With fewer columns the results stay in a core's caches, and comparing them
// there costs less than comparing panel by panel.
enum { MIN_COLUMNS = 8192 };

static bool is_over_last_dim(const etx_rewrite* rewrite,
                             const etx_ir_node* node) {
  const size_t rank = etx_rewrite_shape(rewrite, &node->args[0])->rank;
  const etx_ir_arg* const dim = &node->args[1];
  return etx_rewrite_is_int(dim, -1) ||
         (rank > 0 && etx_rewrite_is_int(dim, (int64_t)rank - 1));
}

static etx_status fuse_argmax_node(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const node = builder->node;
  if (node->op->id != ETX_OP_argmax_out) return ETX_OK;
  const etx_ir_node* const layer =
      etx_rewrite_operand(rewrite, node, 0, ETX_OP_linear_a8w8_panels_out);
  if (layer == NULL) return ETX_OK;
  const etx_shape* const scales = etx_rewrite_shape(rewrite, &layer->args[2]);
  const char* reason = NULL;
  if (!etx_dim_is_number(scales->dims[0]) || scales->dims[0] < MIN_COLUMNS) {
    reason = "the layer has less than 8192 output columns";
  } else if (!is_over_last_dim(rewrite, node)) {
    reason = "it is not over the last dimension";
  } else if (!etx_rewrite_is_only_use(rewrite, layer->outputs[0])) {
    reason = "the result of the layer has other uses";
  } else if (etx_rewrite_shape(rewrite, &node->args[0])->dtype !=
             ETX_DTYPE_FLOAT32) {
    reason = "the result of the layer is not float32";
  }
  if (reason != NULL) {
    return etx_fusion_report_missed(rewrite->fusions, builder, kind, reason);
  }
  const etx_ir_arg args[] = {layer->args[0], layer->args[1], layer->args[2],
                             layer->args[3], layer->args[4], node->args[2]};
  ETX_TRY(etx_fusion_report_fused(rewrite->fusions, builder, kind));
  *out_done = true;
  return etx_build_op(builder, ETX_OP_linear_a8w8_panels_argmax_out, args, 6,
                      &builder->results[0]);
}

etx_status etx_pass_fuse_argmax(etx_pass_context* context) {
  static const etx_rewrite_rule rules[] = {fuse_argmax_node};
  if (context->options->target != ETX_TARGET_ETX) return ETX_OK;
  return etx_rewrite_module(context, rules, 1);
}
