// List scheduling: a whole order in one pass, in which the best of the ready
// items runs next.

#ifndef ETX_EXPORTER_SCHEDULE_LIST_SCHEDULER_H
#define ETX_EXPORTER_SCHEDULE_LIST_SCHEDULER_H

#include "exporter/schedule/live_bytes_simulator.h"

typedef struct etx_list_scheduler_ranks {
  const uint32_t* ranks;  // by item; the lowest rank runs first
  bool by_growth;  // compare first the growth of the live bytes, then the ranks
} etx_list_scheduler_ranks;

// Writes the order of all items to `out_items`. Items that do not increase the
// live bytes run as soon as they are ready. O(n log n).
ETX_MUST_USE etx_status etx_list_scheduler_run(
    etx_pool* pool, etx_live_bytes* simulator,
    const etx_list_scheduler_ranks* ranks, uint32_t* out_items);

// Ranks for a depth-first order: each item right behind its predecessors, and
// the predecessors that need most temporary bytes first.
ETX_MUST_USE etx_status etx_list_scheduler_demand(
    etx_pool* pool, const etx_live_bytes* simulator, uint32_t* out_ranks);

#endif
