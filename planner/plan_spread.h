// Moves blocks to the bytes that were used longest ago, within the same arena.
//
//   offset ^          +---+                    +---+
//          | +---+    | d |          +---+     | d |
//          | | b |    +---+          | b |     +---+---+
//          | +---+                   +---+         | c |
//          | | a | c |               | a |         +---+
//          +-+---+---+---> time      +-+---+-----------> time
//
// The algorithms choose the lowest free offset, so the same bytes are reused
// again and again. If several cores have just read them, a write has to wait
// until the cache lines are invalidated in all of their caches. Bytes that were
// used longer ago have been evicted, and an arena that is larger than the live
// bytes has room to wait for that.

#ifndef ETX_PLANNER_PLAN_SPREAD_H
#define ETX_PLANNER_PLAN_SPREAD_H

#include "planner/plan.h"

// Larger problems keep their plan, because every two blocks are compared.
enum { ETX_PLAN_SPREAD_MOST_BLOCKS = 4096 };

// `solution` is a plan of the problem. Blocks of at least 32 KB without a fixed
// offset move to the bytes among the first 2 MB that were used longest ago.
// `offsets` and `arena_bytes` are changed; the arena never grows. Smaller
// arenas, and blocks aligned to more than 32 KB, are left alone.
void etx_plan_spread(const etx_plan_problem* problem,
                     etx_plan_solution* solution);

#endif
