// Best fit over time: in order of start, each block is placed into the smallest
// free range that it fits into; blocks that end free theirs. If lifetimes are
// of similar length, free ranges appear in the order in which they are needed,
// and no other algorithm comes as close to the bound. A second run goes
// backwards in time.

#include <string.h>

#include "planner/algorithms/plan_algorithm.h"
#include "planner/algorithms/free_list.h"
#include "planner/problem/plan_sort.h"
#include "planner/problem/plan_workspace.h"

typedef struct best_fit {
  const etx_plan_partition* part;
  etx_free_list holes;
  uint32_t* starts;  // blocks by start
  uint32_t* ends;    // blocks by end
  uint64_t* scratch;
  bool is_backward;
} best_fit;

// The start and end of a block in the direction of the run.
static uint32_t start_of(const void* context, uint32_t b) {
  const best_fit* const now = context;
  return now->is_backward ? ~now->part->limit[b] : now->part->first[b];
}

static uint32_t end_of(const void* context, uint32_t b) {
  const best_fit* const now = context;
  return now->is_backward ? ~now->part->first[b] : now->part->limit[b];
}

static void sort_events(best_fit* now) {
  const uint32_t count = now->part->block_count;
  for (uint32_t b = 0; b < count; ++b) now->starts[b] = now->ends[b] = b;
  etx_plan_sort(now->starts, count, start_of, now, now->scratch);
  etx_plan_sort(now->ends, count, end_of, now, now->scratch);
}

// Places all blocks. False if the plan reaches `*best` units; otherwise stores
// its units there.
static bool place_all(best_fit* now, uint32_t* best, uint64_t* steps,
                      uint32_t* offsets) {
  const etx_plan_partition* const part = now->part;
  uint32_t ended = 0;
  uint32_t highest = 0;
  sort_events(now);
  etx_free_list_start(&now->holes, offsets);
  for (uint32_t i = 0; i < part->block_count; ++i) {
    const uint32_t b = now->starts[i];
    while (end_of(now, now->ends[ended]) <= start_of(now, b)) {
      etx_free_list_release(&now->holes, now->ends[ended++]);
    }
    etx_free_list_place(&now->holes, b);
    const uint32_t end = offsets[b] + part->size[b];
    if (end >= *best) return false;
    if (end > highest) highest = end;
    *steps -= *steps > 0;
  }
  *best = highest;
  return true;
}

etx_status etx_plan_best_fit_run(const etx_plan_partition* part,
                                 etx_plan_goal* goal, etx_arena* work,
                                 uint32_t* offsets) {
  best_fit now = {0};
  uint32_t* trial = NULL;
  now.part = part;
  if (!work->counting && part->has_fixed) return ETX_UNSUPPORTED;
  if (!work->counting && goal->steps < part->block_count) return ETX_NOT_FOUND;
  if (!etx_free_list_take(&now.holes, part, work) ||
      !etx_plan_take_u32(work, part->block_count, &now.starts) ||
      !etx_plan_take_u32(work, part->block_count, &now.ends) ||
      !etx_plan_take_u32(work, part->block_count, &trial) ||
      !etx_plan_take_u64(work, 2 * (size_t)part->block_count, &now.scratch)) {
    return ETX_OUT_OF_MEMORY;
  }
  if (work->counting) return ETX_OK;
  uint32_t best = goal->best;
  for (size_t i = 0; i < 2 && best > goal->enough; ++i) {
    now.is_backward = i == 1;
    if (goal->steps < part->block_count) break;
    if (!place_all(&now, &best, &goal->steps, trial)) continue;
    memcpy(offsets, trial, part->block_count * sizeof *offsets);
  }
  return best < goal->best ? ETX_OK : ETX_NOT_FOUND;
}
