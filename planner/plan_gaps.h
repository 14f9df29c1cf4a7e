// Blocks that are not needed all the time between their first use and their
// last: of two branches that exclude each other, each leaves out the other.
//
//   offset ^ +-----+         +-----+
//          | |  a  |    b    |  a  |      b lives in a gap of a
//          +-+-----+---------+-----+--> time
//
// A plan that knows nothing of gaps is made first (plan.h); this lowers it. The
// blocks are laid anew, one after the other at the lowest offset that those
// before them leave free, in a few orders: first by where they lie in the given
// plan, which is never worse than that plan.

#ifndef ETX_PLANNER_PLAN_GAPS_H
#define ETX_PLANNER_PLAN_GAPS_H

#include "planner/plan.h"

// Problems of more blocks keep the plan they have, with a weak bound: every
// block is compared with every other.
enum { ETX_PLAN_GAPS_MOST_BLOCKS = 4096 };

// A stretch of a block's lifespan, [start, end), in which nobody needs its
// bytes.
typedef struct etx_plan_gap {
  uint32_t block;
  uint32_t start;
  uint32_t end;
} etx_plan_gap;

// Bytes of arena that etx_plan_gaps_apply needs.
size_t etx_plan_gaps_needed(size_t block_count);

// `gaps` are sorted by block, then by start, apart, and lie within their
// blocks' lifespans. `solution` is a plan of the problem; it gets the offsets,
// the arena and the name of a smaller one, if one is found, a bound that holds
// with gaps, and the blocks that were laid on top of its steps.
// ETX_OUT_OF_MEMORY if `work` is too small; it is back at its mark afterwards.
ETX_MUST_USE etx_status etx_plan_gaps_apply(const etx_plan_problem* problem,
                                            const etx_plan_gap* gaps,
                                            size_t gap_count, etx_arena* work,
                                            etx_plan_solution* solution);

#endif
