// Chains of elementwise steps (format/ops/chain_steps.h) while passes put them
// together: words with the values that they read.

#ifndef ETX_EXPORTER_FUSE_CHAIN_EXPRESSION_H
#define ETX_EXPORTER_FUSE_CHAIN_EXPRESSION_H

#include "exporter/rewrite/ir_rewrite.h"
#include "format/ops/chain_steps.h"

// In the place of a step: a number, which becomes an item of the list.
enum { ETX_CHAIN_NUMBER = ETX_STEP_END };

typedef struct etx_chain_token {
  uint8_t step;    // row of chain_steps.def; ETX_STEP_X: a value is read
  uint32_t value;  // of ETX_STEP_X
  float number;    // of ETX_CHAIN_NUMBER
} etx_chain_token;

typedef struct etx_chain_expression {
  etx_chain_token items[ETX_CHAIN_STEPS_MAX];
  size_t count;
} etx_chain_expression;

// Reads a node that is a step, or a chain already, over float32 tensors that
// can be operands of a chain of its result's sizes. False if it is neither.
bool etx_chain_expression_read(const etx_rewrite* rewrite,
                               const etx_ir_node* node,
                               etx_chain_expression* out_words);

// The same where rows that are repeated lie along the dimension that `behind`
// others follow: 0 is the last one.
bool etx_chain_expression_read_rows(const etx_rewrite* rewrite,
                                    const etx_ir_node* node, size_t behind,
                                    etx_chain_expression* out_words);

// How many numbers a word takes; 0 for values and numbers.
size_t etx_chain_token_arity(const etx_chain_token* word);

// Puts `inner` in the place of every word that reads `value`. False, and
// nothing has changed, if that makes the chain too long or too deep.
bool etx_chain_expression_inline(etx_chain_expression* words, uint32_t value,
                                 const etx_chain_expression* inner);

// Makes words that spell out one step (chain_idioms.def) that step.
void etx_chain_expression_shorten(const etx_rewrite* rewrite,
                                  etx_chain_expression* words);

// The node of `op` whose result is read by the chain at hand alone, and has its
// sizes; NULL if there is none. The last of several is taken: the others are
// there when it runs.
const etx_ir_node* etx_chain_expression_producer(
    const etx_rewrite* rewrite, const etx_chain_expression* words,
    etx_op_id op);

// Notes as a `kind` that was missed a node of `op` that others read, too.
ETX_MUST_USE etx_status etx_chain_expression_missed(
    const etx_rewrite* rewrite, const etx_chain_expression* words, etx_op_id op,
    const char* kind);

// The text of a chain and the list of what it reads but for `self`, which is
// its x, as arguments. False if it reads too many tensors.
ETX_MUST_USE etx_status etx_chain_expression_args(
    etx_builder* lower, const etx_chain_expression* words, uint32_t self,
    etx_ir_arg* out_others, etx_ir_arg* out_steps, bool* out_fits);

// True if `value` has the sizes and the type of the node's result.
bool etx_chain_is_full(const etx_rewrite* rewrite, const etx_ir_node* node,
                       uint32_t value);

#endif
