// The lower bound: no plan can be smaller than the bytes that live at once.

#ifndef ETX_PLANNER_PROBLEM_PLAN_BOUND_H
#define ETX_PLANNER_PROBLEM_PLAN_BOUND_H

#include "planner/problem/plan_partition.h"

// Fills `parts->bound_bytes`, and that of all with the largest: the largest sum
// of sizes that live at one moment, in O(n log n). Sizes count rounded up to
// the smallest alignment of the problem, all but the one with the most padding:
// it may lie on top. A fixed block's end is a bound too. False if `work` has
// too little memory; a counting arena is only counted in. `work` is back at its
// mark.
bool etx_plan_bound_partitions(etx_plan_partitions* parts, etx_arena* work);

// The largest of them. `problem` has passed etx_plan_check. ETX_OUT_OF_MEMORY
// if `work` is too small; a counting arena is only counted in. `work` is back
// at its mark.
ETX_MUST_USE etx_status etx_plan_bound(const etx_plan_problem* problem,
                                       etx_arena* work, uint64_t* out_bytes);

#endif
