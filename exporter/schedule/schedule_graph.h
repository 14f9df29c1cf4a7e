// The nodes of a method as a scheduling problem (find_schedule.h).
//
// Each problem is one region: the whole method, or one branch of a conditional.
// A conditional inside the region, with both branches and its joins, is one
// item. An item depends on another one if it reads its results; if both access
// the same bytes of a storage that is written more than once (a state, an
// input, a concatenation) and one of them writes; or if both draw random
// numbers.

#ifndef ETX_EXPORTER_SCHEDULE_SCHEDULE_GRAPH_H
#define ETX_EXPORTER_SCHEDULE_SCHEDULE_GRAPH_H

#include "exporter/placement/liveness.h"
#include "exporter/schedule/find_schedule.h"
#include "exporter/placement/placement.h"

// Nodes [first, last) of the method: a branch, or all of them in branch 0.
typedef struct etx_schedule_region {
  size_t first;
  size_t last;
  uint32_t branch;
} etx_schedule_region;

typedef struct etx_schedule_graph {
  etx_schedule_problem problem;
  // By item: its first node; one more entry ends the last item.
  uint32_t* item_starts;
} etx_schedule_graph;

typedef struct etx_schedule_options {
  uint64_t alignment;    // of blocks
  bool reuses_operands;  // results may take over blocks of operands that die
} etx_schedule_options;

// Arrays come from `pool`.
ETX_MUST_USE etx_status etx_schedule_graph_make(
    etx_pool* pool, const etx_ir_method* method, const etx_placement* placement,
    const etx_schedule_region* region, const etx_schedule_options* options,
    etx_schedule_graph* out_graph);

// Puts the region's nodes in the order of `items`.
ETX_MUST_USE etx_status
etx_schedule_graph_apply(etx_pool* pool, const etx_schedule_graph* graph,
                         const uint32_t* items, etx_ir_method* method);

#endif
