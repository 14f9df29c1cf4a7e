// Running the items of a problem one by one, forth and back: what lives.

#ifndef ETX_EXPORTER_ORDER_WALK_H
#define ETX_EXPORTER_ORDER_WALK_H

#include "exporter/schedule/schedule_problem.h"

typedef struct etx_order_walk {
  const etx_order_problem* problem;
  etx_order_lists touchers;  // by block: items that touch it
  etx_order_lists before;    // by item: items that must run earlier
  uint32_t* left;            // by block: touching items not run yet
  uint32_t* rest;            // by block: their numbers, combined by XOR: the
                             // number itself where one is left
  bool* is_live;             // by block
  bool* has_begun;           // by entry of touches: the block began there
  uint64_t live;             // bytes of all live blocks
} etx_order_walk;

// What running an item would cost now.
typedef struct etx_order_cost {
  uint64_t step;   // bytes live while it runs
  uint64_t after;  // and behind it
} etx_order_cost;

// In front of the first item. Arrays come from `pool`.
ETX_MUST_USE etx_status etx_order_walk_open(etx_pool* pool,
                                            const etx_order_problem* problem,
                                            etx_order_walk* out_walk);
// Back there.
void etx_order_walk_restart(etx_order_walk* walk);

etx_order_cost etx_order_cost_of(const etx_order_walk* walk, uint32_t item);
void etx_order_run(etx_order_walk* walk, uint32_t item);
// Takes back the item that ran last.
void etx_order_undo(etx_order_walk* walk, uint32_t item);

// Most bytes live at once if all items run in this order, from the first.
uint64_t etx_order_peak(etx_order_walk* walk, const uint32_t* items);

// Bytes that some item needs whatever the order, or that live at an end.
uint64_t etx_order_bound(const etx_order_problem* problem);

#endif
