// Keeps the memory of independent regions apart (--parallel-regions).
//
//   offset ^ +-----------------+
//          | | block of region 1   |     a group: nodes 3 to 9
//          | +-----------------+
//          | | block of region 0   |
//          +-+-----------------+----> node
//            3                 9
//
// Regions of a group may run at the same time, in any order
// (format/base/independent_regions.h). A value that only one region uses lies
// in the block of its region, where values take over each other's memory as in
// any plan. The blocks live as long as the group. Every other value that a node
// of a group uses lives from the beginning to the end of the group, at least.

#ifndef ETX_EXPORTER_ARENAS_REGION_MEMORY_H
#define ETX_EXPORTER_ARENAS_REGION_MEMORY_H

#include "exporter/placement/liveness.h"

// The memory of the values that only one region uses.
typedef struct etx_region_block {
  uint64_t bytes;  // 0: there are none
  uint32_t start;  // first node of the group
  uint32_t end;    // one past its last
} etx_region_block;

typedef struct etx_region_memory {
  etx_region_block* blocks;
  size_t block_count;
  uint32_t* block_of_storage;  // ETX_IR_NONE: it is in none
  uint64_t* offset_in_block;   // by storage
} etx_region_memory;

// Finds the regions of a method, extends `lifetimes` of values that several
// regions use, and plans the block of each region. Arrays live in `pool`.

ETX_MUST_USE etx_status etx_region_memory_plan(etx_pool* pool,
                                               const etx_ir_method* method,
                                               const etx_placement* placement,
                                               etx_live_interval* lifetimes,
                                               uint64_t alignment,
                                               etx_region_memory* out_memory);

#endif
