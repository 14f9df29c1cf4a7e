// A planning problem and its solution: what the planner is given, and what it
// gives back. plan.h draws it and solves it.

#ifndef ETX_PLANNER_PROBLEM_PLAN_PROBLEM_H
#define ETX_PLANNER_PROBLEM_PLAN_PROBLEM_H

#include "format/base/arena.h"
#include "format/base/diag.h"
#include "format/base/status.h"

// Effort is counted in steps and never in seconds, so that a plan does not
// depend on the machine. As many take about a second for some hundred blocks,
// and some for a million.
#define ETX_PLAN_STEPS UINT64_C(2000000)
#define ETX_PLAN_STEPS_PER_BLOCK UINT64_C(8)

// Blocks that a problem may have.
#define ETX_PLAN_MAX_BLOCKS (UINT32_C(1) << 27)

// Says that the planner may choose the offset.
#define ETX_PLAN_FREE UINT64_MAX

typedef struct etx_plan_block {
  uint64_t size;       // bytes; 0 is allowed and gets a legal offset
  uint64_t alignment;  // of the offset, a power of two
  uint32_t start;      // first instruction at which it is live
  uint32_t end;        // one past the last; greater than start
  uint64_t fixed;      // an offset it must have, or ETX_PLAN_FREE
} etx_plan_block;

// Asked now and then whether to go on. What it answers may depend on a clock,
// and then so does the plan.
typedef bool (*etx_plan_should_continue)(void* context);

typedef struct etx_plan_problem {
  const etx_plan_block* blocks;
  size_t block_count;
  uint64_t capacity;  // bytes the arena may have at most; 0: no limit, as small
                      // as can be found
  uint64_t steps;     // placements that may be tried; 0: ETX_PLAN_STEPS and
                      // ETX_PLAN_STEPS_PER_BLOCK. Some plan is always made
  etx_plan_should_continue should_continue;  // false: what steps are left are
                                             // not taken; NULL: they are
  void* context;  // of should_continue
} etx_plan_problem;

typedef struct etx_plan_solution {
  uint64_t* offsets;      // block_count entries, the caller's
  uint64_t arena_bytes;   // largest offset + size
  uint64_t lower_bound;   // no plan can be smaller: what is live at once, or
                          // what a search has proved
  const char* algorithm;  // name of the one that found it
  uint64_t steps;         // that were spent on it, at most those given
} etx_plan_solution;

#endif
