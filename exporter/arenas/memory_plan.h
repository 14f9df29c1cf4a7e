// The result of planning the scratch of one method.

#ifndef ETX_EXPORTER_ARENAS_MEMORY_PLAN_H
#define ETX_EXPORTER_ARENAS_MEMORY_PLAN_H

#include "format/memory_table/memory_table.h"
#include "format/pte/etx_blob.h"

// Where a storage lies in a further layout.
typedef struct etx_storage_place {
  uint64_t offset;
  uint64_t bytes;  // at the sizes of that layout, at least one
} etx_storage_place;

typedef struct etx_memory_plan {
  uint64_t scratch_bytes;  // that this method needs in all memories
  uint64_t range_start;    // of its part of the shared range; 0 if no other
                           // method may run at the same time
  uint64_t planned_bytes;  // of that part
  uint64_t stable_bytes;   // of its stable outputs
  uint64_t memory_bytes[ETX_MEMORY_TABLE_MOST];    // scratch in each memory
  uint64_t memory_traffic[ETX_MEMORY_TABLE_MOST];  // bytes that a call reads
                                                   // and writes in each of
                                                   // several memories
  uint64_t lower_bound;  // no plan of that part can be smaller
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

#endif
