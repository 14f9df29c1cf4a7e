// Of each section, the first block of a list that lives in it.

#ifndef ETX_PLANNER_PLAN_PAINT_H
#define ETX_PLANNER_PLAN_PAINT_H

#include "planner/plan_parts.h"

// Fills `painters`, one a section, with the block of `items` that comes first
// and lives there, or ETX_PLAN_NONE. `skips` is scratch, one entry a section
// and one more. Near linear: no section is painted twice.
void etx_plan_paint(const etx_plan_part* part, const uint32_t* items,
                    size_t count, uint32_t* painters, uint32_t* skips);

#endif
