// Inserts the copies that a placement needs: old content is saved, new content
// is written back.

#ifndef ETX_EXPORTER_PLACEMENT_PLACEMENT_COPY_H
#define ETX_EXPORTER_PLACEMENT_PLACEMENT_COPY_H

#include "exporter/placement/placement.h"
#include "exporter/placement/placement_check.h"

// A copy that could not be avoided, for the report.
typedef struct etx_placement_copy {
  uint32_t method;
  etx_text target;  // the state, input or output that is copied to or from
  uint64_t bytes;   // per call, at the upper bounds
  const char* op;   // the operator that copies
  const char* reason;
} etx_placement_copy;

typedef struct etx_placement_copies {
  etx_placement_copy* items;
  size_t count, capacity;
} etx_placement_copies;

ETX_MUST_USE etx_status
etx_placement_copy_report(etx_pool* pool, etx_placement_copies* copies,
                          const etx_placement_copy* copy);

// A method of a module, with its placement.
typedef struct etx_placed_method {
  etx_ir_module* module;
  etx_ir_method* method;
  etx_placement* placement;
} etx_placed_method;

// Inserts a copy of `source` to a scratch storage of its own, in front of the
// node at `position`. The nodes that make `source` a view must be before it.
ETX_MUST_USE etx_status etx_placement_copy_insert(const etx_placed_method* m,
                                                  uint32_t source,
                                                  size_t position,
                                                  uint32_t* out_value);

// Inserts a copy of `source` to the bytes of `target`, the value of a whole
// state or input.
ETX_MUST_USE etx_status etx_placement_copy_insert_write(
    const etx_placed_method* m, uint32_t target, uint32_t source,
    size_t position, uint32_t* out_value);

// Moves the nodes that make `value` a view in front of the node at `*position`,
// and increases `*position` so that it still names that node. Views have no
// instructions, so nothing else changes. The instructions that `value` depends
// on must be before `*position`.
ETX_MUST_USE etx_status etx_placement_copy_hoist(etx_pool* pool,
                                                 etx_ir_method* method,
                                                 const etx_placement* placement,
                                                 uint32_t value,
                                                 size_t* position);

// Copies the conflict's value before it is overwritten. Later nodes, outputs,
// and mutations that are not in place read the copy instead.
ETX_MUST_USE etx_status etx_placement_copy_save(
    const etx_placed_method* m, const etx_placement_conflict* conflict,
    uint32_t* out_value);

#endif
