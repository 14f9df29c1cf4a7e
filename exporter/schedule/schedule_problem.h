// A scheduling problem: items, the blocks that they touch, and which item must
// run behind which (find_schedule.h says what is looked for).

#ifndef ETX_EXPORTER_SCHEDULE_SCHEDULE_PROBLEM_H
#define ETX_EXPORTER_SCHEDULE_SCHEDULE_PROBLEM_H

#include "exporter/host/host_memory.h"

#define ETX_SCHEDULE_NONE UINT32_MAX

typedef struct etx_schedule_block {
  uint64_t bytes;
  bool is_live_before;  // holds something when the first item runs
  bool is_live_after;   // is still needed when all items have run
} etx_schedule_block;

// Lists by item: entries starts[i] to starts[i + 1] belong to item i.
typedef struct etx_schedule_lists {
  const uint32_t* starts;
  const uint32_t* entries;
} etx_schedule_lists;

typedef struct etx_schedule_problem {
  const etx_schedule_block* blocks;
  size_t block_count;
  size_t item_count;  // numbered in the given order, which must be valid
  etx_schedule_lists
      touches;               // blocks that the item reads or writes, each once
  etx_schedule_lists after;  // items that must run later than this one
  // Blocks that `result` may take over if they die in the item; all are among
  // its touches and as large.
  etx_schedule_lists takes;
  const uint32_t* results;     // by item: the block, or ETX_SCHEDULE_NONE
  const uint64_t* transients;  // by item: bytes live in it and only in it
} etx_schedule_problem;

#endif
