// A plan that grows from the bottom, and all that follows from what it has.
//
// Every plan can be pushed down until each block rests on another one or on 0,
// so it is enough to place blocks in ascending offsets, each at the lowest one
// that its placed neighbours leave (Moffitt, "MiniMalloc", ASPLOS 2023). What
// is still possible is kept in plain arrays, and every change goes to a trail,
// so that going back costs what going forth did.
//
// Sizes and offsets are in the units of the part.

#ifndef ETX_PLANNER_SEARCH_CANONICAL_PLAN_H
#define ETX_PLANNER_SEARCH_CANONICAL_PLAN_H

#include "planner/problem/plan_partition.h"

// Blocks a problem may have: the sets take a bit for every two of them.
enum { ETX_CANONICAL_PLAN_MAX_BLOCKS = 2048 };

// The lowest offset of a block that has been placed.
#define ETX_PLAN_PLACED UINT32_MAX

typedef struct etx_canonical_plan {
  uint32_t block_count;
  uint32_t section_count;
  uint32_t capacity;  // units that a plan may have
  size_t words;       // of a set of blocks

  const etx_plan_partition* part;
  const uint32_t* size;   // of each block
  const uint32_t* first;  // first section
  const uint32_t* limit;  // one past the last
  uint32_t* alignment;    // of each block, in units
  uint64_t* neighbours;   // of each block, the set of those it lives with
  uint64_t* members;      // of each section, the set of its blocks

  uint64_t* open;    // the set of blocks not yet placed
  uint32_t* lowest;  // of each block, its lowest offset, or ETX_PLAN_PLACED
  uint32_t* offset;  // of each placed block
  uint32_t* slack;   // of each section, units that its open blocks leave free
  uint32_t* left;    // of each section, its open blocks
  uint32_t* cross;   // of each section, open blocks that reach into the next
  uint32_t* watch;   // of each section, a block that may still come in time

  uint32_t* trail_block;   // what changed,
  uint32_t* trail_lowest;  // and what it was
  uint32_t trail_count;
} etx_canonical_plan;

// Takes memory for a part, or for the largest that can be done; false if too
// little is free.
bool etx_canonical_plan_take(etx_canonical_plan* plan,
                             const etx_plan_partition* part, etx_arena* work);

// Reads a part without fixed blocks; false if it has too many blocks or is
// aligned too widely. `part` has to live as long.
bool etx_canonical_plan_read(etx_canonical_plan* plan,
                             const etx_plan_partition* part);

// Begins again with nothing placed. False if `capacity`, below
// ETX_PLAN_CEILING, is less than what is live in some section.
bool etx_canonical_plan_start(etx_canonical_plan* plan, uint32_t capacity);

// Puts an open block at its lowest offset, and raises those it lives with.
// False if some block or section cannot be completed any more. `has_hat` tells
// whether an open block lives at the same time. Costs the open neighbours and
// the sections they live in.
bool etx_canonical_plan_place(etx_canonical_plan* plan, uint32_t block,
                              bool* has_hat);

// Takes back everything since the trail had `mark` entries.
void etx_canonical_plan_undo(etx_canonical_plan* plan, uint32_t mark);

#endif
