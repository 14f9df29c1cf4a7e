// Whole orders, made in one go: lists of ready items from which the best is
// taken.

#ifndef ETX_EXPORTER_ORDER_LIST_H
#define ETX_EXPORTER_ORDER_LIST_H

#include "exporter/order_walk.h"

typedef struct etx_order_ranks {
  const uint32_t* ranks;  // by item; the lowest goes first
  bool by_growth;  // first by how much more is live afterwards, then by rank
} etx_order_ranks;

// Stores all items in `out_items`, room for which is the caller's. Items that
// cost nothing go at once. O(n log n).
ETX_MUST_USE etx_status etx_order_list(etx_pool* pool, etx_order_walk* walk,
                                       const etx_order_ranks* ranks,
                                       uint32_t* out_items);

// Ranks of a walk from the last items back: each item right behind what it
// needs, and what needs most while it is made, first.
ETX_MUST_USE etx_status etx_order_demand(etx_pool* pool,
                                         const etx_order_walk* walk,
                                         uint32_t* out_ranks);

#endif
