// The lower bound of an arena: the largest number of live bytes.

#ifndef ETX_PLANNER_PROBLEM_PLAN_BOUND_H
#define ETX_PLANNER_PROBLEM_PLAN_BOUND_H

#include "planner/problem/plan_partition.h"

// Computes `parts->bound_bytes` for each part and for all of them, in O(n log
// n): the largest number of bytes that are live at one time. Sizes are rounded
// up to the smallest alignment of the problem, except that of the block with
// the most padding, which may be topmost. The end of a fixed block is a bound
// too. False if `work` is too small; with a counting arena it only counts.
// `work` is rewound.
bool etx_plan_bound_partitions(etx_plan_partitions* parts, etx_arena* work);

// The bound of the whole problem, which must have passed etx_plan_check.
// ETX_OUT_OF_MEMORY if `work` is too small; with a counting arena it only
// counts. `work` is rewound.
ETX_MUST_USE etx_status etx_plan_bound(const etx_plan_problem* problem,
                                       etx_arena* work, uint64_t* out_bytes);

#endif
