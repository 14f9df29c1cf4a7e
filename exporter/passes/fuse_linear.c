// What follows a linear layer element by element is computed while its result
// is in cache:
//
//   add(r, linear(x, w, b))         linear_chain(x, w, b, [r], "0 x add")
//   mul(silu(linear(..)), linear(x, w))
//                                   linear_chain(x, w, None, [silu], ..)
//
// The product and the steps are the same as before, so results are the same
// bits.

#include "exporter/chain_words.h"
#include "exporter/ir_edit.h"
#include "exporter/passes/pass_list.h"

// A linear layer whose result is read by the chain alone; NULL if there is
// none. The last of several is taken: the others are there when it runs.
static const etx_ir_node* find_layer(const etx_rewrite* rewrite,
                                     const etx_chain_words* words) {
  const etx_ir_method* const method = rewrite->lower.method;
  const etx_ir_node* found = NULL;
  for (size_t i = 0; i < words->count; ++i) {
    const uint32_t value = words->items[i].value;
    if (words->items[i].step != ETX_STEP_X) continue;
    const etx_ir_node* const node = etx_ir_definition(method, value);
    if (node == NULL || node->op->id != ETX_OP_linear_out ||
        !etx_rewrite_is_only_use(rewrite, value) ||
        !etx_chain_is_full(rewrite, rewrite->lower.node, value)) {
      continue;
    }
    if (found == NULL || node > found) found = node;
  }
  return found;
}

// Notes a layer that others read too.
static etx_status note_missed(const etx_rewrite* rewrite,
                              const etx_chain_words* words) {
  for (size_t i = 0; i < words->count; ++i) {
    const etx_ir_node* const node =
        words->items[i].step != ETX_STEP_X
            ? NULL
            : etx_ir_definition(rewrite->lower.method, words->items[i].value);
    if (node != NULL && node->op->id == ETX_OP_linear_out) {
      return etx_fusion_missed(rewrite->fusions, &rewrite->lower,
                               "linear layer",
                               "what it gives is read by others too");
    }
  }
  return ETX_OK;
}

static etx_status find_linear(etx_rewrite* rewrite, bool* out_done) {
  etx_lower* const lower = &rewrite->lower;
  etx_chain_words words;
  if (!etx_chain_words_read(rewrite, lower->node, &words)) return ETX_OK;
  const etx_ir_node* const layer = find_layer(rewrite, &words);
  if (layer == NULL) return note_missed(rewrite, &words);
  etx_ir_arg args[5] = {layer->args[0], layer->args[1], layer->args[2]};
  ETX_TRY(etx_chain_words_args(lower, &words, layer->outputs[0], &args[3],
                               &args[4], out_done));
  if (!*out_done) return ETX_OK;
  ETX_TRY(etx_fusion_made(rewrite->fusions, lower, "linear layer"));
  return etx_lower_emit(lower, ETX_OP_linear_chain_out, args, 5,
                        &lower->results[0]);
}

etx_status etx_pass_fuse_linear(etx_pass_context* context) {
  static const etx_rewrite_rule rules[] = {find_linear};
  if (context->options->target != ETX_TARGET_ETX) return ETX_OK;
  return etx_rewrite_module(context, rules, 1);
}
