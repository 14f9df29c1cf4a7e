// Rewriting lowered nodes by rules: what simplify and the recomposing passes
// share.
//
// The nodes of a method are walked in order into a fresh list. Each is offered
// to the rules, which see its arguments already rewritten; the first that
// takes it appends its replacement with the builder of builder.h and
// stores what stands for the outputs in `lower.results`. A replacement takes
// over the output's name.

#ifndef ETX_EXPORTER_REWRITE_IR_REWRITE_H
#define ETX_EXPORTER_REWRITE_IR_REWRITE_H

#include "exporter/report/fusion_report.h"
#include "exporter/lower/builder/builder.h"
#include "exporter/passes/pass_context.h"

typedef struct etx_rewrite {
  etx_builder lower;           // `node` is the one offered; `args` is not used
  const uint32_t* uses;        // of values of the graph as it was, by index
  size_t value_count;          // values of the graph as it was
  etx_fusion_report* fusions;  // for what rules have to tell
  etx_constant_names* constant_names;  // of constants that rules divide
} etx_rewrite;

// Sets `*out_done` if it took the node.
typedef etx_status (*etx_rewrite_rule)(etx_rewrite* rewrite, bool* out_done);

// Walks `method` once. Nodes that are dead afterwards are gone.
// `*out_changed` is left alone where no rule took a node.
ETX_MUST_USE etx_status etx_rewrite_method(etx_pass_context* context,
                                           etx_ir_method* method,
                                           const etx_rewrite_rule* rules,
                                           size_t rule_count,
                                           bool* out_changed);

// Walks every method of the module once.
ETX_MUST_USE etx_status etx_rewrite_module(etx_pass_context* context,
                                           const etx_rewrite_rule* rules,
                                           size_t rule_count);

// Type of a tensor argument, as etx_builder_shape.
const etx_shape* etx_rewrite_shape(const etx_rewrite* rewrite,
                                   const etx_ir_arg* arg);

// True if the argument is this integer.
bool etx_rewrite_is_int(const etx_ir_arg* arg, int64_t wanted);

// Node that defines a value, or a tensor argument; NULL if there is none.
const etx_ir_node* etx_rewrite_definition(const etx_rewrite* rewrite,
                                          uint32_t value);
const etx_ir_node* etx_rewrite_argument(const etx_rewrite* rewrite,
                                        const etx_ir_arg* arg);

// True of a node of `op`, and not of NULL.
bool etx_rewrite_is_op(const etx_ir_node* node, etx_op_id op);

// Node of `op` that defines tensor argument `position` of `node`, or NULL.
const etx_ir_node* etx_rewrite_operand(const etx_rewrite* rewrite,
                                       const etx_ir_node* node, size_t position,
                                       etx_op_id op);

// Moves on over views that only collapse or add dimensions in front of the last
// two, to the node that is none; stays where there are none. False if a view
// stands there that does more, or one of no node's result.
bool etx_rewrite_step_over_batches(const etx_rewrite* rewrite,
                                   const etx_ir_node** at);

// Moves on over a product with a 0-d tensor, which `*out_factor` becomes; stays
// where there is none. False if the product is another one, or of no node's
// result.
bool etx_rewrite_step_over_factor(const etx_rewrite* rewrite,
                                  const etx_ir_node** at, uint32_t* out_factor);

// True if nothing but the node offered used `value` in the graph as it was.
bool etx_rewrite_is_only_use(const etx_rewrite* rewrite, uint32_t value);

// The constant behind a value: a constant, or a buffer that is no state. NULL
// if there is none.
const etx_ir_constant* etx_rewrite_constant(const etx_ir_module* module,
                                            const etx_ir_method* method,
                                            uint32_t value);

// True if all elements of `constant` have the same bytes, and there is one.
bool etx_rewrite_is_uniform(const etx_ir_constant* constant);

// The number in a uniform constant of a type that a double holds exactly
// enough to compare with small integers. False otherwise.
bool etx_rewrite_number(const etx_ir_constant* constant, double* out_number);

#endif
