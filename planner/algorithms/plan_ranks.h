// Orders in which a placement prefers blocks.
//
// No single order is good for every problem, so there are several; each is
// total, its last key being the number of the block.

#ifndef ETX_PLANNER_ALGORITHMS_PLAN_RANKS_H
#define ETX_PLANNER_ALGORITHMS_PLAN_RANKS_H

#include "planner/problem/plan_partition.h"

// What a block is ranked by; all descending.
typedef enum etx_plan_rank_key {
  ETX_PLAN_KEY_NONE,
  ETX_PLAN_KEY_LIFE,      // length of its lifespan
  ETX_PLAN_KEY_AREA,      // size times life
  ETX_PLAN_KEY_LOAD,      // most units live in one of its sections
  ETX_PLAN_KEY_SECTIONS,  // number of its sections
  ETX_PLAN_KEY_SIZE
} etx_plan_rank_key;

enum { ETX_PLAN_RANK_KEYS = 3 };

// Keys from the first to the last that matters.
typedef struct etx_plan_order {
  etx_plan_rank_key keys[ETX_PLAN_RANK_KEYS];
  // Loads in the same of so many equal steps up to the largest count as equal,
  // so that the next key has a say; 0: all differ.
  uint32_t load_levels;
} etx_plan_order;

// Writes the blocks of `part` to `ranked`, best first. False if `work` has too
// little memory; a counting arena is only counted in. `work` is back at its
// mark.
bool etx_plan_rank(const etx_plan_partition* part, etx_plan_order order,
                   etx_arena* work, uint32_t* ranked);

#endif
