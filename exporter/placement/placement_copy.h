// Copies that a placement needs: old content saved, new content written back.

#ifndef ETX_EXPORTER_PLACEMENT_PLACEMENT_COPY_H
#define ETX_EXPORTER_PLACEMENT_PLACEMENT_COPY_H

#include "exporter/placement/placement.h"
#include "exporter/placement/placement_check.h"

// A copy that remained, for the report.
typedef struct etx_placement_copy {
  uint32_t method;
  etx_text target;  // state, input or output that it is for, or what is
                    // copied
  uint64_t bytes;   // per call, at the upper bounds
  const char* op;   // that copies
  const char* reason;
} etx_placement_copy;

typedef struct etx_placement_copies {
  etx_placement_copy* items;
  size_t count, capacity;
} etx_placement_copies;

ETX_MUST_USE etx_status
etx_placement_copy_report(etx_pool* pool, etx_placement_copies* copies,
                          const etx_placement_copy* copy);

// Copies `source` in front of the node at `position` to a scratch storage of
// its own. The nodes that make `source` a view must stand before.
ETX_MUST_USE etx_status etx_placement_copy_insert(
    etx_ir_module* module, etx_ir_method* method, etx_placement* placement,
    uint32_t source, size_t position, uint32_t* out_value);

// The same into the bytes of `given`, a value that stands for the whole of a
// state or an input.
ETX_MUST_USE etx_status etx_placement_copy_insert_write(
    etx_ir_module* module, etx_ir_method* method, etx_placement* placement,
    uint32_t given, uint32_t source, size_t position, uint32_t* out_value);

// Moves the nodes that make `value` a view in front of `*position`, which
// moves on with the node that stood there. They are no instructions, so
// nothing changes but the order. What they are made of must stand before.
ETX_MUST_USE etx_status etx_placement_copy_hoist(etx_pool* pool,
                                                 etx_ir_method* method,
                                                 const etx_placement* placement,
                                                 uint32_t value,
                                                 size_t* position);

// Saves the conflict's value before it is overwritten. Nodes behind, outputs
// and mutations that are not placed read the copy instead.
ETX_MUST_USE etx_status etx_placement_copy_save(
    etx_ir_module* module, etx_ir_method* method, etx_placement* placement,
    const etx_placement_conflict* conflict, uint32_t* out_value);

#endif
