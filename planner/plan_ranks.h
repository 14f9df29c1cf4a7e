// Orders in which a placement prefers blocks.
//
// No single order is good for every problem, so there are several; each is
// total, its last key being the index of the block.

#ifndef ETX_PLANNER_PLAN_RANKS_H
#define ETX_PLANNER_PLAN_RANKS_H

#include "planner/plan_sections.h"

// What a block is ranked by; all descending.
typedef enum etx_plan_key {
  ETX_PLAN_KEY_LIFE,      // length of its lifespan
  ETX_PLAN_KEY_AREA,      // size times life, at most UINT64_MAX
  ETX_PLAN_KEY_LOAD,      // most bytes live in one of its sections
  ETX_PLAN_KEY_SECTIONS,  // number of its sections
  ETX_PLAN_KEY_SIZE,
  ETX_PLAN_KEY_COUNT
} etx_plan_key;

enum { ETX_PLAN_ORDER_COUNT = 7 };

typedef struct etx_plan_ranks {
  const etx_plan_sections* sections;
  uint64_t* keys[ETX_PLAN_KEY_COUNT];  // of each block
  uint64_t* loads;    // tree over the sections: largest load below each node
  uint32_t* order;    // blocks with bytes, best first
  uint32_t* ranks;    // of each block, its position in `order`
  uint32_t* scratch;  // for sorting
} etx_plan_ranks;

// Takes memory for `block_count` blocks from `work`; false if too little is
// free. With a counting arena it only counts.
bool etx_plan_ranks_take(etx_plan_ranks* ranks, size_t block_count,
                         etx_arena* work);

// Computes the keys of all blocks.
void etx_plan_ranks_fill(etx_plan_ranks* ranks, const etx_plan_problem* problem,
                         const etx_plan_sections* sections);

// Ranks the blocks by the order of that index, below ETX_PLAN_ORDER_COUNT.
void etx_plan_ranks_sort(etx_plan_ranks* ranks, size_t order);

#endif
