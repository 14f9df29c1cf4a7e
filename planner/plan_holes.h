// Free ranges below, between and above the living blocks of an online
// allocator, by address and by size.
//
//   address  | a |  hole above a  | b | c |  hole above c, without end
//
// A hole is known by the block below it, so it needs no entry of its own; the
// floor is a block without units. Two-level segregated lists (Masmano et al.,
// "TLSF", 2004) find the smallest one in near constant time.

#ifndef ETX_PLANNER_PLAN_HOLES_H
#define ETX_PLANNER_PLAN_HOLES_H

#include "planner/plan_parts.h"

// Size classes: a power of two each, cut into equal parts.
enum {
  ETX_PLAN_HOLE_PARTS = 16,
  ETX_PLAN_HOLE_CLASSES = 32 * ETX_PLAN_HOLE_PARTS
};

typedef struct etx_plan_holes {
  const etx_plan_part* part;
  uint32_t* offsets;  // of living blocks; the caller's
  uint32_t* above;    // of each living block, the next by address, or none
  uint32_t* below;    // and the one before
  uint32_t* later;    // of each hole, the next in its class, or none
  uint32_t* earlier;  // and the one before
  uint32_t heads[ETX_PLAN_HOLE_CLASSES];  // first hole of each class, or none
  uint64_t used[ETX_PLAN_HOLE_CLASSES / 64];  // classes that have holes
  uint32_t top;  // the living block with the highest address
} etx_plan_holes;

// Takes memory for the blocks of `part`; false if too little is free.
bool etx_plan_holes_take(etx_plan_holes* holes, const etx_plan_part* part,
                         etx_arena* work);

// Begins with nothing living. Offsets go to `offsets`.
void etx_plan_holes_start(etx_plan_holes* holes, uint32_t* offsets);

// Puts block `b` at the bottom of the smallest hole that takes it, or on top.
void etx_plan_holes_place(etx_plan_holes* holes, uint32_t b);

// Frees the bytes of a living block.
void etx_plan_holes_free(etx_plan_holes* holes, uint32_t b);

#endif
