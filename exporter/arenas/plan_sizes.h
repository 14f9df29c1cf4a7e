// Chooses a plan that stays small when sizes are below their upper bounds.
//
// The runtime moves the blocks of a plan together at smaller sizes
// (format/base/block_layout.h). How small the result is depends on which blocks
// the plan puts above which others: an order that is good at the upper bounds
// may stack blocks that are small there and large, compared with the rest, at
// smaller sizes. So the method is also planned at some smaller sizes; the order
// of each such plan gives a plan at the upper bounds, too. Of those plans that
// are not larger than the given one at the upper bounds, the one is taken that
// exceeds the plans of these sizes least. Where that is not good enough, the
// others are candidates for further layouts, which the file states beside the
// plan; the runtime takes the smallest at the present sizes. Their ranges are
// widened first, so that they order no blocks that need no order
// (wider_layout.h).

#ifndef ETX_EXPORTER_ARENAS_PLAN_SIZES_H
#define ETX_EXPORTER_ARENAS_PLAN_SIZES_H

#include "exporter/placement/placement.h"
#include "format/pte/etx_blob.h"
#include "planner/plan.h"

typedef struct etx_plan_sizes {
  const etx_ir_method* method;
  const etx_placement* placement;
  const etx_plan_problem* problem;  // at the upper bounds
  const uint32_t* storages;         // of each block of the problem
  bool takes_layouts;               // the file can state further layouts
  etx_pool* pool;
  etx_diag* diag;
} etx_plan_sizes;

// A plan of the blocks for some smaller sizes. The arrays are in the pool.
typedef struct etx_size_layout {
  const uint64_t* offsets;  // of each block
  const size_t* bytes;      // of each block, at least one
} etx_size_layout;

typedef struct etx_size_layouts {
  etx_size_layout layouts[ETX_BLOB_MOST_LAYOUTS];
  size_t count;
  uint64_t worst_ratio;  // with them, in thousandths; 0: all sizes are fixed
} etx_size_layouts;

// Replaces the offsets of `solution`, and perhaps makes its arena smaller.
ETX_MUST_USE etx_status etx_plan_for_sizes(const etx_plan_sizes* sizes,
                                           etx_plan_solution* solution,
                                           etx_size_layouts* out_layouts);

#endif
