// Checks a solution against its problem, without any code of the algorithms.

#ifndef ETX_PLANNER_VALIDATION_PLAN_VALIDATE_H
#define ETX_PLANNER_VALIDATION_PLAN_VALIDATE_H

#include "planner/problem/plan_problem.h"

typedef enum etx_plan_verdict {
#define VERDICT(name, text) ETX_PLAN_##name,
#include "planner/validation/plan_verdicts.def"
#undef VERDICT
  ETX_PLAN_VERDICT_COUNT
} etx_plan_verdict;

typedef struct etx_plan_validation {
  etx_plan_verdict verdict;
  size_t block;  // the block that is wrong; 0 if the arena is
  size_t other;  // the other one of an overlap, else equal to block
} etx_plan_validation;

// Validates `solution` in O(n log n). ETX_OK if the check was done, whatever
// the verdict in `*out_validation`; ETX_BAD_ARGUMENT if the problem is invalid
// (see etx_plan_check); ETX_OUT_OF_MEMORY if `work` is too small. With a
// counting arena it only counts. `work` is rewound.
ETX_MUST_USE etx_status etx_plan_validate(const etx_plan_problem* problem,
                                          const etx_plan_solution* solution,
                                          etx_arena* work,
                                          etx_plan_validation* out_validation);

// The sentence of a verdict, never NULL.
const char* etx_plan_verdict_text(etx_plan_verdict verdict);

#endif
