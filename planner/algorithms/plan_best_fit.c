// A walk through time: each newborn goes to the bottom of the smallest hole
// that takes it, and the dead leave theirs. Where lives are of about one
// length, holes come free in the order in which they are wanted, and no other
// algorithm comes so close to the bound. Time may as well run backwards.

#include <string.h>

#include "planner/algorithms/plan_algorithm.h"
#include "planner/algorithms/free_list.h"
#include "planner/problem/plan_sort.h"
#include "planner/problem/plan_workspace.h"

typedef struct flow {
  const etx_plan_partition* part;
  etx_free_list holes;
  uint32_t* births;  // blocks in the order in which they come
  uint32_t* deaths;  // and in which they go
  uint64_t* scratch;
  bool is_backward;
} flow;

// When a block comes and goes, in the direction of the flow.
static uint32_t birth_of(const void* context, uint32_t b) {
  const flow* const now = context;
  return now->is_backward ? ~now->part->limit[b] : now->part->first[b];
}

static uint32_t death_of(const void* context, uint32_t b) {
  const flow* const now = context;
  return now->is_backward ? ~now->part->first[b] : now->part->limit[b];
}

static void sort_events(flow* now) {
  const uint32_t count = now->part->block_count;
  for (uint32_t b = 0; b < count; ++b) now->births[b] = now->deaths[b] = b;
  etx_plan_sort(now->births, count, birth_of, now, now->scratch);
  etx_plan_sort(now->deaths, count, death_of, now, now->scratch);
}

// Lets all blocks live; false if they come to have `*best` units, else that
// becomes how many they have.
static bool run_flow(flow* now, uint32_t* best, uint64_t* steps,
                     uint32_t* offsets) {
  const etx_plan_partition* const part = now->part;
  uint32_t dead = 0;
  uint32_t highest = 0;
  sort_events(now);
  etx_free_list_start(&now->holes, offsets);
  for (uint32_t i = 0; i < part->block_count; ++i) {
    const uint32_t b = now->births[i];
    while (death_of(now, now->deaths[dead]) <= birth_of(now, b)) {
      etx_free_list_release(&now->holes, now->deaths[dead++]);
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
  flow now = {0};
  uint32_t* trial = NULL;
  now.part = part;
  if (!work->counting && part->has_fixed) return ETX_UNSUPPORTED;
  if (!work->counting && goal->steps < part->block_count) return ETX_NOT_FOUND;
  if (!etx_free_list_take(&now.holes, part, work) ||
      !etx_plan_take_u32(work, part->block_count, &now.births) ||
      !etx_plan_take_u32(work, part->block_count, &now.deaths) ||
      !etx_plan_take_u32(work, part->block_count, &trial) ||
      !etx_plan_take_u64(work, 2 * (size_t)part->block_count, &now.scratch)) {
    return ETX_OUT_OF_MEMORY;
  }
  if (work->counting) return ETX_OK;
  uint32_t best = goal->best;
  for (size_t i = 0; i < 2 && best > goal->enough; ++i) {
    now.is_backward = i == 1;
    if (goal->steps < part->block_count) break;
    if (!run_flow(&now, &best, &goal->steps, trial)) continue;
    memcpy(offsets, trial, part->block_count * sizeof *offsets);
  }
  return best < goal->best ? ETX_OK : ETX_NOT_FOUND;
}
