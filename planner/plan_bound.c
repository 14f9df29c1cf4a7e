// A sweep over births and deaths keeps the rounded sum. Rounding by less than
// a block's own alignment looks weak, but with mixed alignments a small block
// may lie in the padding of a large one, so nothing stronger holds for all.
// The paddings of living blocks are kept by rank, to know the largest.

#include "planner/plan_bound.h"

#include "planner/plan_check.h"
#include "planner/plan_events.h"
#include "planner/plan_set.h"
#include "planner/plan_sort.h"
#include "planner/plan_work.h"

typedef struct bound_work {
  etx_plan_events events;
  etx_plan_set living;   // ranks of living blocks
  uint32_t* by_padding;  // blocks by ascending padding
  uint32_t* ranks;       // position of each block in by_padding
  uint32_t* scratch;     // for sorting
} bound_work;

typedef struct padding_order {
  const etx_plan_block* blocks;
  uint64_t step;
} padding_order;

static uint64_t padding_of(const etx_plan_block* block, uint64_t step) {
  return etx_plan_align(block->size, step) - block->size;
}

static bool pads_less(const void* context, uint32_t a, uint32_t b) {
  const padding_order* const order = context;
  return padding_of(&order->blocks[a], order->step) <
         padding_of(&order->blocks[b], order->step);
}

static bool take(bound_work* bound, const etx_plan_problem* problem,
                 etx_arena* work) {
  const size_t count = problem->block_count;
  return etx_plan_events_take(&bound->events, problem, work) &&
         etx_plan_set_take(&bound->living, work, count) &&
         etx_plan_take_u32(work, count, &bound->by_padding) &&
         etx_plan_take_u32(work, count, &bound->ranks) &&
         etx_plan_take_u32(work, count, &bound->scratch);
}

static void rank_paddings(bound_work* bound, const etx_plan_problem* problem,
                          uint64_t step) {
  const padding_order order = {problem->blocks, step};
  const size_t count = problem->block_count;
  for (size_t i = 0; i < count; ++i) bound->by_padding[i] = (uint32_t)i;
  etx_plan_sort(bound->by_padding, count, bound->scratch, pads_less, &order);
  for (size_t i = 0; i < count; ++i) {
    bound->ranks[bound->by_padding[i]] = (uint32_t)i;
  }
}

static uint64_t largest_padding(const bound_work* bound,
                                const etx_plan_problem* problem,
                                uint64_t step) {
  const size_t rank =
      etx_plan_set_previous(&bound->living, problem->block_count);
  if (rank == ETX_PLAN_SET_NONE) return 0;
  return padding_of(&problem->blocks[bound->by_padding[rank]], step);
}

static uint64_t sweep(bound_work* bound, const etx_plan_problem* problem,
                      uint64_t step) {
  uint64_t live = 0;
  uint64_t most = 0;
  etx_plan_event event;
  while (etx_plan_events_next(&bound->events, &event)) {
    const uint64_t bytes =
        etx_plan_align(problem->blocks[event.block].size, step);
    if (!event.is_birth) {
      live -= bytes;
      etx_plan_set_remove(&bound->living, bound->ranks[event.block]);
      continue;
    }
    live += bytes;
    etx_plan_set_insert(&bound->living, bound->ranks[event.block]);
    const uint64_t needed = live - largest_padding(bound, problem, step);
    if (needed > most) most = needed;
  }
  return most;
}

static uint64_t highest_fixed_end(const etx_plan_problem* problem) {
  uint64_t highest = 0;
  for (size_t i = 0; i < problem->block_count; ++i) {
    const etx_plan_block* const block = &problem->blocks[i];
    if (block->fixed == ETX_PLAN_FREE) continue;
    const uint64_t end = block->fixed + block->size;
    if (end > highest) highest = end;
  }
  return highest;
}

etx_status etx_plan_bound(const etx_plan_problem* problem, etx_arena* work,
                          uint64_t* out_bytes) {
  const size_t mark = etx_arena_mark(work);
  bound_work bound;
  const bool taken = take(&bound, problem, work);
  if (taken && !work->counting) {
    const uint64_t step = etx_plan_step(problem);
    const uint64_t fixed_end = highest_fixed_end(problem);
    rank_paddings(&bound, problem, step);
    const uint64_t most = sweep(&bound, problem, step);
    *out_bytes = most > fixed_end ? most : fixed_end;
  }
  etx_arena_rewind(work, mark);
  return taken ? ETX_OK : ETX_OUT_OF_MEMORY;
}
