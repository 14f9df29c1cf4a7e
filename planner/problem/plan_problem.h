// A planning problem and its solution; see plan.h.

#ifndef ETX_PLANNER_PROBLEM_PLAN_PROBLEM_H
#define ETX_PLANNER_PROBLEM_PLAN_PROBLEM_H

#include "format/base/arena.h"
#include "format/base/diag.h"
#include "format/base/status.h"

// The default limit of planner steps. Effort is counted in steps, not in
// seconds, so that a plan does not depend on the machine. This limit takes
// about a second for some hundred blocks and a few seconds for a million.
#define ETX_PLAN_STEPS UINT64_C(2000000)
#define ETX_PLAN_STEPS_PER_BLOCK UINT64_C(8)

// The largest number of blocks of a problem.
#define ETX_PLAN_MAX_BLOCKS (UINT32_C(1) << 27)

// No fixed offset: the planner chooses it.
#define ETX_PLAN_FREE UINT64_MAX

typedef struct etx_plan_block {
  uint64_t size;       // bytes; 0 is allowed and gets a valid offset
  uint64_t alignment;  // of the offset, a power of two
  uint32_t start;      // first instruction at which it is live
  uint32_t end;        // one past the last; greater than start
  uint64_t fixed;      // an offset it must have, or ETX_PLAN_FREE
} etx_plan_block;

// Called from time to time; false stops the planner. If the result depends on a
// clock, so does the plan.
typedef bool (*etx_plan_should_continue)(void* context);

typedef struct etx_plan_problem {
  const etx_plan_block* blocks;
  size_t block_count;
  uint64_t capacity;  // largest arena in bytes, any arena up to it will do; 0:
                      // no limit, the smallest that can be found
  uint64_t steps;     // limit of planner steps; 0: the default above. Without
                      // steps the planner still finds some plan
  etx_plan_should_continue should_continue;  // may be NULL
  void* context;                             // of should_continue
} etx_plan_problem;

typedef struct etx_plan_solution {
  uint64_t* offsets;      // block_count entries, owned by the caller
  uint64_t arena_bytes;   // largest offset + size
  uint64_t lower_bound;   // no plan can be smaller: the largest number of live
                          // bytes, or more if a search has proved it
  const char* algorithm;  // name of the algorithm that found it
  uint64_t steps;         // planner steps spent, at most the limit
} etx_plan_solution;

#endif
