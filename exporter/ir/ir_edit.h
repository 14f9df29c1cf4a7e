// Edits of a method, for passes: replace values, remove dead nodes, renumber.

#ifndef ETX_EXPORTER_IR_IR_EDIT_H
#define ETX_EXPORTER_IR_IR_EDIT_H

#include "exporter/ir/ir.h"

// A replacement map that replaces nothing: entry i is i, for every value of the
// method. Passes edit it for etx_ir_replace. NULL if there is no memory.
uint32_t* etx_ir_identity_map(etx_pool* pool, const etx_ir_method* method);

// Replaces every use of value i by map[i], in one argument or in the whole
// method (nodes, outputs, mutations). Entries may form chains: map[i] may
// itself be replaced. Definitions do not change.
void etx_ir_replace_in_arg(etx_ir_arg* arg, const uint32_t* map);
void etx_ir_replace(etx_ir_method* method, const uint32_t* map);

// If a node at or after position `first` defines `result`, makes it define
// `output` instead, so that the name of `output` is kept, and updates the uses
// in those nodes. False if no such node defines `result`.
bool etx_ir_adopt(etx_ir_method* method, size_t first, uint32_t result,
                  uint32_t output);

// Copies a method: changes of the copy leave `method` as it is.
ETX_MUST_USE etx_status etx_ir_copy_method(etx_pool* pool,
                                           const etx_ir_method* method,
                                           etx_ir_method* out_copy);

// The number of uses of each value by nodes, outputs and mutations. NULL if
// there is no memory.
uint32_t* etx_ir_count_uses(etx_pool* pool, const etx_ir_method* method);

// The node that defines `value`; NULL for an input, buffer or constant. Origins
// must be up to date, as they are between passes.
const etx_ir_node* etx_ir_definition(const etx_ir_method* method,
                                     uint32_t value);

// Dead code elimination: removes nodes none of whose outputs is used. Nodes
// have no side effects.
ETX_MUST_USE etx_status etx_ir_drop_dead_nodes(etx_ir_module* module,
                                               etx_ir_method* method);

// Removes values without a defining node and values of unused buffers and
// constants, renumbers the rest in order, and sets their origins.
ETX_MUST_USE etx_status etx_ir_renumber(etx_ir_module* module,
                                        etx_ir_method* method);

// Updates the values that nodes [from, to) define after these nodes were moved.
void etx_ir_renumber_outputs(etx_ir_method* method, size_t from, size_t to);

#endif
