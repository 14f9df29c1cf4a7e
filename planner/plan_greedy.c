// Largest first: each block goes into a gap between the placed blocks that
// live with it, walked by ascending offset, or on top of them. The first gap
// that fits keeps the arena low; the smallest that fits keeps large gaps for
// large blocks. Neither is always better, so both are in the list. Equal sizes
// go by longer life, which is worth up to a half where sizes repeat.
//
// Fixed blocks are placed before all others and then are blocks like any.
// O(n k), k the placed blocks; simple enough to be believed.

#include <string.h>

#include "planner/plan_algorithms.h"
#include "planner/plan_check.h"
#include "planner/plan_sort.h"
#include "planner/plan_work.h"

typedef struct greedy {
  const etx_plan_block* blocks;
  uint64_t* offsets;  // of all blocks; the caller's
  uint32_t* placed;   // blocks with bytes that have an offset, by offset
  size_t placed_count;
  uint32_t* order;    // blocks to place
  uint32_t* scratch;  // for sorting
} greedy;

static bool goes_first(const void* context, uint32_t a, uint32_t b) {
  const etx_plan_block* const blocks = context;
  const uint32_t life_a = blocks[a].end - blocks[a].start;
  const uint32_t life_b = blocks[b].end - blocks[b].start;
  if (blocks[a].size != blocks[b].size) return blocks[a].size > blocks[b].size;
  if (life_a != life_b) return life_a > life_b;
  return a < b;
}

static bool live_together(const etx_plan_block* a, const etx_plan_block* b) {
  return a->start < b->end && b->start < a->end;
}

// The offset for `block`: in the first gap, or the smallest if `best`.
static uint64_t find_gap(const greedy* state, const etx_plan_block* block,
                         bool best) {
  uint64_t top = 0;  // end of the neighbours passed so far
  uint64_t found = ETX_PLAN_FREE;
  uint64_t found_gap = UINT64_MAX;
  for (size_t i = 0; i < state->placed_count; ++i) {
    const uint32_t index = state->placed[i];
    const etx_plan_block* const neighbour = &state->blocks[index];
    if (!live_together(block, neighbour)) continue;
    const uint64_t offset = state->offsets[index];
    const uint64_t start = etx_plan_align(top, block->alignment);
    if (start + block->size <= offset && offset - top < found_gap) {
      if (!best) return start;
      found = start;
      found_gap = offset - top;
    }
    if (offset + neighbour->size > top) top = offset + neighbour->size;
  }
  return found != ETX_PLAN_FREE ? found : etx_plan_align(top, block->alignment);
}

// Files `index` among the placed blocks, whose offsets it then takes part in.
static void file_block(greedy* state, uint32_t index) {
  const uint64_t offset = state->offsets[index];
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
  state->placed[low] = index;
  state->placed_count += 1;
}

// Places fixed and empty blocks and lists the others.
static size_t prepare(greedy* state, const etx_plan_problem* problem) {
  size_t count = 0;
  state->placed_count = 0;
  for (size_t i = 0; i < problem->block_count; ++i) {
    const etx_plan_block* const block = &problem->blocks[i];
    const bool is_fixed = block->fixed != ETX_PLAN_FREE;
    state->offsets[i] = is_fixed ? block->fixed : 0;
    if (block->size == 0) continue;
    if (is_fixed) {
      file_block(state, (uint32_t)i);
    } else {
      state->order[count++] = (uint32_t)i;
    }
  }
  return count;
}

static etx_status run(const etx_plan_problem* problem, etx_arena* work,
                      uint64_t* offsets, bool best) {
  greedy state = {problem->blocks, offsets, NULL, 0, NULL, NULL};
  if (!etx_plan_take_u32(work, problem->block_count, &state.placed) ||
      !etx_plan_take_u32(work, problem->block_count, &state.order) ||
      !etx_plan_take_u32(work, problem->block_count, &state.scratch)) {
    return ETX_OUT_OF_MEMORY;
  }
  if (work->counting) return ETX_OK;
  const size_t count = prepare(&state, problem);
  etx_plan_sort(state.order, count, state.scratch, goes_first, state.blocks);
  for (size_t i = 0; i < count; ++i) {
    const uint32_t index = state.order[i];
    offsets[index] = find_gap(&state, &state.blocks[index], best);
    file_block(&state, index);
  }
  return ETX_OK;
}

etx_status etx_plan_greedy_best_gap_run(const etx_plan_problem* problem,
                                        etx_plan_goal* goal, etx_arena* work,
                                        uint64_t* offsets) {
  (void)goal;
  return run(problem, work, offsets, true);
}

etx_status etx_plan_greedy_first_gap_run(const etx_plan_problem* problem,
                                         etx_plan_goal* goal, etx_arena* work,
                                         uint64_t* offsets) {
  (void)goal;
  return run(problem, work, offsets, false);
}
