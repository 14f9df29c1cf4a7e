// When each scratch block of a method is in use.
//
// Times are positions of nodes. A block is live from the first node that
// writes into it to the last that reads any value in it, [first, last + 1);
// values of outputs are read at the end, planned inputs are written before the
// first node.
//
// Branches stand one behind the other, though only one of them runs. A block
// that one branch uses looks in use throughout the other if it is used before
// and after both; where it is not, it has a gap.

#ifndef ETX_EXPORTER_PLACEMENT_LIVENESS_H
#define ETX_EXPORTER_PLACEMENT_LIVENESS_H

#include "exporter/placement/placement.h"

// Nodes [start, end) of branches in which nothing reads what was written before
// and nothing behind reads what is written there.
typedef struct etx_live_interval_gap {
  uint32_t start;
  uint32_t end;
} etx_live_interval_gap;

typedef struct etx_live_interval {
  uint32_t start;
  uint32_t end;    // 0: the block is not used
  bool is_stable;  // holds an output that outlives other methods' calls
  etx_live_interval_gap* gaps;  // ascending, apart, within the lifetime
  size_t gap_count;
} etx_live_interval;

// True if the block is in use at `node`.
bool etx_live_interval_covers(const etx_live_interval* lifetime, size_t node);

// One lifetime for each storage of `placement`; those that are not scratch are
// left zero. The array lives in `pool`.
ETX_MUST_USE etx_status etx_liveness_find(etx_pool* pool,
                                          const etx_ir_method* method,
                                          const etx_placement* placement,
                                          etx_live_interval** out_lifetimes);

#endif
