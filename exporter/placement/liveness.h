// Liveness analysis: in which instructions each scratch block of a method is in
// use.
//
// Times are positions of nodes. A block is live from the first node that
// writes into it to the last one that reads any value in it: [first, last + 1).
// Outputs are read at the end, and planned inputs are written before the first
// node.
//
// The two branches of a conditional are behind each other in the list of nodes,
// but only one of them runs. A block that is used before and after both would
// look live in both; where a branch does not need it, it has a gap.

#ifndef ETX_EXPORTER_PLACEMENT_LIVENESS_H
#define ETX_EXPORTER_PLACEMENT_LIVENESS_H

#include "exporter/placement/placement.h"

// Nodes [start, end) of branches in which the block's content is not needed.
typedef struct etx_live_interval_gap {
  uint32_t start;
  uint32_t end;
} etx_live_interval_gap;

typedef struct etx_live_interval {
  uint32_t start;
  uint32_t end;    // 0: the block is not used
  bool is_stable;  // holds a stable output, which outlives calls of other
                   // methods
  etx_live_interval_gap* gaps;  // ascending, not adjacent, inside the interval
  size_t gap_count;
} etx_live_interval;

// True if the block is in use at `node`.
bool etx_live_interval_covers(const etx_live_interval* interval, size_t node);

// One interval for each storage of `placement`; storages that are not scratch
// have an empty one. The array lives in `pool`.
ETX_MUST_USE etx_status etx_liveness_find(etx_pool* pool,
                                          const etx_ir_method* method,
                                          const etx_placement* placement,
                                          etx_live_interval** out_intervals);

#endif
