// The question of the skyline: which is the best block that fits between two
// sections?
//
// Two trees of sixteen children a node, which lie side by side, so that looking
// at all of them costs about as much as looking at one:
//
//   ends   over the blocks by first section, the smallest limit below each
//          node: does anything fit at all? More than half of all questions end
//          here.
//   kinds  over the blocks cut into slabs by first section, each slab by limit,
//          so that blocks which fit between the same sections are near each
//          other; the latest first section, the smallest limit and the
//          greatest merit (the first of the order has most) below each node.

#ifndef ETX_PLANNER_ALGORITHMS_INTERVAL_INDEX_H
#define ETX_PLANNER_ALGORITHMS_INTERVAL_INDEX_H

#include "planner/problem/plan_partition.h"

enum {
  ETX_INTERVAL_INDEX_WIDTH = 16,
  // 16^7 is ETX_PLAN_MAX_BLOCKS and more.
  ETX_INTERVAL_INDEX_LEVELS = 8
};

// Sixteen nodes of kinds that have one parent: a few lines of cache that lie
// side by side. Signed, since that is what vector instructions compare.
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
  etx_interval_index_node* kinds[ETX_INTERVAL_INDEX_LEVELS];
  uint32_t level_count;
  uint64_t looks;  // families looked at so far
} etx_interval_index;

// Takes memory for the blocks of `part` from `work` and sorts them; false if
// too little is free. With a counting arena it only counts.
bool etx_interval_index_take(etx_interval_index* fitting,
                             const etx_plan_partition* part, etx_arena* work);

// Puts all blocks in, but for those that are fixed. `order` lists them, best
// first.
void etx_interval_index_fill(etx_interval_index* fitting,
                             const uint32_t* order);

// Takes out the best-ranked block that lives within the sections [low, high)
// and returns it, or ETX_PLAN_NONE.
uint32_t etx_interval_index_take_best(etx_interval_index* fitting, uint32_t low,
                                      uint32_t high);

#endif
