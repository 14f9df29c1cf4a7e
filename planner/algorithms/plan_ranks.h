// Orders in which blocks are placed.
//
// No single order is good for every problem, so algorithms try several. Each
// order is total: its last key is the number of the block.

#ifndef ETX_PLANNER_ALGORITHMS_PLAN_RANKS_H
#define ETX_PLANNER_ALGORITHMS_PLAN_RANKS_H

#include "planner/problem/plan_partition.h"

// Sort keys, all descending.
typedef enum etx_plan_rank_key {
  ETX_PLAN_KEY_NONE,
  ETX_PLAN_KEY_LIFE,      // length of its lifetime
  ETX_PLAN_KEY_AREA,      // size times life
  ETX_PLAN_KEY_LOAD,      // largest number of live units in its sections
  ETX_PLAN_KEY_SECTIONS,  // number of its sections
  ETX_PLAN_KEY_SIZE
} etx_plan_rank_key;

enum { ETX_PLAN_RANK_KEYS = 3 };

// Keys from the most to the least significant.
typedef struct etx_plan_order {
  etx_plan_rank_key keys[ETX_PLAN_RANK_KEYS];
  // Loads are rounded to so many levels, so that the next key decides among
  // similar loads; 0: no rounding.
  uint32_t load_levels;
} etx_plan_order;

// Writes the blocks of `part` to `ranked`, best first. False if `work` is too
// small; with a counting arena it only counts. `work` is rewound.
bool etx_plan_rank(const etx_plan_partition* part, etx_plan_order order,
                   etx_arena* work, uint32_t* ranked);

#endif
