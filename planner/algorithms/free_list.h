// The free ranges (holes) between live blocks, by address and by size.
//
//   address  | a |  hole above a  | b | c |  unlimited hole above c
//
// A hole is identified by the block below it, so it needs no entry of its own.
// The floor is an empty block at address 0. Two-level segregated lists (Masmano
// et al., "TLSF", 2004) find a hole that is large enough, and nearly the
// smallest one, in nearly constant time.

#ifndef ETX_PLANNER_ALGORITHMS_FREE_LIST_H
#define ETX_PLANNER_ALGORITHMS_FREE_LIST_H

#include "planner/problem/plan_partition.h"

// Size classes: a power of two each, cut into equal parts.
enum {
  ETX_FREE_LIST_SUBCLASSES = 16,
  ETX_FREE_LIST_CLASSES = 32 * ETX_FREE_LIST_SUBCLASSES
};

typedef struct etx_free_list {
  const etx_plan_partition* part;
  uint32_t* offsets;  // of live blocks; owned by the caller
  uint32_t* above;    // next live block by address, or none
  uint32_t* below;    // previous live block by address
  uint32_t* later;    // next hole of the same class, or none
  uint32_t* earlier;  // previous hole of the same class, or none
  uint32_t heads[ETX_FREE_LIST_CLASSES];  // first hole of each class, or none
  uint64_t used[ETX_FREE_LIST_CLASSES / 64];  // classes that have holes
  uint32_t top;  // the live block with the highest address
} etx_free_list;

// Takes memory for the blocks of `part`; false if too little is free.
bool etx_free_list_take(etx_free_list* holes, const etx_plan_partition* part,
                        etx_arena* work);

// Starts without live blocks. Offsets will be written to `offsets`.
void etx_free_list_start(etx_free_list* holes, uint32_t* offsets);

// Places block `b`: looks at the first 64 holes of each size class, from the
// smallest class that may fit, and takes the smallest hole that fits in the
// first class that has one; if none has, places `b` on top of all blocks.
void etx_free_list_place(etx_free_list* holes, uint32_t b);

// Frees the bytes of a live block.
void etx_free_list_release(etx_free_list* holes, uint32_t b);

#endif
