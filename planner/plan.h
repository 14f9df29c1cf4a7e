// Static memory planning: gives offsets to blocks with sizes and lifetimes.
//
//   offset ^
//          |      +-----------+
//          |      |     b     |        block b is live in [2, 5), above a
//          | +----+----+------+---+
//          | |    a    |    c     |    a and c are never live together
//          +-+---------+----------+--> time
//            0    2    3    5     6
//
// Times are instruction indices of one method; a lifetime [start, end) is
// half-open. The planner has no code about operators.
//
// Ownership  all arrays are the caller's; working memory comes from an arena.
// Failure    ETX_BAD_ARGUMENT for an invalid problem (plan_check.h),
//            ETX_BAD_PLAN if no plan within the capacity was found,
//            ETX_UNSUPPORTED if the named algorithm does not support the
//            problem, ETX_OUT_OF_MEMORY if the arena is too small (see
//            etx_plan_needed).
// The same problem gives the same plan on every machine: ties are broken by
// index.

#ifndef ETX_PLANNER_PLAN_H
#define ETX_PLANNER_PLAN_H

#include "planner/problem/plan_problem.h"

// Bytes of arena that etx_plan_solve needs for `problem`; SIZE_MAX if no
// arena is large enough.
size_t etx_plan_needed(const etx_plan_problem* problem);

// Solves with the algorithm of that name (ETX_NOT_FOUND if there is none), or
// with all of them, keeping the smallest, if `algorithm` is NULL. The result
// has passed etx_plan_validate. `work` is rewound to its state before the call.
ETX_MUST_USE etx_status etx_plan_solve(const etx_plan_problem* problem,
                                       const char* algorithm, etx_arena* work,
                                       etx_plan_solution* solution,
                                       etx_diag* diag);

#endif
