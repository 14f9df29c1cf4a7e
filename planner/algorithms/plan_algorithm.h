// The interface of a planning algorithm.

#ifndef ETX_PLANNER_ALGORITHMS_PLAN_ALGORITHM_H
#define ETX_PLANNER_ALGORITHMS_PLAN_ALGORITHM_H

#include "planner/problem/plan_partition.h"

// What is known of a part when an algorithm starts. All but the steps are
// units.
typedef struct etx_plan_goal {
  uint32_t low;     // lower bound of the arena; an algorithm may raise it
  uint32_t enough;  // an arena of this size ends the search
  uint32_t best;    // arena of the best plan so far: only smaller plans count
  uint64_t steps;   // steps that are left; an algorithm subtracts what it uses
} etx_plan_goal;

// Places the blocks of a part: writes an offset in units for each. It allocates
// from `work` without freeing; the caller rewinds the arena. With a counting
// arena only `part->block_count` is valid: the function allocates for that many
// blocks and sections and returns, so that the same code measures the memory it
// needs. ETX_NOT_FOUND if it found no plan below `goal->best` with its steps,
// ETX_UNSUPPORTED if it does not support this kind of problem,
// ETX_OUT_OF_MEMORY if `work` is too small.
typedef etx_status (*etx_plan_run_function)(const etx_plan_partition* part,
                                            etx_plan_goal* goal,
                                            etx_arena* work, uint32_t* offsets);

#define ALGORITHM(symbol, sentence)                                         \
  ETX_MUST_USE etx_status etx_plan_##symbol##_run(                          \
      const etx_plan_partition* part, etx_plan_goal* goal, etx_arena* work, \
      uint32_t* offsets);
#include "planner/algorithms/plan_algorithms.def"
#undef ALGORITHM

// Subtracts the steps of an algorithm that compares every two blocks; false if
// there are too few.
static inline bool etx_plan_spend_pair_steps(const etx_plan_partition* part,
                                             etx_plan_goal* goal) {
  enum { PAIRS_PER_STEP = 64 };
  const uint64_t count = part->block_count;
  const uint64_t cost = count + count * count / (2 * PAIRS_PER_STEP);
  if (!etx_plan_may_continue(part, &goal->steps) || goal->steps < cost) {
    return false;
  }
  goal->steps -= cost;
  return true;
}

#endif
