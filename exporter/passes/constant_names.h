// From which buffer a folded constant came: a transposed or sliced weight has
// no name of its own, but its author knows it by the buffer's.

#ifndef ETX_EXPORTER_PASSES_CONSTANT_NAMES_H
#define ETX_EXPORTER_PASSES_CONSTANT_NAMES_H

#include "exporter/ir/ir.h"

typedef struct etx_constant_name {
  uint32_t constant;
  uint32_t buffer;
} etx_constant_name;

// In the module's pool.
typedef struct etx_constant_names {
  etx_constant_name* items;
  size_t count, capacity;
} etx_constant_names;

// Notes that `constant` was computed from `buffer` and from nothing else that
// has a name.
ETX_MUST_USE etx_status etx_constant_name_add(etx_constant_names* names,
                                              etx_pool* pool, uint32_t constant,
                                              uint32_t buffer);

// Lets constant `to`, which was made from `from`, have all of its names.
ETX_MUST_USE etx_status etx_constant_names_inherit(etx_constant_names* names,
                                                   const etx_ir_module* module,
                                                   uint32_t from, uint32_t to);

// The buffer that a value of a method is, or that its constant was computed
// from; ETX_IR_NONE if there is none.
uint32_t etx_constant_name_of(const etx_constant_names* names,
                              const etx_ir_value* value);

// All names of a constant, in the order of the buffers: of those whose content
// it is, and of those it was computed from.
ETX_MUST_USE etx_status etx_constant_names_find(const etx_constant_names* names,
                                                const etx_ir_module* module,
                                                uint32_t constant,
                                                etx_text** out_names,
                                                size_t* out_count);

#endif
