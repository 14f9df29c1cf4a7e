// Choices: nodes that run only if a condition holds (torch.cond).
//
//   0  c = gt(x, 0)
//   1  t = choice(c)            the head of choice 1
//   2    a = add(x, 1)          branch 2: runs if c holds
//   3    b = mul(x, 2)          branch 3: runs if it does not
//   4  y = join(t, a, b)        y is a or b
//   5  z = neg(y)
//
// The nodes of both branches stand in the method's list behind their head,
// the first branch in front of the second, and nothing else between; then
// come the joins. A branch may hold further choices. A value of a branch can be
// read in it, in branches within it and by the joins of its choice; so joins
// are the only way out, and since nodes have no side effects, a join means the
// same as choosing between two values that were both computed. Passes that do
// not know choices are right as long as they keep nodes where they are and in
// their branch.
//
// The head's value is a token of no bytes: it ties the joins to their head and
// keeps it alive. Its argument is the condition, a tensor with one bool, or
// an integer of sizes that is not 0 where the condition holds.
//
// Branch 0 is the method itself.

#ifndef ETX_EXPORTER_IR_IR_COND_H
#define ETX_EXPORTER_IR_IR_COND_H

#include "exporter/ir/ir.h"

// Arguments of a join.
enum { ETX_JOIN_TOKEN, ETX_JOIN_THEN, ETX_JOIN_ELSE, ETX_JOIN_ARGUMENTS };

// Adds a choice that stands in branch `parent`; numbers count from 1.
ETX_MUST_USE etx_status etx_ir_add_cond(etx_ir_module* module,
                                        etx_ir_method* method, uint32_t parent,
                                        uint32_t* out_choice);

// Appends the head, in the choice's parent branch.
ETX_MUST_USE etx_status etx_ir_add_head(etx_ir_module* module,
                                        etx_ir_method* method, uint32_t choice,
                                        const etx_ir_arg* condition,
                                        const etx_source_location* place,
                                        uint32_t* out_token);
// Appends a join whose result is `output`, a value that stands for that node.
ETX_MUST_USE etx_status etx_ir_add_join(etx_ir_module* module,
                                        etx_ir_method* method, uint32_t choice,
                                        uint32_t token, uint32_t then_value,
                                        uint32_t else_value, uint32_t output,
                                        const etx_source_location* place);

bool etx_ir_is_head(const etx_ir_node* node);
bool etx_ir_is_join(const etx_ir_node* node);

// The branches of a choice, and the choice of a branch.
static inline uint32_t etx_ir_then_branch(uint32_t choice) {
  return 2 * choice;
}
static inline uint32_t etx_ir_else_branch(uint32_t choice) {
  return 2 * choice + 1;
}
static inline uint32_t etx_ir_cond_of(uint32_t branch) { return branch / 2; }

// The branch that a branch other than 0 stands in.
uint32_t etx_ir_branch_parent(const etx_ir_method* method, uint32_t branch);
// True if `inner` is `outer` or stands in it.
bool etx_ir_branch_is_within(const etx_ir_method* method, uint32_t inner,
                             uint32_t outer);

// The head of a choice; node_count if it has none any more.
size_t etx_ir_find_head(const etx_ir_method* method, uint32_t choice);
// One past the last node of a branch of the choice whose head stands at
// `head`.
size_t etx_ir_branch_end(const etx_ir_method* method, size_t head,
                         uint32_t branch);

// Where a node of `branch` can be put in front of the node at `position`: there
// or, if that is inside another branch or between joins, at the nearest place
// in front of the choice or behind its joins.
size_t etx_ir_outside_conds(const etx_ir_method* method, uint32_t branch,
                            size_t position);

#endif
