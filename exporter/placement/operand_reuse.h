// Which argument's block a result may take over if it dies in the node: what
// the operator, the sizes and the places allow, whatever the order of nodes.

#ifndef ETX_EXPORTER_PLACEMENT_OPERAND_REUSE_H
#define ETX_EXPORTER_PLACEMENT_OPERAND_REUSE_H

#include "exporter/placement/placement.h"

// The value that may lie in an argument's block; ETX_IR_NONE if there is none:
// the node's only result, with a block of its own.
uint32_t etx_operand_reuse_result(const etx_placement* placement,
                                  const etx_ir_node* node);

// True if it may take over the block of the argument at `argument`, once
// nothing else needs that. Storages are those of `placement`.
bool etx_operand_reuse_is_allowed(const etx_ir_method* method,
                                  const etx_placement* placement,
                                  const etx_ir_node* node, size_t argument,
                                  uint32_t result);

#endif
