// For the skyline algorithm: finds the best-ranked block whose lifetime is
// within a range of sections.
//
// Two trees with 16 children per node, stored side by side so that one vector
// loop compares all of them:
//
//   ends   Blocks by first section. Each node has the smallest limit (one past
//          the last section) below it, which tells whether any block fits at
//          all. More than half of the queries end here.
//   slabs  Blocks in slabs of similar first section, sorted by limit within a
//          slab, so that blocks that fit into the same ranges are close
//          together. Each node has the latest first section, the smallest limit
//          and the largest merit below it. The first block of the order has the
//          largest merit.

#ifndef ETX_PLANNER_ALGORITHMS_INTERVAL_INDEX_H
#define ETX_PLANNER_ALGORITHMS_INTERVAL_INDEX_H

#include "planner/problem/plan_partition.h"

enum {
  ETX_INTERVAL_INDEX_WIDTH = 16,
  // 16^7 is ETX_PLAN_MAX_BLOCKS and more.
  ETX_INTERVAL_INDEX_LEVELS = 8
};

// The 16 children of a node of `slabs`, in consecutive cache lines. Signed
// numbers, because those are what vector instructions compare.
typedef struct etx_interval_index_node {
  int32_t firsts[ETX_INTERVAL_INDEX_WIDTH];   // latest first section
  int32_t limits[ETX_INTERVAL_INDEX_WIDTH];   // smallest limit
  int32_t merits[ETX_INTERVAL_INDEX_WIDTH];   // greatest; 0: nothing
  uint32_t blocks[ETX_INTERVAL_INDEX_WIDTH];  // at leaves only
} etx_interval_index_node;

typedef struct etx_interval_index {
  const etx_plan_partition* part;
  uint32_t* starts;                          // of each section, its first block
  int32_t* ends[ETX_INTERVAL_INDEX_LEVELS];  // smallest limit
  etx_interval_index_node* slabs[ETX_INTERVAL_INDEX_LEVELS];
  uint32_t level_count;
  uint64_t looks;  // nodes visited so far, for the count of steps
} etx_interval_index;

// Allocates from `work` for the blocks of `part` and sorts them; false if the
// arena is too small. With a counting arena it only counts.
bool etx_interval_index_take(etx_interval_index* index,
                             const etx_plan_partition* part, etx_arena* work);

// Inserts all blocks that are not fixed. `order` lists them, best first.
void etx_interval_index_fill(etx_interval_index* index, const uint32_t* order);

// Removes and returns the best-ranked block whose sections are within [low,
// high), or returns ETX_PLAN_NONE.
uint32_t etx_interval_index_take_best(etx_interval_index* index, uint32_t low,
                                      uint32_t high);

#endif
