// Which blocks a memory of limited size should hold, so that most of the
// traffic goes to it.
//
//   bytes ^
//         |- - - - - - - - - - - - - -  capacity
//         |     +---+
//         | +---+ b |   d does not fit any more: it goes to
//         | | a +---+--+  the next memory
//         | |   |  c   |
//         +-+---+------+--> time
//
// A choice is possible if at no time more than `capacity` units are live.
// Whether the blocks can also be placed within it is decided afterwards
// (plan_memories.h).

#ifndef ETX_PLANNER_MEMORIES_MEMORY_CHOICE_H
#define ETX_PLANNER_MEMORIES_MEMORY_CHOICE_H

#include "planner/problem/plan_partition.h"

// Parts of up to so many candidates are searched for the best choice.
enum { ETX_MEMORY_CHOICE_EXACT_BLOCKS = 20 };

typedef struct etx_memory_choice_problem {
  const etx_plan_partition* part;
  const uint64_t* traffic;      // by number of a block
  const uint8_t* is_candidate;  // by number of a block
  uint32_t capacity;            // in units
  uint64_t below;  // the traffic of the choice must be less; UINT64_MAX: any.
                   // To find the next best choice of a small part
} etx_memory_choice_problem;

// Sets `is_chosen` of each block of the part. `steps` is the limit of the
// effort, from which what was spent is subtracted. False if `work` is too
// small; with a counting arena it only counts. `work` is rewound.
bool etx_memory_choose(const etx_memory_choice_problem* problem,
                       etx_arena* work, uint64_t* steps, uint8_t* is_chosen);

#endif
