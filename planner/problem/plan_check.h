// Rejects invalid problems, so that later code can add sizes without overflow
// checks.

#ifndef ETX_PLANNER_PROBLEM_PLAN_CHECK_H
#define ETX_PLANNER_PROBLEM_PLAN_CHECK_H

#include "planner/problem/plan_problem.h"

// ETX_OK if start < end for every lifetime, every alignment is a power of two,
// every fixed offset is aligned, and all blocks stacked above the highest fixed
// one end below 2^63. Otherwise ETX_BAD_ARGUMENT, with the index of the block
// in `diag`.
ETX_MUST_USE etx_status etx_plan_check(const etx_plan_problem* problem,
                                       etx_diag* diag);

// True if some block has a fixed offset.
bool etx_plan_has_fixed(const etx_plan_problem* problem);

// The smallest alignment of a block that has bytes; 1 if there is none. Every
// offset of a valid plan is a multiple of it.
uint64_t etx_plan_granularity(const etx_plan_problem* problem);

// Rounds up to a multiple of `alignment`. `value` must be below 2^63.
static inline uint64_t etx_plan_align(uint64_t value, uint64_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

#endif
