// Fuses elementwise operators that follow a convolution into its epilogue,
// which computes them while the result is in cache:
//
//   relu(add(convolution(x, w, ..), r))
//     -> convolution_chain(x, w, .., [r], "x 0 add relu")
//
// Sums and steps are computed as before, so results are bit-equal.

#include "exporter/fuse/chain_expression.h"
#include "exporter/ir/ir_edit.h"
#include "exporter/passes/pass_context.h"

enum { ARGUMENTS = 9 };  // of a convolution

static const char* const kind = "convolution epilogue";

// True if each tensor that the chain reads has the sizes of the result or one
// element. The kernel cannot broadcast a row, because it computes whole planes.
static bool has_no_row_operands(const etx_rewrite* rewrite,
                                const etx_chain_expression* chain) {
  for (size_t i = 0; i < chain->count; ++i) {
    const etx_chain_token* const token = &chain->items[i];
    if (token->step != ETX_STEP_X ||
        etx_chain_is_full(rewrite, rewrite->builder.node, token->value)) {
      continue;
    }
    const etx_shape* const own =
        etx_builder_shape(&rewrite->builder, token->value);
    for (size_t d = 0; d < own->rank; ++d) {
      if (own->dims[d] != 1) return false;
    }
  }
  return true;
}

static etx_status fuse_epilogue(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  etx_chain_expression chain;
  if (!etx_chain_expression_read(rewrite, builder->node, &chain)) return ETX_OK;
  const etx_ir_node* const layer =
      etx_chain_expression_producer(rewrite, &chain, ETX_OP_convolution_out);
  if (layer == NULL) {
    return etx_chain_expression_missed(rewrite, &chain, ETX_OP_convolution_out,
                                       kind);
  }
  if (!has_no_row_operands(rewrite, &chain)) return ETX_OK;
  etx_ir_arg args[ARGUMENTS + 2];
  memcpy(args, layer->args, ARGUMENTS * sizeof *args);
  ETX_TRY(etx_chain_expression_args(builder, &chain, layer->outputs[0],
                                    &args[ARGUMENTS], &args[ARGUMENTS + 1],
                                    out_done));
  if (!*out_done) return ETX_OK;
  ETX_TRY(etx_fusion_report_fused(rewrite->fusions, builder, kind));
  return etx_build_op(builder, ETX_OP_convolution_chain_out, args,
                      ARGUMENTS + 2, &builder->results[0]);
}

etx_status etx_pass_fuse_convolution_epilogue(etx_pass_context* context) {
  static const etx_rewrite_rule rules[] = {fuse_epilogue};
  if (context->options->target != ETX_TARGET_ETX) return ETX_OK;
  return etx_rewrite_module(context, rules, 1);
}
