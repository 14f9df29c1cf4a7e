// The list of planning algorithms. Only plan_portfolio.c runs them.

#ifndef ETX_PLANNER_PLAN_PORTFOLIO_H
#define ETX_PLANNER_PLAN_PORTFOLIO_H

#include "planner/algorithms/plan_algorithm.h"

typedef struct etx_plan_algorithm {
  const char* name;
  const char* sentence;  // the description in help texts
  etx_plan_run_function run;
} etx_plan_algorithm;

// Number of algorithms.
size_t etx_plan_algorithm_count(void);

// The algorithm at a position in the list.
const etx_plan_algorithm* etx_plan_algorithm_at(size_t index);

#endif
