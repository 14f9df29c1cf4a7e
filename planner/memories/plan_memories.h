// Planning for several memories, such as fast SRAM and slow PSRAM: chooses for
// each block which memory it lies in, and its offset there.
//
//   memory 0, fast    | +---+ +---+
//                     | | a | | c |         much is read and written here
//                     +-+---+-+---+--> time
//   memory 1, slow    | +-----------+
//                     | |     b     |       what does not fit, with as
//                     +-+-----------+--> time     little traffic as possible
//
// The plan costs the sum over all blocks of traffic x cost of its memory. To
// find the cheapest plan is NP-hard; blocks are chosen for one memory after the
// other (memory_choice.h), and small problems are searched.
//
// Ownership  all arrays are the caller's; working memory comes from an arena.
// Failure    ETX_BAD_ARGUMENT for an invalid problem (plan_check.h),
//            ETX_UNSUPPORTED if a block has a fixed offset, ETX_BAD_PLAN if no
//            plan within the capacities was found, ETX_OUT_OF_MEMORY if the
//            arena is too small.
// The same problem gives the same plan on every machine.

#ifndef ETX_PLANNER_MEMORIES_PLAN_MEMORIES_H
#define ETX_PLANNER_MEMORIES_PLAN_MEMORIES_H

#include "planner/plan.h"

enum { ETX_PLAN_MOST_MEMORIES = 8 };

typedef struct etx_plan_memory_limit {
  uint64_t capacity;  // bytes; UINT64_MAX: no limit
  uint64_t cost;      // of a byte that is read or written, from 1 to 2^16
} etx_plan_memory_limit;

typedef struct etx_plan_memories_problem {
  const etx_plan_problem* problem;        // its capacity is ignored
  const uint64_t* traffic;                // by block: bytes read and written
  const etx_plan_memory_limit* memories;  // the fastest first
  size_t memory_count;                    // 1 to ETX_PLAN_MOST_MEMORIES
} etx_plan_memories_problem;

typedef struct etx_plan_memories_solution {
  uint32_t* memories;  // by block: the memory that it lies in
  uint64_t* offsets;   // by block: the offset there, in bytes
  uint64_t arena_bytes[ETX_PLAN_MOST_MEMORIES];  // that are used
  uint64_t traffic[ETX_PLAN_MOST_MEMORIES];      // of the blocks there
  uint64_t cost;                                 // UINT64_MAX: that or more
} etx_plan_memories_solution;

// Bytes of arena that etx_plan_memories_solve needs; SIZE_MAX if no arena is
// large enough.
size_t etx_plan_memories_needed(const etx_plan_memories_problem* problem);

// Sets what `solution` points to and its fields. `work` is rewound.
ETX_MUST_USE etx_status etx_plan_memories_solve(
    const etx_plan_memories_problem* problem, etx_arena* work,
    etx_plan_memories_solution* solution, etx_diag* diag);

#endif
