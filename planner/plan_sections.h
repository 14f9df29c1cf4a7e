// Time in sections: the moments at which a different set of blocks is live.
//
// A section is a largest set of blocks that live together; it closes when a
// death follows a birth. Lifespans in sections are as short as they can be,
// and two of them intersect exactly if the lifespans do.

#ifndef ETX_PLANNER_PLAN_SECTIONS_H
#define ETX_PLANNER_PLAN_SECTIONS_H

#include "planner/plan_events.h"

typedef struct etx_plan_sections {
  uint32_t* first;  // of each block, the first section in which it is live
  uint32_t* limit;  // of each block, one past the last
  uint64_t* load;   // of each section, bytes live in it, rounded to `step`
  uint32_t count;   // sections, at most the blocks
  uint64_t step;    // smallest alignment: sizes are rounded up to it
  const uint32_t* by_first;  // blocks with bytes, by first section, then index
  size_t block_count;        // entries of by_first
} etx_plan_sections;

// Cuts a checked problem into memory from `work`; false if too little is free.
// With a counting arena it only counts.
bool etx_plan_sections_take(etx_plan_sections* sections,
                            const etx_plan_problem* problem, etx_arena* work);

#endif
