// Improves what one memory holds of a part: puts more blocks into free bytes,
// and exchanges placed blocks for others of more weight.
//
//   offset ^ +-------+                  +---+
//          | |   b   |                  | c |
//          | +---+---+      becomes     | c +---+   if c has more weight
//          | |   a   |                  | c | d |   than b
//          +-+-------+-->             +-+---+---+-->

#ifndef ETX_PLANNER_MEMORIES_MEMORY_FILL_H
#define ETX_PLANNER_MEMORIES_MEMORY_FILL_H

#include "planner/problem/plan_partition.h"

// Larger parts are left as they are, because every two blocks are compared.
enum { ETX_MEMORY_FILL_MOST_BLOCKS = 4096 };

// Arrays are by number of a block.
typedef struct etx_memory_fill {
  const etx_plan_partition* part;
  const uint64_t* weights;      // what the memory should hold most of
  const uint8_t* is_candidate;  // blocks that may be in it
  uint64_t capacity;            // bytes
  uint8_t* is_chosen;           // blocks that are in it
  uint64_t* offsets;            // of these blocks
} etx_memory_fill;

// Changes `is_chosen` and `offsets`; the weight of the chosen blocks never
// becomes less. They must be a plan within the capacity. False if `work` is too
// small; with a counting arena it only counts. `work` is rewound.
bool etx_memory_fill_improve(const etx_memory_fill* fill, etx_arena* work);

#endif
