// Elementwise chains (format/ops/chain_steps.h) while passes build them: a
// postfix expression of tokens, each of which reads a value, is a number or
// calls a step.

#ifndef ETX_EXPORTER_FUSE_CHAIN_EXPRESSION_H
#define ETX_EXPORTER_FUSE_CHAIN_EXPRESSION_H

#include "exporter/rewrite/ir_rewrite.h"
#include "format/ops/chain_steps.h"

// A token that is a number. The number becomes a 0-d tensor in the list of
// values when the chain is emitted.
enum { ETX_CHAIN_NUMBER = ETX_STEP_END };

typedef struct etx_chain_token {
  uint8_t step;    // row of chain_steps.def; ETX_STEP_X: reads `value`
  uint32_t value;  // of ETX_STEP_X
  float number;    // of ETX_CHAIN_NUMBER
} etx_chain_token;

typedef struct etx_chain_expression {
  etx_chain_token items[ETX_CHAIN_STEPS_MAX];
  size_t count;
} etx_chain_expression;

// Reads a node that is one step or already a chain. Its operands must be
// float32 and have the sizes of the result, one element, or one row along the
// last dimension. False for other nodes.
bool etx_chain_expression_read(const etx_rewrite* rewrite,
                               const etx_ir_node* node,
                               etx_chain_expression* out_chain);

// The same with rows along the dimension that `trailing` dimensions follow: 0
// is the last one.
bool etx_chain_expression_read_rows(const etx_rewrite* rewrite,
                                    const etx_ir_node* node, size_t trailing,
                                    etx_chain_expression* out_chain);

// Replaces every token that reads `value` by the expression `inner`. Returns
// false and changes nothing if the result would be too long or too deep.
bool etx_chain_expression_inline(etx_chain_expression* chain, uint32_t value,
                                 const etx_chain_expression* inner);

// Replaces an expression that spells out one step (chain_idioms.def) by that
// step.
void etx_chain_expression_shorten(const etx_rewrite* rewrite,
                                  etx_chain_expression* chain);

// The node of `op` that computes an operand of the chain, has no other use and
// has the sizes of the chain's result; NULL if there is none. Of several the
// last in order is taken, because the results of the others exist when it runs.
const etx_ir_node* etx_chain_expression_producer(
    const etx_rewrite* rewrite, const etx_chain_expression* chain,
    etx_op_id op);

// Reports a missed fusion of `kind` if a node of `op` computes an operand of
// the chain. Call it if etx_chain_expression_producer returned NULL.
ETX_MUST_USE etx_status etx_chain_expression_missed(
    const etx_rewrite* rewrite, const etx_chain_expression* chain, etx_op_id op,
    const char* kind);

// Makes the last two arguments of a chain operator: the list of values that the
// chain reads, except `self`, which is its x, and the text of the steps.
// `out_fits` is false if the chain reads too many tensors.
ETX_MUST_USE etx_status etx_chain_expression_args(
    etx_builder* builder, const etx_chain_expression* chain, uint32_t self,
    etx_ir_arg* out_others, etx_ir_arg* out_steps, bool* out_fits);

// True if `value` has the sizes and the type of the node's result.
bool etx_chain_is_full(const etx_rewrite* rewrite, const etx_ir_node* node,
                       uint32_t value);

#endif
