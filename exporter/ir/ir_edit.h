// What rewriting passes share: replacing values, dropping what nobody uses,
// and numbering a method anew.

#ifndef ETX_EXPORTER_IR_IR_EDIT_H
#define ETX_EXPORTER_IR_IR_EDIT_H

#include "exporter/ir/ir.h"

// Value `i` standing for itself, for every value of the method: the start of a
// map for etx_ir_replace. NULL if the host has no memory.
uint32_t* etx_ir_identity_map(etx_pool* pool, const etx_ir_method* method);

// The value that finally stands for `value`: entries may point at values that
// are themselves replaced.
uint32_t etx_ir_resolve(const uint32_t* map, uint32_t value);

// Replaces uses of values by what stands for them, in one argument or
// everywhere (nodes, outputs, mutations). Definitions stay.
void etx_ir_replace_in_arg(etx_ir_arg* arg, const uint32_t* map);
void etx_ir_replace(etx_ir_method* method, const uint32_t* map);

// Lets `output` be what a node appended at or after `first` defines as
// `result`, so that it keeps its name. False if no such node defines it.
bool etx_ir_adopt(etx_ir_method* method, size_t first, uint32_t result,
                  uint32_t output);

// How often each value is used, by nodes, outputs and mutations. NULL if the
// host has no memory.
uint32_t* etx_ir_count_uses(etx_pool* pool, const etx_ir_method* method);

// Node that defines `value`, or NULL if it comes from elsewhere. Origins must
// be right, as they are between passes.
const etx_ir_node* etx_ir_definition(const etx_ir_method* method,
                                     uint32_t value);

// Removes nodes none of whose outputs is used. Lowered nodes have no other
// effect.
ETX_MUST_USE etx_status etx_ir_drop_dead_nodes(etx_ir_module* module,
                                               etx_ir_method* method);

// Removes values that no node defines any more and buffers and constants that
// nobody uses, numbers the rest in order, and sets their origins.
ETX_MUST_USE etx_status etx_ir_renumber(etx_ir_module* module,
                                        etx_ir_method* method);

#endif
