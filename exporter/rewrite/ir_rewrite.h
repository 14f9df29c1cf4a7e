// A pattern rewriter over lowered nodes, which most passes of rewrite, fuse and
// quantize use.
//
// The nodes of a method are visited in order and appended to a fresh list. Each
// node is passed to the rules one after the other, with its arguments already
// rewritten. The first rule that matches appends the replacement with the
// builder (builder.h) and stores the values that replace the outputs in
// `builder.results`. A replacement takes over the name of the output.

#ifndef ETX_EXPORTER_REWRITE_IR_REWRITE_H
#define ETX_EXPORTER_REWRITE_IR_REWRITE_H

#include "exporter/report/fusion_report.h"
#include "exporter/lower/builder/builder.h"
#include "exporter/passes/pass_context.h"

typedef struct etx_rewrite {
  etx_builder builder;   // `node` is the one to match; `args` is unused
  const uint32_t* uses;  // number of uses of each value before the rewrite
  size_t value_count;    // values before the rewrite
  etx_fusion_report* fusions;  // where rules report fusions made and missed
  etx_constant_names* constant_names;  // for rules that split constants
  const void* facts;  // what the pass knows of the method, for its own rules
} etx_rewrite;

// Sets `*out_done` if it replaced the node; otherwise leaves it alone. A
// pointer to a node is invalid once the rule has appended one.
typedef etx_status (*etx_rewrite_rule)(etx_rewrite* rewrite, bool* out_done);

// Visits the nodes of `method` once and removes nodes that are dead afterwards.
// Sets `*out_changed` if a rule matched; otherwise leaves it alone.
ETX_MUST_USE etx_status etx_rewrite_method(etx_pass_context* context,
                                           etx_ir_method* method,
                                           const etx_rewrite_rule* rules,
                                           size_t rule_count,
                                           bool* out_changed);

// The same with `facts` for the rules.
ETX_MUST_USE etx_status etx_rewrite_method_with(etx_pass_context* context,
                                                etx_ir_method* method,
                                                const etx_rewrite_rule* rules,
                                                size_t rule_count,
                                                const void* facts,
                                                bool* out_changed);

// etx_rewrite_method for every method of the module.
ETX_MUST_USE etx_status etx_rewrite_module(etx_pass_context* context,
                                           const etx_rewrite_rule* rules,
                                           size_t rule_count);

// Type and sizes of a tensor argument.
const etx_shape* etx_rewrite_shape(const etx_rewrite* rewrite,
                                   const etx_ir_arg* arg);

// True if the argument is this integer.
bool etx_rewrite_is_int(const etx_ir_arg* arg, int64_t wanted);

// The node that computes a value, or a tensor argument; NULL for inputs,
// buffers, constants and arguments that are not tensors.
const etx_ir_node* etx_rewrite_definition(const etx_rewrite* rewrite,
                                          uint32_t value);
const etx_ir_node* etx_rewrite_argument(const etx_rewrite* rewrite,
                                        const etx_ir_arg* arg);

// True if `node` is not NULL and calls `op`.
bool etx_rewrite_is_op(const etx_ir_node* node, etx_op_id op);

// The node that computes tensor argument `position` of `node` if it calls `op`,
// otherwise NULL.
const etx_ir_node* etx_rewrite_operand(const etx_rewrite* rewrite,
                                       const etx_ir_node* node, size_t position,
                                       etx_op_id op);

// Moves `*at` towards the operands over views that change only dimensions
// before the last two. False at any other view, or if a view's operand is not
// computed by a node.
bool etx_rewrite_step_over_batches(const etx_rewrite* rewrite,
                                   const etx_ir_node** at);

// Moves `*at` to the operand of a multiplication with a 0-d tensor, which is
// stored in `*out_factor`; leaves other nodes alone. False at any other
// multiplication, or if the operand is not computed by a node.
bool etx_rewrite_step_over_factor(const etx_rewrite* rewrite,
                                  const etx_ir_node** at, uint32_t* out_factor);

// True if `value` had one use before the rewrite, or was made by a rule.
bool etx_rewrite_is_only_use(const etx_rewrite* rewrite, uint32_t value);

// The constant that a value equals: a constant, or the initial value of a
// buffer that is not a state. NULL if there is none.
const etx_ir_constant* etx_rewrite_constant(const etx_ir_module* module,
                                            const etx_ir_method* method,
                                            uint32_t value);

// True if all elements of `constant` have the same bytes and it is not empty.
bool etx_rewrite_is_uniform(const etx_ir_constant* constant);

// The element of a uniform constant as a double, for floats, int32, int64 and
// bool. False for other types and for constants that are not uniform.
bool etx_rewrite_number(const etx_ir_constant* constant, double* out_number);

#endif
