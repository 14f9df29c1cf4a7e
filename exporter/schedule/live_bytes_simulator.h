// Running the items of a problem one by one, forth and back: what lives.

#ifndef ETX_EXPORTER_SCHEDULE_LIVE_BYTES_SIMULATOR_H
#define ETX_EXPORTER_SCHEDULE_LIVE_BYTES_SIMULATOR_H

#include "exporter/schedule/schedule_problem.h"

typedef struct etx_live_bytes {
  const etx_schedule_problem* problem;
  etx_schedule_lists touchers;  // by block: items that touch it
  etx_schedule_lists before;    // by item: items that must run earlier
  uint32_t* left;               // by block: touching items not run yet
  uint32_t* rest;               // by block: their numbers, combined by XOR: the
                                // number itself where one is left
  bool* is_live;                // by block
  bool* has_begun;              // by entry of touches: the block began there
  uint64_t live;                // bytes of all live blocks
} etx_live_bytes;

// What running an item would cost now.
typedef struct etx_live_bytes_cost {
  uint64_t step;   // bytes live while it runs
  uint64_t after;  // and behind it
} etx_live_bytes_cost;

// In front of the first item. Arrays come from `pool`.
ETX_MUST_USE etx_status etx_live_bytes_open(etx_pool* pool,
                                            const etx_schedule_problem* problem,
                                            etx_live_bytes* out_walk);
// Back there.
void etx_live_bytes_restart(etx_live_bytes* walk);

etx_live_bytes_cost etx_live_bytes_cost_of(const etx_live_bytes* walk,
                                           uint32_t item);
void etx_live_bytes_run(etx_live_bytes* walk, uint32_t item);
// Takes back the item that ran last.
void etx_live_bytes_undo(etx_live_bytes* walk, uint32_t item);

// Most bytes live at once if all items run in this order, from the first.
uint64_t etx_live_bytes_peak(etx_live_bytes* walk, const uint32_t* items);

// Bytes that some item needs whatever the order, or that live at an end.
uint64_t etx_live_bytes_bound(const etx_schedule_problem* problem);

#endif
