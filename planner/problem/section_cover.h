// Of each section, the first block of a list that lives in it.

#ifndef ETX_PLANNER_PROBLEM_SECTION_COVER_H
#define ETX_PLANNER_PROBLEM_SECTION_COVER_H

#include "planner/problem/plan_partition.h"

// Fills `painters`, one a section, with the block of `items` that comes first
// and lives there, or ETX_PLAN_NONE. `skips` is scratch, one entry a section
// and one more. Near linear: no section is painted twice.
void etx_section_cover_fill(const etx_plan_partition* part,
                            const uint32_t* items, size_t count,
                            uint32_t* painters, uint32_t* skips);

#endif
