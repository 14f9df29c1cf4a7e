// What a placement algorithm is: one signature for all. Algorithms never see
// each other.

#ifndef ETX_PLANNER_ALGORITHMS_PLAN_ALGORITHM_H
#define ETX_PLANNER_ALGORITHMS_PLAN_ALGORITHM_H

#include "planner/problem/plan_partition.h"

// How far the contest over a part has come when it is an algorithm's turn. All
// but the steps are units.
typedef struct etx_plan_goal {
  uint32_t low;     // no plan has less; an algorithm may raise it
  uint32_t enough;  // no plan has to have less
  uint32_t best;    // only plans that have less are wanted
  uint64_t steps;   // an algorithm may take; it subtracts what it took
} etx_plan_goal;

// Places the blocks of a part: writes an offset in units for each. Takes what
// it needs from `work` and need not give it back. With a counting arena only
// `part->block_count` is known: the function takes its memory for that many
// blocks and sections and returns, so that the same lines say how much it is.
// ETX_NOT_FOUND if it found nothing below `goal->best` with its steps,
// ETX_UNSUPPORTED if it cannot do this kind of problem, ETX_OUT_OF_MEMORY if
// `work` is too small.
typedef etx_status (*etx_plan_run_function)(const etx_plan_partition* part,
                                            etx_plan_goal* goal,
                                            etx_arena* work, uint32_t* offsets);

#define ALGORITHM(symbol, sentence)                                         \
  ETX_MUST_USE etx_status etx_plan_##symbol##_run(                          \
      const etx_plan_partition* part, etx_plan_goal* goal, etx_arena* work, \
      uint32_t* offsets);
#include "planner/algorithms/plan_algorithms.def"
#undef ALGORITHM

// Takes the steps of an algorithm that looks at every two blocks, quickly;
// false if there are too few.
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
