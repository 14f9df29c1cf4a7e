// Conditionals (torch.cond): nodes that run only if a condition holds.
//
//   0  c = gt(x, 0)
//   1  t = cond(c)            the branch head of conditional 1
//   2    a = add(x, 1)          branch 2: runs if c holds
//   3    b = mul(x, 2)          branch 3: runs if it does not
//   4  y = join(t, a, b)        y is a or b
//   5  z = neg(y)
//
// In the method's list of nodes, the head is followed by the nodes of the first
// branch, those of the second branch, and the joins, with no other nodes in
// between. Conditionals may be nested. A value of a branch is visible in that
// branch, in branches within it, and to the joins of its conditional. Joins are
// the only way out of a branch. Since nodes have no side effects, a join is
// equivalent to a select between two values that were both computed. So a pass
// that does not handle conditionals is correct if it does not move nodes and
// keeps their branch.
//
// The output of the head is a token without bytes: it ties the joins to their
// head and keeps the head alive. The argument of the head is the condition: a
// bool tensor of one element, or an integer over sizes that is not 0 where the
// condition holds.
//
// Branch 0 is the method itself; conditional n has the branches 2n and 2n + 1.

#ifndef ETX_EXPORTER_IR_IR_COND_H
#define ETX_EXPORTER_IR_IR_COND_H

#include "exporter/ir/ir.h"

// Arguments of a join.
enum { ETX_JOIN_TOKEN, ETX_JOIN_THEN, ETX_JOIN_ELSE, ETX_JOIN_ARGUMENTS };

// Adds a conditional within branch `parent`. Numbers start at 1.
ETX_MUST_USE etx_status etx_ir_add_cond(etx_ir_module* module,
                                        etx_ir_method* method, uint32_t parent,
                                        uint32_t* out_cond);

// Appends the branch head, in the parent branch of the conditional.
ETX_MUST_USE etx_status etx_ir_add_head(etx_ir_module* module,
                                        etx_ir_method* method, uint32_t cond,
                                        const etx_ir_arg* condition,
                                        const etx_source_location* place,
                                        uint32_t* out_token);
// One result of a conditional.
typedef struct etx_ir_join {
  uint32_t cond;
  uint32_t token;       // output of the branch head
  uint32_t then_value;  // the result if the condition holds
  uint32_t else_value;  // the result if it does not
  uint32_t output;      // the value that the join defines
} etx_ir_join;

// Appends a join.
ETX_MUST_USE etx_status etx_ir_add_join(etx_ir_module* module,
                                        etx_ir_method* method,
                                        const etx_ir_join* join,
                                        const etx_source_location* place);

bool etx_ir_is_head(const etx_ir_node* node);
bool etx_ir_is_join(const etx_ir_node* node);

// The branches of a conditional, and the conditional of a branch.
static inline uint32_t etx_ir_then_branch(uint32_t cond) { return 2 * cond; }
static inline uint32_t etx_ir_else_branch(uint32_t cond) {
  return 2 * cond + 1;
}
static inline uint32_t etx_ir_cond_of(uint32_t branch) { return branch / 2; }

// The branch that contains the conditional of `branch`, which is not 0.
uint32_t etx_ir_branch_parent(const etx_ir_method* method, uint32_t branch);
// True if branch `inner` is `outer` or nested in it.
bool etx_ir_branch_is_within(const etx_ir_method* method, uint32_t inner,
                             uint32_t outer);

// The position of the head of a conditional; node_count if it was removed.
size_t etx_ir_find_head(const etx_ir_method* method, uint32_t cond);
// One past the last node of `branch`, a branch of the conditional whose head is
// node `head`.
size_t etx_ir_branch_end(const etx_ir_method* method, size_t head,
                         uint32_t branch);

// The position at which to insert a node of `branch` that should run just
// before the node at `position`. That is `position` itself, unless it is inside
// another branch (then: the head of that conditional) or at a join (then: after
// the joins).
size_t etx_ir_outside_conds(const etx_ir_method* method, uint32_t branch,
                            size_t position);

#endif
