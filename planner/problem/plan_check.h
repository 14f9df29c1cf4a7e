// Refuses problems that contradict themselves, so that everything behind it
// may add sizes without looking.

#ifndef ETX_PLANNER_PROBLEM_PLAN_CHECK_H
#define ETX_PLANNER_PROBLEM_PLAN_CHECK_H

#include "planner/problem/plan_problem.h"

// ETX_OK if every lifespan has a length, every alignment is a power of two,
// every fixed offset obeys its alignment, and all blocks stacked above the
// highest fixed one end within 63 bits. ETX_BAD_ARGUMENT otherwise, with the
// index of the block in `diag`.
ETX_MUST_USE etx_status etx_plan_check(const etx_plan_problem* problem,
                                       etx_diag* diag);

// True if some block has to have a given offset.
bool etx_plan_has_fixed(const etx_plan_problem* problem);

// The smallest alignment of a block that has bytes; 1 if there is none. Every
// offset of a valid plan is a multiple of it.
uint64_t etx_plan_granularity(const etx_plan_problem* problem);

// The next multiple of `alignment`; `value` is known to be within 63 bits.
static inline uint64_t etx_plan_align(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

#endif
