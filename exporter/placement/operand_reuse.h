// Which operand's block a result may take over if the operand dies in the node.
// Only the operator, the sizes and the storages are checked; whether the
// operand dies depends on the order of nodes.

#ifndef ETX_EXPORTER_PLACEMENT_OPERAND_REUSE_H
#define ETX_EXPORTER_PLACEMENT_OPERAND_REUSE_H

#include "exporter/placement/placement.h"

// True if the value is a whole scratch block, which holds no input.
bool etx_operand_reuse_is_block(const etx_placement* placement, uint32_t value);

// The value that may take over an operand's block: the node's only result, if
// it has a block of its own. ETX_IR_NONE if there is none.
uint32_t etx_operand_reuse_result(const etx_placement* placement,
                                  const etx_ir_node* node);

// True if `result` may take over the block of the argument at `argument` when
// nothing else needs it. Storages are those of `placement`.
bool etx_operand_reuse_is_allowed(const etx_ir_method* method,
                                  const etx_placement* placement,
                                  const etx_ir_node* node, size_t argument,
                                  uint32_t result);

#endif
