// The question of the skyline: which is the best block that fits between two
// sections?
//
// A binary tree over the blocks in order of their first section keeps in each
// node the smallest limit and the best rank below it. A node is skipped if
// even its shortest lifespan ends too late, or its best rank is no better than
// what was found.

#ifndef ETX_PLANNER_PLAN_FITTING_H
#define ETX_PLANNER_PLAN_FITTING_H

#include "planner/plan_sections.h"

// "Nothing fits"; also the rank of a block that is out.
#define ETX_PLAN_FITS_NONE UINT32_MAX

typedef struct etx_plan_fitting {
  const etx_plan_sections* sections;
  uint32_t* starts;     // of each section, the position of its first block
  uint32_t* positions;  // of each block, its position in by_first
  uint32_t* limits;     // tree: smallest limit below each node; root is 1
  uint32_t* ranks;      // tree: best (smallest) rank below each node
  size_t leaves;        // a power of two, at least one
} etx_plan_fitting;

// Takes memory for a problem of `block_count` blocks from `work`; false if too
// little is free. With a counting arena it only counts.
bool etx_plan_fitting_take(etx_plan_fitting* fitting, size_t block_count,
                           etx_arena* work);

// Puts all blocks of `sections` in, with the ranks given by block.
void etx_plan_fitting_fill(etx_plan_fitting* fitting,
                           const etx_plan_sections* sections,
                           const uint32_t* ranks);

// The best rank of a block that lives within the sections [low, high), or
// ETX_PLAN_FITS_NONE.
uint32_t etx_plan_fitting_best(const etx_plan_fitting* fitting, uint32_t low,
                               uint32_t high);

// Takes a block out.
void etx_plan_fitting_remove(etx_plan_fitting* fitting, uint32_t block);

#endif
