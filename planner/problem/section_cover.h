// For each section, the first block of a list that is live in it.

#ifndef ETX_PLANNER_PROBLEM_SECTION_COVER_H
#define ETX_PLANNER_PROBLEM_SECTION_COVER_H

#include "planner/problem/plan_partition.h"

// Sets `covers` for each section to the first block of `items` that is live
// there, or ETX_PLAN_NONE. `skips` is scratch with one entry per section and
// one more. Nearly linear, because no section is visited twice.
void etx_section_cover_fill(const etx_plan_partition* part,
                            const uint32_t* items, size_t count,
                            uint32_t* covers, uint32_t* skips);

#endif
