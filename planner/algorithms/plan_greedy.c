// Greedy placement: one block after the other into a gap between the placed
// blocks that are live together with it, or on top of them. The first gap that
// fits keeps the arena low; the smallest one keeps large gaps for large blocks.
// Blocks are placed by size and then by lifetime (the second key matters much
// where sizes repeat), or from the sections with the most live units (Pisarchyk
// and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020:
// greedy by breadth).
//
// Fixed blocks are placed before all others. O(n k) for k placed blocks.

#include <string.h>

#include "planner/algorithms/plan_algorithm.h"
#include "planner/algorithms/plan_ranks.h"
#include "planner/problem/plan_workspace.h"

static const etx_plan_order by_size = {
    {ETX_PLAN_KEY_SIZE, ETX_PLAN_KEY_LIFE, ETX_PLAN_KEY_NONE}, 0};
static const etx_plan_order by_breadth = {
    {ETX_PLAN_KEY_LOAD, ETX_PLAN_KEY_SIZE, ETX_PLAN_KEY_LIFE}, 0};

typedef struct greedy {
  const etx_plan_partition* part;
  uint32_t* offsets;  // of all blocks; the caller's
  uint32_t* order;    // all blocks, the first to be placed first
  uint32_t* placed;   // blocks that have an offset, by offset
  size_t placed_count;
} greedy;

static bool live_together(const etx_plan_partition* part, uint32_t a,
                          uint32_t b) {
  return part->first[a] < part->limit[b] && part->first[b] < part->limit[a];
}

// The offset for block `b`: in the first gap, or the smallest if `best`.
static uint32_t find_gap(const greedy* state, uint32_t b, bool best) {
  const etx_plan_partition* const part = state->part;
  uint32_t top = 0;  // end of the neighbours passed so far
  uint32_t found = ETX_PLAN_NONE;
  uint32_t found_gap = UINT32_MAX;
  for (size_t i = 0; i < state->placed_count; ++i) {
    const uint32_t neighbour = state->placed[i];
    if (!live_together(part, b, neighbour)) continue;
    const uint32_t offset = state->offsets[neighbour];
    const uint32_t start = etx_plan_partition_align(part, b, top);
    if (start + part->size[b] <= offset && offset - top < found_gap) {
      if (!best) return start;
      found = start;
      found_gap = offset - top;
    }
    const uint32_t end = offset + part->size[neighbour];
    if (end > top) top = end;
  }
  return found != ETX_PLAN_NONE ? found
                                : etx_plan_partition_align(part, b, top);
}

// Inserts `b` into the list of placed blocks.
static void insert_placed(greedy* state, uint32_t b) {
  const uint32_t offset = state->offsets[b];
  size_t low = 0;
  size_t high = state->placed_count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (state->offsets[state->placed[middle]] <= offset) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  memmove(&state->placed[low + 1], &state->placed[low],
          (state->placed_count - low) * sizeof *state->placed);
  state->placed[low] = b;
  state->placed_count += 1;
}

static void place_fixed(greedy* state) {
  if (!state->part->has_fixed) return;
  for (uint32_t b = 0; b < state->part->block_count; ++b) {
    state->offsets[b] = etx_plan_partition_fixed(state->part, b);
    if (state->offsets[b] != ETX_PLAN_NONE) insert_placed(state, b);
  }
}

static etx_status place_all(greedy* state, const etx_plan_goal* goal,
                            bool best) {
  const etx_plan_partition* const part = state->part;
  for (uint32_t i = 0; i < part->block_count; ++i) {
    const uint32_t b = state->order[i];
    if (etx_plan_partition_fixed(part, b) != ETX_PLAN_NONE) continue;
    state->offsets[b] = find_gap(state, b, best);
    if (state->offsets[b] + part->size[b] >= goal->best) return ETX_NOT_FOUND;
    insert_placed(state, b);
  }
  return ETX_OK;
}

static etx_status run(const etx_plan_partition* part, etx_plan_goal* goal,
                      etx_arena* work, uint32_t* offsets, etx_plan_order order,
                      bool best) {
  greedy state = {0};
  state.part = part;
  state.offsets = offsets;
  if (!work->counting && !etx_plan_spend_pair_steps(part, goal))
    return ETX_NOT_FOUND;
  if (!etx_plan_take_u32(work, part->block_count, &state.order) ||
      !etx_plan_take_u32(work, part->block_count, &state.placed) ||
      !etx_plan_rank(part, order, work, state.order)) {
    return ETX_OUT_OF_MEMORY;
  }
  if (work->counting) return ETX_OK;
  place_fixed(&state);
  return place_all(&state, goal, best);
}

etx_status etx_plan_greedy_best_gap_run(const etx_plan_partition* part,
                                        etx_plan_goal* goal, etx_arena* work,
                                        uint32_t* offsets) {
  return run(part, goal, work, offsets, by_size, true);
}

etx_status etx_plan_greedy_first_gap_run(const etx_plan_partition* part,
                                         etx_plan_goal* goal, etx_arena* work,
                                         uint32_t* offsets) {
  return run(part, goal, work, offsets, by_size, false);
}

etx_status etx_plan_greedy_breadth_run(const etx_plan_partition* part,
                                       etx_plan_goal* goal, etx_arena* work,
                                       uint32_t* offsets) {
  return run(part, goal, work, offsets, by_breadth, false);
}
