// The nodes of a placed method as a problem of find_schedule.h.
//
// One stretch of the method at a time: the method itself, or one branch of a
// choice. A choice within it, with both branches and its joins, is one item.
// An item must stay behind another if it reads what that makes, or if they
// touch the same bytes of a storage that is written more than once (a state, an
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

// `takes_over`: results may take over blocks of arguments that die. Arrays come
// from `pool`.
ETX_MUST_USE etx_status etx_schedule_graph_make(
    etx_pool* pool, const etx_ir_method* method, const etx_placement* placement,
    const etx_schedule_region* stretch, uint64_t alignment, bool takes_over,
    etx_schedule_graph* out_graph);

// Puts the stretch's nodes in the order of `items`.
ETX_MUST_USE etx_status
etx_schedule_graph_apply(etx_pool* pool, const etx_schedule_graph* graph,
                         const uint32_t* items, etx_ir_method* method);

#endif
