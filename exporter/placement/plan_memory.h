// Gives every scratch block of every method its offset in arena 1.
//
//   offset ^
//          |           | stable outputs of a | stable outputs of b |
//          +-----------+---------------------+---------------------+
//          | blocks of one method at a time  |
//          +---------------------------------+--> method
//
// Methods share the lower range: each starts again at 0, or above those that
// were declared to run beside it (exporter/placement/concurrent_methods.h). An
// output that is to survive calls of other methods lies above all of them, in a
// range that no other method's plan touches.

#ifndef ETX_EXPORTER_PLACEMENT_PLAN_MEMORY_H
#define ETX_EXPORTER_PLACEMENT_PLAN_MEMORY_H

#include "exporter/placement/placement.h"

typedef struct etx_memory_plan {
  uint64_t scratch_bytes;  // of arena 1 as this method states it
  uint64_t range_start;    // of its part of the lower range; 0 if no method
                           // may run beside it
  uint64_t planned_bytes;  // of that part
  uint64_t stable_bytes;   // of its own range above
  uint64_t lower_bound;    // no plan of that part can be smaller
  size_t block_count;
  size_t peak_node;  // where most bytes are live
  const char* algorithm;
  uint64_t steps;  // of the planner, spent on that part
} etx_memory_plan;

// Sets `offset` of the scratch storages of all placements. `algorithm` is a
// planner's name or NULL for the best. The result has one entry a method, in
// the module's pool.
ETX_MUST_USE etx_status etx_plan_memory(const etx_ir_module* module,
                                        etx_placement* placements,
                                        const char* algorithm,
                                        etx_memory_plan** out_memory,
                                        etx_diag* diag);

#endif
