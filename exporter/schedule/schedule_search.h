// Searches for another order of a region of a schedule that stays below a limit
// of live bytes: depth-first search with memoised sets of items that have run.

#ifndef ETX_EXPORTER_SCHEDULE_SCHEDULE_SEARCH_H
#define ETX_EXPORTER_SCHEDULE_SCHEDULE_SEARCH_H

#include "exporter/schedule/live_bytes_simulator.h"

typedef enum etx_schedule_search_result {
  ETX_SCHEDULE_FOUND,
  ETX_SCHEDULE_IMPOSSIBLE,  // no order of the region stays below the limit
  ETX_SCHEDULE_GAVE_UP,     // no steps are left
} etx_schedule_search_result;

typedef struct etx_schedule_search {
  etx_live_bytes* simulator;
  uint32_t* items;        // the whole order; the region is replaced if found
  uint32_t* waiting_for;  // by item: predecessors in the region that have not
                          // run; 0 between searches
  bool* in_region;        // by item; false between searches
  uint32_t* position;     // by item of the region: in the order before
  uint32_t* ready;        // items whose predecessors have run
  uint32_t* ready_index;  // by item: position in `ready`
  size_t ready_count;
  struct etx_schedule_decision* decisions;  // stack
  uint32_t* trail;                          // items of the region that have run
  size_t done;
  uint64_t* seen;  // hashes of the sets of items that were explored
  size_t seen_size;
  uint32_t* options;  // candidates of all decisions, one after the other
  size_t option_count, option_capacity;
  uint64_t hash;       // of the set of items that have run
  uint64_t limit;      // live bytes
  uint64_t steps;      // remaining in this search
  bool is_incomplete;  // candidates were dropped for lack of memory
} etx_schedule_search;

// Allocates memory for searches of regions of any size, each with at most
// `max_steps` steps.
ETX_MUST_USE etx_status etx_schedule_search_open(
    etx_pool* pool, etx_live_bytes* simulator, uint32_t* items,
    uint64_t max_steps, etx_schedule_search* out_search);

// Searches for an order of items[first, last) in which no more than `limit`
// bytes are live at once, and subtracts the steps that it used from `*steps`.
// The simulator is in front of `first` before and afterwards.
etx_schedule_search_result etx_schedule_search_region(
    etx_schedule_search* search, size_t first, size_t last, uint64_t limit,
    uint64_t* steps);

#endif
