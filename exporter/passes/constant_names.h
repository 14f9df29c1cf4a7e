// Names of constants that passes compute. A transposed or sliced weight has no
// name of its own; reports and quantisation rules use the name of the buffer it
// came from.

#ifndef ETX_EXPORTER_PASSES_CONSTANT_NAMES_H
#define ETX_EXPORTER_PASSES_CONSTANT_NAMES_H

#include "exporter/ir/ir.h"

typedef struct etx_constant_name {
  uint32_t constant;  // index into module->constants
  uint32_t buffer;    // index into module->buffers
} etx_constant_name;

// The items are in the module's pool.
typedef struct etx_constant_names {
  etx_constant_name* items;
  size_t count, capacity;
} etx_constant_names;

// Records that `constant` was computed from `buffer` and from no other named
// constant.
ETX_MUST_USE etx_status etx_constant_name_add(etx_constant_names* names,
                                              etx_pool* pool, uint32_t constant,
                                              uint32_t buffer);

// Gives constant `to`, which was computed from `from`, all names of `from`.
ETX_MUST_USE etx_status etx_constant_names_inherit(etx_constant_names* names,
                                                   const etx_ir_module* module,
                                                   uint32_t from, uint32_t to);

// The buffer that `value` reads, or that its constant was computed from;
// ETX_IR_NONE if there is none.
uint32_t etx_constant_name_of(const etx_constant_names* names,
                              const etx_ir_value* value);

// All names of a constant, in the order of the buffers: of buffers whose
// initial value it is, and of buffers it was computed from.
ETX_MUST_USE etx_status etx_constant_names_find(const etx_constant_names* names,
                                                const etx_ir_module* module,
                                                uint32_t constant,
                                                etx_text** out_names,
                                                size_t* out_count);

#endif
