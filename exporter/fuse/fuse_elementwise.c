// Fuses chains of elementwise operators into one loop over memory. The chain is
// a postfix expression over x and a list of other tensors. A number in its text
// is a position in the list:
//
//   mul(silu(a), b)                         ->  chain(a, [b],
//                                                     "x silu 0 multiply")
//   where(gt(x, 5), x, exp(x))              ->  chain(x, [5],
//                                                     "0 x less x x exp
//                                                     select")
//   div(mul(x, clamp(add(x, 3), 0, 6)), 6)  ->  chain(x, [], "x hardswish")
//
// An operator is fused into the only node that reads it; a comparison is fused
// into every where() that reads it. Each step computes what its operator did,
// so results are bit-equal, except for spelled-out functions that one step
// computes more exactly (chain_idioms.def).

#include "exporter/fuse/chain_expression.h"
#include "exporter/ir/ir_edit.h"
#include "exporter/passes/pass_context.h"

// Inlines every operand that has no other use and is itself a chain.
static bool inline_operands(const etx_rewrite* rewrite,
                            etx_chain_expression* chain) {
  const etx_ir_node* const node = rewrite->builder.node;
  const etx_chain_expression given = *chain;
  bool is_changed = false;
  for (size_t i = 0; i < given.count; ++i) {
    const etx_chain_token token = given.items[i];
    etx_chain_expression inner;
    if (token.step != ETX_STEP_X ||
        !etx_rewrite_is_only_use(rewrite, token.value) ||
        !etx_chain_is_full(rewrite, node, token.value)) {
      continue;
    }
    const etx_ir_node* const definition =
        etx_ir_definition(rewrite->builder.method, token.value);
    if (definition != NULL &&
        etx_chain_expression_read(rewrite, definition, &inner) &&
        etx_chain_expression_inline(chain, token.value, &inner)) {
      is_changed = true;
    }
  }
  return is_changed;
}

// True for a where(). etx_chain_expression_read accepts it only with a
// comparison as condition, and has read that into the chain too.
static bool includes_comparison(const etx_ir_node* node) {
  return node->op->id == ETX_OP_where_self_out;
}

// The first operand that has the sizes of the result; ETX_IR_NONE if all of
// them are broadcast.
static uint32_t find_self(const etx_rewrite* rewrite,
                          const etx_chain_expression* chain) {
  for (size_t i = 0; i < chain->count; ++i) {
    const etx_chain_token token = chain->items[i];
    if (token.step == ETX_STEP_X &&
        etx_chain_is_full(rewrite, rewrite->builder.node, token.value)) {
      return token.value;
    }
  }
  return ETX_IR_NONE;
}

static etx_status fuse_chain(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  etx_chain_expression chain;
  if (!etx_chain_expression_read(rewrite, builder->node, &chain) ||
      !(inline_operands(rewrite, &chain) ||
        includes_comparison(builder->node))) {
    return ETX_OK;
  }
  etx_chain_expression_shorten(rewrite, &chain);
  const uint32_t self = find_self(rewrite, &chain);
  if (self == ETX_IR_NONE) return ETX_OK;
  etx_ir_arg args[3] = {etx_ir_value_arg(self)};
  ETX_TRY(etx_chain_expression_args(builder, &chain, self, &args[1], &args[2],
                                    out_done));
  if (!*out_done) return ETX_OK;
  return etx_build_op(builder, ETX_OP_chain_out, args, 3, &builder->results[0]);
}

etx_status etx_pass_fuse_elementwise(etx_pass_context* context) {
  static const etx_rewrite_rule rules[] = {fuse_chain};
  if (context->options->target != ETX_TARGET_ETX) return ETX_OK;
  return etx_rewrite_module(context, rules, 1);
}
