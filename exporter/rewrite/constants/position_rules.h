// Which nodes compute tables: results whose elements depend on positions alone.
//
// A value of varying sizes is a table if its content at smaller sizes is the
// leading part, in every dimension, of its content at the upper bounds. So it
// can be computed once, when planned, and sliced at run time: arange, masks
// that compare positions, rotary angles, position embeddings.

#ifndef ETX_EXPORTER_REWRITE_CONSTANTS_POSITION_RULES_H
#define ETX_EXPORTER_REWRITE_CONSTANTS_POSITION_RULES_H

#include "exporter/rewrite/constants/known_values.h"

// True if the result of `node` is a table, given that its operands are tables,
// whose contents at the upper bounds are known. `method` has the symbolic
// sizes; its table of expressions may grow.
bool etx_position_rule_holds(etx_ir_method* method,
                             const etx_known_values* known,
                             const etx_ir_node* node);

// True if the node only selects or repeats elements of its operand: a view, a
// slice, an expand, or a tensor that is filled with a number.
bool etx_position_rule_only_selects(const etx_ir_node* node);

// True for the consecutive integers a, a + 1, .. as int64.
bool etx_position_rule_is_consecutive(const etx_ir_constant* constant);

#endif
