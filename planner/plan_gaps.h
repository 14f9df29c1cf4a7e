// Planning with lifetime gaps: stretches of a block's lifetime in which its
// bytes are not needed, such as the other branch of a conditional.
//
//   offset ^ +-----+         +-----+
//          | |  a  |    b    |  a  |      b uses the bytes of a in a gap of a
//          +-+-----+---------+-----+--> time
//
// The problem is first solved without gaps (plan.h). Then the blocks are placed
// again, one after the other at the lowest free offset, in a few orders. The
// first order is by offset in the given plan, whose result is never worse than
// that plan.

#ifndef ETX_PLANNER_PLAN_GAPS_H
#define ETX_PLANNER_PLAN_GAPS_H

#include "planner/plan.h"

// Larger problems keep their plan, with a weak bound, because the algorithm
// compares every two blocks.
enum { ETX_PLAN_GAPS_MOST_BLOCKS = 4096 };

// A stretch [start, end) of a block's lifetime in which its bytes are not
// needed.
typedef struct etx_plan_gap {
  uint32_t block;
  uint32_t start;
  uint32_t end;
} etx_plan_gap;

// Bytes of arena that etx_plan_gaps_apply needs.
size_t etx_plan_gaps_needed(size_t block_count);

// `gaps` are sorted by block and then by start, disjoint, and within the
// lifetimes of their blocks. `solution` is a plan of the problem. If a smaller
// plan is found, its offsets, arena size and name are stored there.
// `lower_bound` becomes a bound that holds with gaps, and the placements that
// were tried are added to `steps`. ETX_OUT_OF_MEMORY if `work` is too small; it
// is rewound afterwards.
ETX_MUST_USE etx_status etx_plan_gaps_apply(const etx_plan_problem* problem,
                                            const etx_plan_gap* gaps,
                                            size_t gap_count, etx_arena* work,
                                            etx_plan_solution* solution);

#endif
