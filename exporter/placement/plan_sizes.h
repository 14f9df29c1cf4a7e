// Chooses a plan that stays small when sizes are below their upper bounds.
//
// The runtime moves the blocks of a plan together at smaller sizes
// (format/base/block_layout.h). How small the result is depends on which blocks
// the plan puts above which others: an order that is good at the upper bounds
// may stack blocks that are small there and large, compared with the rest, at
// smaller sizes. So the method is also planned at some smaller sizes; the order
// of each such plan gives a plan at the upper bounds, too. Of those plans that
// are not larger than the given one at the upper bounds, the one is taken whose
// worst ratio to the lower bound, over all these sizes, is the smallest.

#ifndef ETX_EXPORTER_PLACEMENT_PLAN_SIZES_H
#define ETX_EXPORTER_PLACEMENT_PLAN_SIZES_H

#include "exporter/placement/placement.h"
#include "planner/plan.h"

typedef struct etx_plan_sizes {
  const etx_ir_method* method;
  const etx_placement* placement;
  const etx_plan_problem* problem;  // at the upper bounds
  const uint32_t* storages;         // of each block of the problem
  etx_pool* pool;
  etx_diag* diag;
} etx_plan_sizes;

// Replaces the offsets of `solution`, and perhaps makes its arena smaller. Sets
// `*out_worst` to the worst ratio, in thousandths; 0: all sizes are fixed.
ETX_MUST_USE etx_status etx_plan_for_sizes(const etx_plan_sizes* sizes,
                                           etx_plan_solution* solution,
                                           uint64_t* out_worst);

#endif
