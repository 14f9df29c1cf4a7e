// Blocks move one at a time, in order of their start, so the solution is a
// valid plan after every move.

#include "planner/plan_spread.h"

enum {
  PAGE = 32768,  // granularity of the new offsets
  // 2 MB: more than the private cache of a core, and small enough for a shared
  // cache. A smaller arena is better used densely.
  PAGES = 64,
};

// For each page the latest end of the blocks that have used it so far.
typedef struct page_ages {
  uint32_t end[PAGES];
} page_ages;

static bool live_together(const etx_plan_block* a, const etx_plan_block* b) {
  return a->start < b->end && b->start < a->end;
}

// Raises the ends of the pages of a block to `end`.
static void raise_pages(page_ages* a, uint64_t offset, uint64_t size,
                        uint32_t end) {
  if (size == 0) return;
  for (uint64_t p = offset / PAGE; p < PAGES && p * PAGE < offset + size; ++p) {
    if (a->end[p] < end) a->end[p] = end;
  }
}

// The start of the `count` consecutive pages that were used longest ago; PAGES
// if no such pages are free.
static uint32_t oldest(const page_ages* a, uint32_t count) {
  uint32_t best = PAGES, best_end = UINT32_MAX;
  for (uint32_t first = 0; first + count <= PAGES; ++first) {
    uint32_t end = 0;
    for (uint32_t p = first; p < first + count; ++p) {
      if (a->end[p] > end) end = a->end[p];
    }
    if (end < best_end) {
      best = first;
      best_end = end;
    }
  }
  return best;
}

// Moves block `index` to the oldest pages that are free during its lifetime.
static void move_block(const etx_plan_problem* problem, size_t index,
                       const page_ages* before, uint64_t* offsets) {
  const etx_plan_block* block = &problem->blocks[index];
  if (block->fixed != ETX_PLAN_FREE || PAGE % block->alignment != 0 ||
      block->size < PAGE || block->size > (uint64_t)PAGES * PAGE) {
    return;
  }
  page_ages a = *before;
  for (size_t i = 0; i < problem->block_count; ++i) {
    const etx_plan_block* other = &problem->blocks[i];
    if (i == index || !live_together(block, other)) continue;
    raise_pages(&a, offsets[i], other->size, UINT32_MAX);
  }
  const uint32_t first =
      oldest(&a, (uint32_t)((block->size + PAGE - 1) / PAGE));
  if (first < PAGES) offsets[index] = (uint64_t)first * PAGE;
}

// The block after `index` in order of start and then number; the first one if
// `index` is the number of blocks.
static size_t next_block(const etx_plan_problem* problem, size_t index) {
  const etx_plan_block* blocks = problem->blocks;
  const size_t count = problem->block_count;
  size_t next = count;
  for (size_t i = 0; i < count; ++i) {
    if (index < count &&
        (blocks[i].start < blocks[index].start ||
         (blocks[i].start == blocks[index].start && i <= index))) {
      continue;
    }
    if (next == count || blocks[i].start < blocks[next].start) next = i;
  }
  return next;
}

void etx_plan_spread(const etx_plan_problem* problem,
                     etx_plan_solution* solution) {
  const size_t count = problem->block_count;
  if (count > ETX_PLAN_SPREAD_MOST_BLOCKS ||
      solution->arena_bytes < (uint64_t)PAGES * PAGE) {
    return;
  }
  page_ages a = {{0}};
  uint64_t end = 0;
  for (size_t i = next_block(problem, count); i < count;
       i = next_block(problem, i)) {
    const etx_plan_block* block = &problem->blocks[i];
    move_block(problem, i, &a, solution->offsets);
    const uint64_t offset = solution->offsets[i];
    raise_pages(&a, offset, block->size, block->end);
    if (offset + block->size > end) end = offset + block->size;
  }
  solution->arena_bytes = end;
}
