// What follows a convolution element by element is computed while its result is
// in cache:
//
//   relu(add(convolution(x, w, ..), r))
//                                  convolution_chain(x, w, .., [r], "x 0 add
//                                  relu")
//
// The sums and the steps are the same as before, so results are the same bits.

#include "exporter/fuse/chain_expression.h"
#include "exporter/ir/ir_edit.h"
#include "exporter/passes/pass_context.h"

enum { ARGUMENTS = 9 };  // of a convolution

static const char* const kind = "convolution";

// True if each tensor that the chain reads is as large as the result or of one
// element: a row along the last dimension would cut planes into short rows.
static bool has_any_rows(const etx_rewrite* rewrite,
                         const etx_chain_expression* words) {
  for (size_t i = 0; i < words->count; ++i) {
    const etx_chain_token* const word = &words->items[i];
    if (word->step != ETX_STEP_X ||
        etx_chain_is_full(rewrite, rewrite->lower.node, word->value)) {
      continue;
    }
    const etx_shape* const own =
        etx_builder_shape(&rewrite->lower, word->value);
    for (size_t d = 0; d < own->rank; ++d) {
      if (own->dims[d] != 1) return false;
    }
  }
  return true;
}

static etx_status find_convolution(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const lower = &rewrite->lower;
  etx_chain_expression words;
  if (!etx_chain_expression_read(rewrite, lower->node, &words)) return ETX_OK;
  const etx_ir_node* const layer =
      etx_chain_expression_producer(rewrite, &words, ETX_OP_convolution_out);
  if (layer == NULL) {
    return etx_chain_expression_missed(rewrite, &words, ETX_OP_convolution_out,
                                       kind);
  }
  if (!has_any_rows(rewrite, &words)) return ETX_OK;
  etx_ir_arg args[ARGUMENTS + 2];
  memcpy(args, layer->args, ARGUMENTS * sizeof *args);
  ETX_TRY(etx_chain_expression_args(lower, &words, layer->outputs[0],
                                    &args[ARGUMENTS], &args[ARGUMENTS + 1],
                                    out_done));
  if (!*out_done) return ETX_OK;
  ETX_TRY(etx_fusion_report_fused(rewrite->fusions, lower, kind));
  return etx_build_op(lower, ETX_OP_convolution_chain_out, args, ARGUMENTS + 2,
                      &lower->results[0]);
}

etx_status etx_pass_fuse_convolution_epilogue(etx_pass_context* context) {
  static const etx_rewrite_rule rules[] = {find_convolution};
  if (context->options->target != ETX_TARGET_ETX) return ETX_OK;
  return etx_rewrite_module(context, rules, 1);
}
