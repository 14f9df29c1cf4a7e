// The list of algorithms. Only plan_portfolio.c, which runs them, sees them
// all.

#ifndef ETX_PLANNER_PLAN_PORTFOLIO_H
#define ETX_PLANNER_PLAN_PORTFOLIO_H

#include "planner/algorithms/plan_algorithm.h"

typedef struct etx_plan_algorithm {
  const char* name;
  const char* sentence;  // what it does, for help texts
  etx_plan_run_function run;
} etx_plan_algorithm;

// Algorithms in the list.
size_t etx_plan_algorithm_count(void);

// The algorithm at a position of the list.
const etx_plan_algorithm* etx_plan_algorithm_at(size_t index);

#endif
