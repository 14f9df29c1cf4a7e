// A scheduling problem: items, the blocks that they touch, and the dependencies
// between items (find_schedule.h defines the goal).

#ifndef ETX_EXPORTER_SCHEDULE_SCHEDULE_PROBLEM_H
#define ETX_EXPORTER_SCHEDULE_SCHEDULE_PROBLEM_H

#include "exporter/host/host_memory.h"

#define ETX_SCHEDULE_NONE UINT32_MAX

typedef struct etx_schedule_block {
  uint64_t bytes;
  bool is_live_before;  // live when the first item runs
  bool is_live_after;   // live when all items have run
} etx_schedule_block;

// Lists by item: entries starts[i] to starts[i + 1] belong to item i.
typedef struct etx_schedule_lists {
  const uint32_t* starts;
  const uint32_t* entries;
} etx_schedule_lists;

typedef struct etx_schedule_problem {
  const etx_schedule_block* blocks;
  size_t block_count;
  size_t item_count;  // numbered in the given order, which is topological
  etx_schedule_lists
      touches;  // blocks that the item reads or writes, each once
  etx_schedule_lists successors;  // items that must run later than this one
  // Blocks that the item's result may take over if they die in the item. They
  // are among the blocks that it touches, and as large as the result.
  etx_schedule_lists reusable;
  const uint32_t* results;     // by item: the result's block, or
                               // ETX_SCHEDULE_NONE
  const uint64_t* transients;  // by item: bytes that are live only inside it
} etx_schedule_problem;

#endif
