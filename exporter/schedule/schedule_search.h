// A stretch of an order is tried again, with a limit of live bytes.

#ifndef ETX_EXPORTER_SCHEDULE_SCHEDULE_SEARCH_H
#define ETX_EXPORTER_SCHEDULE_SCHEDULE_SEARCH_H

#include "exporter/schedule/live_bytes_simulator.h"

typedef enum etx_schedule_search_answer {
  ETX_SCHEDULE_FOUND,
  ETX_SCHEDULE_IMPOSSIBLE,  // all orders of the stretch were tried
  ETX_SCHEDULE_GAVE_UP,     // steps spent
} etx_schedule_search_answer;

typedef struct etx_schedule_search {
  etx_live_bytes* walk;
  uint32_t* items;     // the whole order; the stretch is changed where found
  uint32_t* waits;     // by item: 0 between searches
  bool* is_inside;     // by item: false between searches
  uint32_t* position;  // by item of the stretch: in the order as it was
  uint32_t* ready;     // items whose predecessors are done
  uint32_t* place;     // by item: in `ready`
  size_t ready_count;
  struct etx_schedule_choice* choices;  // one for every decision on the way
  uint32_t* trail;                      // items run since the stretch's start
  size_t done;
  uint64_t* seen;  // sets of done items that lead nowhere, as hashes
  size_t seen_size;
  uint32_t* options;  // candidates of all choices, one after the other
  size_t option_count, option_capacity;
  uint64_t hash;   // of the items done
  uint64_t limit;  // bytes
  uint64_t steps;  // still to be spent in this search
  bool was_cut;    // something was left out
} etx_schedule_search;

// Memory for searches of stretches of up to all items, each with at most
// `max_steps` steps.
ETX_MUST_USE etx_status
etx_schedule_search_open(etx_pool* pool, etx_live_bytes* walk, uint32_t* items,
                         uint64_t max_steps, etx_schedule_search* out_search);

// Looks for an order of items[first, last) in which no more than `limit` bytes
// live at once, with `steps` steps. The walk stands in front of `first` before
// and afterwards.
etx_schedule_search_answer etx_schedule_search_region(
    etx_schedule_search* search, size_t first, size_t last, uint64_t limit,
    uint64_t* steps);

#endif
