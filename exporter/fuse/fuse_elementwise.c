// Chains of elementwise operators become one pass over memory:
//
//   mul(silu(a), b)     chain(a, [b], "x silu 0 multiply")
//
//   where(gt(x, 0), x, exp(x))    chain(x, [0], "0 x less x x exp select")
//   div(mul(x, clamp(add(x, 3), 0, 6)), 6)
//                                 chain(x, [], "x hardswish")
//
// An operator goes into the one that reads it where nobody else does, and a
// comparison into each choice. Each step computes what the operator did, so
// results are the same bits; but for functions that are spelled out and that
// one step computes more exactly (chain_idioms.def).

#include "exporter/fuse/chain_expression.h"
#include "exporter/ir/ir_edit.h"
#include "exporter/passes/pass_context.h"

// Takes in every operand that nobody else reads and that is a step itself.
static bool take_operands(const etx_rewrite* rewrite,
                          etx_chain_expression* words) {
  const etx_ir_node* const node = rewrite->lower.node;
  const etx_chain_expression given = *words;
  bool took = false;
  for (size_t i = 0; i < given.count; ++i) {
    const etx_chain_token word = given.items[i];
    etx_chain_expression inner;
    if (word.step != ETX_STEP_X ||
        !etx_rewrite_is_only_use(rewrite, word.value) ||
        !etx_chain_is_full(rewrite, node, word.value)) {
      continue;
    }
    const etx_ir_node* const definition =
        etx_ir_definition(rewrite->lower.method, word.value);
    if (definition != NULL &&
        etx_chain_expression_read(rewrite, definition, &inner) &&
        etx_chain_expression_inline(words, word.value, &inner)) {
      took = true;
    }
  }
  return took;
}

// A choice that was read with what it compares.
static bool has_comparison(const etx_ir_node* node) {
  return node->op->id == ETX_OP_where_self_out;
}

// The first value with the result's sizes; ETX_IR_NONE if all are repeated.
static uint32_t find_self(const etx_rewrite* rewrite,
                          const etx_chain_expression* words) {
  for (size_t i = 0; i < words->count; ++i) {
    const etx_chain_token word = words->items[i];
    if (word.step == ETX_STEP_X &&
        etx_chain_is_full(rewrite, rewrite->lower.node, word.value)) {
      return word.value;
    }
  }
  return ETX_IR_NONE;
}

static etx_status find_chain(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const lower = &rewrite->lower;
  etx_chain_expression words;
  if (!etx_chain_expression_read(rewrite, lower->node, &words) ||
      !(take_operands(rewrite, &words) || has_comparison(lower->node))) {
    return ETX_OK;
  }
  etx_chain_expression_shorten(rewrite, &words);
  const uint32_t self = find_self(rewrite, &words);
  if (self == ETX_IR_NONE) return ETX_OK;
  etx_ir_arg args[3] = {etx_ir_value_arg(self)};
  ETX_TRY(etx_chain_expression_args(lower, &words, self, &args[1], &args[2],
                                    out_done));
  if (!*out_done) return ETX_OK;
  return etx_build_op(lower, ETX_OP_chain_out, args, 3, &lower->results[0]);
}

etx_status etx_pass_fuse_elementwise(etx_pass_context* context) {
  static const etx_rewrite_rule rules[] = {find_chain};
  if (context->options->target != ETX_TARGET_ETX) return ETX_OK;
  return etx_rewrite_module(context, rules, 1);
}
