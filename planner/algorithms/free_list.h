// Free ranges below, between and above the living blocks of an online
// allocator, by address and by size.
//
//   address  | a |  hole above a  | b | c |  hole above c, without end
//
// A hole is known by the block below it, so it needs no entry of its own; the
// floor is a block without units. Two-level segregated lists (Masmano et al.,
// "TLSF", 2004) find the smallest one in near constant time.

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
  uint32_t* offsets;  // of living blocks; the caller's
  uint32_t* above;    // of each living block, the next by address, or none
  uint32_t* below;    // and the one before
  uint32_t* later;    // of each hole, the next in its class, or none
  uint32_t* earlier;  // and the one before
  uint32_t heads[ETX_FREE_LIST_CLASSES];  // first hole of each class, or none
  uint64_t used[ETX_FREE_LIST_CLASSES / 64];  // classes that have holes
  uint32_t top;  // the living block with the highest address
} etx_free_list;

// Takes memory for the blocks of `part`; false if too little is free.
bool etx_free_list_take(etx_free_list* holes, const etx_plan_partition* part,
                        etx_arena* work);

// Begins with nothing living. Offsets go to `offsets`.
void etx_free_list_start(etx_free_list* holes, uint32_t* offsets);

// Puts block `b` at the bottom of the smallest hole that takes it, or on top.
void etx_free_list_place(etx_free_list* holes, uint32_t b);

// Frees the bytes of a living block.
void etx_free_list_release(etx_free_list* holes, uint32_t b);

#endif
