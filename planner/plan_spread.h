// Blocks move away from where others have just been.
//
//   offset ^          +---+                    +---+
//          | +---+    | d |          +---+     | d |
//          | | b |    +---+          | b |     +---+---+
//          | +---+                   +---+         | c |
//          | | a | c |               | a |         +---+
//          +-+---+---+---> time      +-+---+-----------> time
//
// Algorithms take the lowest offsets, and so the same bytes again and again.
// What several processors have read is in their caches, and writing it again
// waits until each of them has given it up; after a while it is gone by itself.
// Within an arena that is larger than what lives now there is room to wait.

#ifndef ETX_PLANNER_PLAN_SPREAD_H
#define ETX_PLANNER_PLAN_SPREAD_H

#include "planner/plan.h"

// Problems of more blocks keep the plan they have: every block is compared with
// every other.
enum { ETX_PLAN_SPREAD_MOST_BLOCKS = 4096 };

// `solution` is a plan of the problem. Its blocks that are free and not small
// move to the bytes that were used longest ago, among the first two megabytes.
// The arena does not grow, and may shrink: `offsets` and `arena_bytes` are
// written, all else stays. Arenas that are smaller are left as they are, and
// blocks aligned to more than 32 KB.
void etx_plan_spread(const etx_plan_problem* problem,
                     etx_plan_solution* solution);

#endif
