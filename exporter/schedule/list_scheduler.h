// Whole orders, made in one go: lists of ready items from which the best is
// taken.

#ifndef ETX_EXPORTER_SCHEDULE_LIST_SCHEDULER_H
#define ETX_EXPORTER_SCHEDULE_LIST_SCHEDULER_H

#include "exporter/schedule/live_bytes_simulator.h"

typedef struct etx_list_scheduler_ranks {
  const uint32_t* ranks;  // by item; the lowest goes first
  bool by_growth;  // first by how much more is live afterwards, then by rank
} etx_list_scheduler_ranks;

// Stores all items in `out_items`, room for which is the caller's. Items that
// cost nothing go at once. O(n log n).
ETX_MUST_USE etx_status etx_list_scheduler_run(
    etx_pool* pool, etx_live_bytes* walk, const etx_list_scheduler_ranks* ranks,
    uint32_t* out_items);

// Ranks of a walk from the last items back: each item right behind what it
// needs, and what needs most while it is made, first.
ETX_MUST_USE etx_status etx_list_scheduler_demand(etx_pool* pool,
                                                  const etx_live_bytes* walk,
                                                  uint32_t* out_ranks);

#endif
