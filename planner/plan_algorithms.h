// The list of algorithms. They share one signature and never see each other;
// only plan_algorithms.c, which runs them, sees them all.

#ifndef ETX_PLANNER_PLAN_ALGORITHMS_H
#define ETX_PLANNER_PLAN_ALGORITHMS_H

#include "planner/plan.h"

// How far the contest has come when it is an algorithm's turn.
typedef struct etx_plan_goal {
  uint64_t lower_bound;  // no plan is smaller; an algorithm may raise it
  uint64_t enough;       // no plan has to be smaller
  uint64_t best;         // bytes of the smallest plan so far; UINT64_MAX
  uint64_t steps;        // an algorithm may take; it subtracts what it took
} etx_plan_goal;

// Places the blocks of a checked problem: writes an offset for every block.
// Takes what it needs from `work` and need not give it back; with a counting
// arena it takes and returns, so that the same lines say how much that is.
// ETX_NOT_FOUND if it found nothing smaller than `goal->best`,
// ETX_UNSUPPORTED if it cannot do this kind of problem, ETX_OUT_OF_MEMORY if
// `work` is too small.
typedef etx_status (*etx_plan_run)(const etx_plan_problem* problem,
                                   etx_plan_goal* goal, etx_arena* work,
                                   uint64_t* offsets);

#define ALGORITHM(symbol, sentence)                                          \
  ETX_MUST_USE etx_status etx_plan_##symbol##_run(                           \
      const etx_plan_problem* problem, etx_plan_goal* goal, etx_arena* work, \
      uint64_t* offsets);
#include "planner/plan_algorithms.def"
#undef ALGORITHM

typedef struct etx_plan_algorithm {
  const char* name;
  const char* sentence;  // what it does, for help texts
  etx_plan_run run;
} etx_plan_algorithm;

// Algorithms in the list.
size_t etx_plan_algorithm_count(void);

// The algorithm at a position of the list.
const etx_plan_algorithm* etx_plan_algorithm_at(size_t index);

#endif
