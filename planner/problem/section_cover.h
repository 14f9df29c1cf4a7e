// For each section, the first block of a list that is live in it.

#ifndef ETX_PLANNER_PROBLEM_SECTION_COVER_H
#define ETX_PLANNER_PROBLEM_SECTION_COVER_H

#include "planner/problem/plan_partition.h"

// Sets covers[section] to the first block of `items` that is live in that
// section, or to ETX_PLAN_NONE. `skips` is work space of section_count + 1
// entries. Takes nearly linear time, because a section that is set is not
// visited again.
void etx_section_cover_fill(const etx_plan_partition* part,
                            const uint32_t* items, size_t count,
                            uint32_t* covers, uint32_t* skips);

#endif
