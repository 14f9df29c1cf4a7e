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

#ifndef ETX_EXPORTER_ARENAS_PLAN_MEMORY_H
#define ETX_EXPORTER_ARENAS_PLAN_MEMORY_H

#include "exporter/placement/placement.h"
#include "format/pte/etx_blob.h"

// Where a storage lies in a further layout.
typedef struct etx_storage_place {
  uint64_t offset;
  uint64_t bytes;  // at the sizes of that layout, at least one
} etx_storage_place;

typedef struct etx_memory_plan {
  uint64_t scratch_bytes;  // size of arena 1 that this method needs
  uint64_t range_start;    // of its part of the shared range; 0 if no other
                           // method may run at the same time
  uint64_t planned_bytes;  // of that part
  uint64_t stable_bytes;   // of its stable outputs
  uint64_t lower_bound;    // no plan of that part can be smaller
  size_t block_count;
  size_t peak_node;  // the node at which most bytes are live
  const char* algorithm;
  uint64_t steps;  // planner steps for that part
  // Further layouts of the method's storages, by storage (plan_sizes.h).
  etx_storage_place* layouts[ETX_BLOB_MOST_LAYOUTS];
  size_t layout_count;
  uint64_t worst_ratio;  // of the bytes at smaller sizes to their lower bound,
                         // in thousandths (plan_sizes.h); 0: not measured
} etx_memory_plan;

typedef struct etx_memory_options {
  const char* algorithm;     // a planning algorithm, or NULL: all are tried and
                             // the best plan is taken
  bool keeps_regions_apart;  // independent regions share no memory
                             // (region_memory.h)
  bool takes_layouts;        // the file can state further layouts
} etx_memory_options;

// Sets `offset` of the scratch storages of all placements. The result has one
// entry for each method, in the module's pool.
ETX_MUST_USE etx_status etx_plan_memory(const etx_ir_module* module,
                                        etx_placement* placements,
                                        const etx_memory_options* options,
                                        etx_memory_plan** out_memory,
                                        etx_diag* diag);

#endif
