// List scheduling: builds an order of all items in one pass. The best of the
// items that are ready runs next.

#ifndef ETX_EXPORTER_SCHEDULE_LIST_SCHEDULER_H
#define ETX_EXPORTER_SCHEDULE_LIST_SCHEDULER_H

#include "exporter/schedule/live_bytes_simulator.h"

typedef struct etx_list_scheduler_ranks {
  const uint32_t* ranks;  // by item; the lowest rank runs first
  bool by_growth;  // compare the growth of the live bytes before the ranks
} etx_list_scheduler_ranks;

// Writes the order of all items to `out_items`. Items that do not increase the
// live bytes run as soon as they are ready. O(n log n).
ETX_MUST_USE etx_status etx_list_scheduler_run(
    etx_pool* pool, etx_live_bytes* simulator,
    const etx_list_scheduler_ranks* ranks, uint32_t* out_items);

// Ranks by demand, for a depth-first order: each item comes right after its
// predecessors. Of these, the one that frees most bytes when it is done comes
// first: its peak less the size of its results.
ETX_MUST_USE etx_status etx_list_scheduler_demand(
    etx_pool* pool, const etx_live_bytes* simulator, uint32_t* out_ranks);

#endif
