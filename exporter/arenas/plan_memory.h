// Memory planning: gives every scratch block of every method an offset in arena
// 1.
//
//   offset ^
//          | stable outputs of b             |
//          +---------------------------------+
//          | stable outputs of a             |
//          +---------------------------------+
//          | blocks of the method that runs  |
//          +---------------------------------+
//
// Methods share the lower range: the plan of each starts at 0, or above the
// methods that were declared concurrent with it (concurrent_methods.h). Stable
// outputs, which must survive calls of other methods, are above all of them, in
// a range that no other method uses.
//
// A module with several memories (memory_list.h) has one such arena for each of
// them: board_memories.h.

#ifndef ETX_EXPORTER_ARENAS_PLAN_MEMORY_H
#define ETX_EXPORTER_ARENAS_PLAN_MEMORY_H

#include "exporter/placement/placement.h"
#include "exporter/arenas/memory_plan.h"

typedef struct etx_memory_options {
  const char* algorithm;     // a planning algorithm, or NULL: all are tried and
                             // the best plan is taken
  bool keeps_regions_apart;  // independent regions share no memory
                             // (region_memory.h)
  bool takes_layouts;        // the file can state further layouts
  uint64_t state_bytes;      // of arena 2, which lies in one of the memories
} etx_memory_options;

// Sets `memory` and `offset` of the scratch storages of all placements. The
// result has one entry for each method, in the module's pool. ETX_BAD_PLAN: a
// memory is too small.
ETX_MUST_USE etx_status etx_plan_memory(const etx_ir_module* module,
                                        etx_placement* placements,
                                        const etx_memory_options* options,
                                        etx_memory_plan** out_memory,
                                        etx_diag* diag);

#endif
