// A partial plan of the exact search, with constraint propagation and undo.
//
// Every plan can be pushed down until each block rests on another block or on
// 0. So it is enough to place blocks in ascending order of offset, each at the
// lowest offset that the placed blocks allow (Moffitt, "MiniMalloc", ASPLOS
// 2023). Every change is recorded on a trail, so undoing costs as much as
// doing.
//
// Sizes and offsets are in the units of the part.

#ifndef ETX_PLANNER_SEARCH_CANONICAL_PLAN_H
#define ETX_PLANNER_SEARCH_CANONICAL_PLAN_H

#include "planner/problem/plan_partition.h"

// The largest number of blocks: the sets take one bit for every two blocks.
enum { ETX_CANONICAL_PLAN_MAX_BLOCKS = 2048 };

// The lowest offset of a block that has been placed.
#define ETX_PLAN_PLACED UINT32_MAX

typedef struct etx_canonical_plan {
  uint32_t block_count;
  uint32_t section_count;
  uint32_t capacity;  // largest arena in units
  size_t words;       // of a set of blocks

  const etx_plan_partition* part;
  // For each block:
  const uint32_t* size;
  const uint32_t* first;  // first section
  const uint32_t* limit;  // one past the last section
  uint32_t* alignment;    // in units
  uint64_t* neighbours;   // set of the blocks that are live together with it
  uint32_t* lowest;       // lowest possible offset, or ETX_PLAN_PLACED
  uint32_t* offset;       // if placed

  // For each section:
  uint64_t* members;  // set of its blocks
  uint32_t* slack;    // capacity less the sizes of its open blocks
  uint32_t* left;     // number of open blocks
  uint32_t* cross;    // open blocks that are live in the next section too
  uint32_t* watch;    // an open block whose lowest offset is within the slack

  uint64_t* open;  // set of blocks that are not yet placed

  uint32_t* trail_block;   // blocks whose lowest offset has changed
  uint32_t* trail_lowest;  // and its value before
  uint32_t trail_count;
} etx_canonical_plan;

// Allocates for a part, or for the largest one that is supported; false if
// `work` is too small.
bool etx_canonical_plan_take(etx_canonical_plan* plan,
                             const etx_plan_partition* part, etx_arena* work);

// Reads a part without fixed blocks; false if it has too many blocks or too
// large alignments. Keeps a pointer to `part`.
bool etx_canonical_plan_read(etx_canonical_plan* plan,
                             const etx_plan_partition* part);

// Starts again with no block placed. `capacity` is below ETX_PLAN_CEILING.
// False if it is less than the live units of some section.
bool etx_canonical_plan_start(etx_canonical_plan* plan, uint32_t capacity);

// Places an open block at its lowest offset and raises the lowest offsets of
// its open neighbours. False if some block or section no longer fits into the
// capacity. `*has_open_neighbour` tells whether an open block is live at the
// same time.
bool etx_canonical_plan_place(etx_canonical_plan* plan, uint32_t block,
                              bool* has_open_neighbour);

// Undoes everything since the trail had `mark` entries.
void etx_canonical_plan_undo(etx_canonical_plan* plan, uint32_t mark);

#endif
