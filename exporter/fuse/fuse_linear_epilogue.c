// Fuses elementwise operators that follow a linear layer into its epilogue,
// which computes them while the result is in cache:
//
//   add(r, linear(x, w, b))  ->  linear_chain(x, w, b, [r], "0 x add")
//   mul(silu(linear(..)), linear(x, w))
//                            ->  linear_chain(x, w, None, [silu], "0 x
//                            multiply")
//
// Products and steps are computed as before, so results are bit-equal.

#include "exporter/fuse/chain_expression.h"
#include "exporter/ir/ir_edit.h"
#include "exporter/passes/pass_context.h"

static const char* const kind = "linear epilogue";

static etx_status fuse_epilogue(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  etx_chain_expression chain;
  if (!etx_chain_expression_read(rewrite, builder->node, &chain)) return ETX_OK;
  const etx_ir_node* const layer =
      etx_chain_expression_producer(rewrite, &chain, ETX_OP_linear_out);
  if (layer == NULL) {
    return etx_chain_expression_missed(rewrite, &chain, ETX_OP_linear_out,
                                       kind);
  }
  etx_ir_arg args[5] = {layer->args[0], layer->args[1], layer->args[2]};
  ETX_TRY(etx_chain_expression_args(builder, &chain, layer->outputs[0],
                                    &args[3], &args[4], out_done));
  if (!*out_done) return ETX_OK;
  ETX_TRY(etx_fusion_report_fused(rewrite->fusions, builder, kind));
  return etx_build_op(builder, ETX_OP_linear_chain_out, args, 5,
                      &builder->results[0]);
}

etx_status etx_pass_fuse_linear_epilogue(etx_pass_context* context) {
  static const etx_rewrite_rule rules[] = {fuse_epilogue};
  if (context->options->target != ETX_TARGET_ETX) return ETX_OK;
  return etx_rewrite_module(context, rules, 1);
}
