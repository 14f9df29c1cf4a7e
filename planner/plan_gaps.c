#include "planner/plan_gaps.h"

#include <string.h>

#include "format/base/reachability.h"
#include "planner/problem/plan_workspace.h"

enum { WORD_BITS = 64, ROUNDS = 32 };

typedef struct gap_planner {
  const etx_plan_problem* problem;
  const etx_plan_gap* gaps;
  uint32_t count;
  uint32_t* first_gap;  // by block, and one more
  uint64_t* conflicts;  // bit matrix: blocks that are live together
  size_t row_words;
  uint64_t* offsets;  // of the present attempt
  uint64_t* keys;     // sort keys of the present order
  uint32_t* order;    // in which blocks are placed
  uint32_t* placed;   // placed blocks by ascending offset
  uint64_t step;      // every offset is a multiple of it
} gap_planner;

static bool take(gap_planner* l, etx_arena* work) {
  const size_t n = l->count;
  l->row_words = n / WORD_BITS + 1;
  return etx_plan_take_u32(work, n + 1, &l->first_gap) &&
         etx_plan_take_u64(work, n * l->row_words, &l->conflicts) &&
         etx_plan_take_u64(work, n, &l->offsets) &&
         etx_plan_take_u64(work, n, &l->keys) &&
         etx_plan_take_u32(work, n, &l->order) &&
         etx_plan_take_u32(work, n, &l->placed);
}

size_t etx_plan_gaps_needed(size_t block_count) {
  etx_arena counter;
  gap_planner l = {0};
  if (block_count > ETX_PLAN_GAPS_MOST_BLOCKS) return 0;
  etx_arena_init_counting(&counter);
  l.count = (uint32_t)block_count;
  (void)take(&l, &counter);  // so few blocks that no number overflows
  return counter.peak_bytes;
}

// ---- conflicts ----

static void index_gaps(gap_planner* l, size_t gap_count) {
  size_t at = 0;
  for (uint32_t b = 0; b < l->count; ++b) {
    l->first_gap[b] = (uint32_t)at;
    while (at < gap_count && l->gaps[at].block == b) ++at;
  }
  l->first_gap[l->count] = (uint32_t)at;
}

// The first time at or after `time` at which the block is needed; its end if
// there is none.
static uint32_t next_use(const gap_planner* l, uint32_t b, uint32_t time) {
  const etx_plan_block* const block = &l->problem->blocks[b];
  if (time < block->start) time = block->start;
  for (uint32_t g = l->first_gap[b]; g < l->first_gap[b + 1]; ++g) {
    if (l->gaps[g].start <= time && time < l->gaps[g].end) {
      time = l->gaps[g].end;
    }
  }
  return time < block->end ? time : block->end;
}

static bool is_needed(const gap_planner* l, uint32_t b, uint32_t time) {
  return time < l->problem->blocks[b].end && next_use(l, b, time) == time;
}

static bool live_together(const gap_planner* l, uint32_t a, uint32_t b) {
  const uint32_t a_end = l->problem->blocks[a].end;
  const uint32_t b_end = l->problem->blocks[b].end;
  uint32_t time = 0;
  for (;;) {
    const uint32_t x = next_use(l, a, time);
    const uint32_t y = next_use(l, b, x);
    if (x >= a_end || y >= b_end) return false;
    if (x == y) return true;
    time = y;
  }
}

static bool in_conflict(const gap_planner* l, uint32_t a, uint32_t b) {
  const uint64_t word = l->conflicts[a * l->row_words + b / WORD_BITS];
  return (word >> b % WORD_BITS & 1) != 0;
}

static void set_conflict(gap_planner* l, uint32_t a, uint32_t b) {
  l->conflicts[a * l->row_words + b / WORD_BITS] |= UINT64_C(1)
                                                    << b % WORD_BITS;
}

static void find_conflicts(gap_planner* l) {
  memset(l->conflicts, 0, l->count * l->row_words * sizeof *l->conflicts);
  for (uint32_t a = 0; a < l->count; ++a) {
    for (uint32_t b = 0; b < a; ++b) {
      if (l->problem->blocks[a].size == 0 || l->problem->blocks[b].size == 0 ||
          !live_together(l, a, b)) {
        continue;
      }
      set_conflict(l, a, b);
      set_conflict(l, b, a);
    }
  }
}

// ---- the bound ----

static uint64_t round_up(const gap_planner* l, uint64_t size) {
  return size + (l->step - size % l->step) % l->step;
}

// Bytes needed at `time`. The topmost block needs no padding.
static uint64_t needed_at(const gap_planner* l, uint32_t time) {
  uint64_t sum = 0;
  uint64_t padding = 0;
  for (uint32_t b = 0; b < l->count; ++b) {
    const uint64_t size = l->problem->blocks[b].size;
    if (size == 0 || !is_needed(l, b, time)) continue;
    sum += round_up(l, size);
    if (round_up(l, size) - size > padding) padding = round_up(l, size) - size;
  }
  return sum - padding;
}

// The need grows only where a block starts or a gap ends.
static uint64_t find_bound(const gap_planner* l) {
  uint64_t most = 0;
  for (uint32_t b = 0; b < l->count; ++b) {
    const uint64_t bytes = needed_at(l, l->problem->blocks[b].start);
    if (bytes > most) most = bytes;
  }
  for (uint32_t g = 0; g < l->first_gap[l->count]; ++g) {
    const uint64_t bytes = needed_at(l, l->gaps[g].end);
    if (bytes > most) most = bytes;
  }
  return most;
}

static uint64_t smallest_alignment(const etx_plan_problem* problem) {
  uint64_t least = problem->blocks[0].alignment;
  for (size_t i = 1; i < problem->block_count; ++i) {
    if (problem->blocks[i].alignment < least) {
      least = problem->blocks[i].alignment;
    }
  }
  return least;
}

// ---- placing ----

// Sorts `order` by descending keys, equal ones by number.
static void sort_by_keys(gap_planner* l) {
  for (uint32_t b = 0; b < l->count; ++b) {
    uint32_t at = b;
    while (at > 0 && l->keys[l->order[at - 1]] < l->keys[b]) {
      l->order[at] = l->order[at - 1];
      --at;
    }
    l->order[at] = b;
  }
}

// The lowest offset at which `b` does not overlap placed blocks.
static uint64_t lowest_offset(const gap_planner* l, uint32_t b,
                              uint32_t placed) {
  const etx_plan_block* const block = &l->problem->blocks[b];
  uint64_t at = 0;
  for (uint32_t i = 0; i < placed; ++i) {
    const uint32_t other = l->placed[i];
    if (!in_conflict(l, b, other)) continue;
    if (l->offsets[other] >= at + block->size) break;
    const uint64_t end = l->offsets[other] + l->problem->blocks[other].size;
    if (end > at) {
      at = end + (block->alignment - end % block->alignment) % block->alignment;
    }
  }
  return at;
}

static void place_block(gap_planner* l, uint32_t b, uint64_t offset,
                        uint32_t placed) {
  uint32_t at = placed;
  l->offsets[b] = offset;
  while (at > 0 && l->offsets[l->placed[at - 1]] > offset) {
    l->placed[at] = l->placed[at - 1];
    --at;
  }
  l->placed[at] = b;
}

// Places all blocks in order and returns the size of the arena.
static uint64_t place_all(gap_planner* l) {
  const etx_plan_block* const blocks = l->problem->blocks;
  uint64_t arena = 0;
  uint32_t placed = 0;
  for (uint32_t b = 0; b < l->count; ++b) {
    if (blocks[b].fixed == ETX_PLAN_FREE) continue;
    place_block(l, b, blocks[b].fixed, placed++);
    if (blocks[b].fixed + blocks[b].size > arena) {
      arena = blocks[b].fixed + blocks[b].size;
    }
  }
  for (uint32_t i = 0; i < l->count; ++i) {
    const uint32_t b = l->order[i];
    if (blocks[b].fixed != ETX_PLAN_FREE) continue;
    place_block(l, b, lowest_offset(l, b, placed), placed);
    ++placed;
    if (l->offsets[b] + blocks[b].size > arena) {
      arena = l->offsets[b] + blocks[b].size;
    }
  }
  return arena;
}

// Places in order and keeps the plan if it is smaller.
static void try_order(gap_planner* l, etx_plan_solution* solution) {
  const uint64_t arena = place_all(l);
  solution->steps += l->count;
  if (arena >= solution->arena_bytes) return;
  memcpy(solution->offsets, l->offsets, l->count * sizeof *l->offsets);
  solution->arena_bytes = arena;
  solution->algorithm = "gaps";
}

// ---- orders ----

static void by_given_offset(gap_planner* l, const etx_plan_solution* solution) {
  for (uint32_t b = 0; b < l->count; ++b) {
    l->keys[b] = UINT64_MAX - solution->offsets[b];
  }
}

static void by_size(gap_planner* l) {
  for (uint32_t b = 0; b < l->count; ++b) {
    l->keys[b] = l->problem->blocks[b].size;
  }
}

// By the time during which the block is needed, then by its size.
static void by_length(gap_planner* l) {
  for (uint32_t b = 0; b < l->count; ++b) {
    const etx_plan_block* const block = &l->problem->blocks[b];
    uint64_t length = block->end - block->start;
    for (uint32_t g = l->first_gap[b]; g < l->first_gap[b + 1]; ++g) {
      length -= l->gaps[g].end - l->gaps[g].start;
    }
    const uint64_t most = UINT32_MAX;
    l->keys[b] = length << 32 | (block->size < most ? block->size : most);
  }
}

static void by_start(gap_planner* l) {
  for (uint32_t b = 0; b < l->count; ++b) {
    l->keys[b] = UINT32_MAX - l->problem->blocks[b].start;
  }
}

// Moves blocks that end above the bound to the front of `order`, for the next
// round. False if that changes nothing.
static bool promote_highest(gap_planner* l, uint64_t bound) {
  uint32_t front = 0;
  uint32_t back = 0;
  for (uint32_t i = 0; i < l->count; ++i) {
    const uint32_t b = l->order[i];
    if (l->offsets[b] + l->problem->blocks[b].size > bound) {
      l->placed[front++] = b;
    } else {
      l->keys[back++] = b;
    }
  }
  memcpy(l->order, l->placed, front * sizeof *l->order);
  for (uint32_t i = 0; i < back; ++i)
    l->order[front + i] = (uint32_t)l->keys[i];
  return front != 0 && back != 0;
}

static void try_orders(gap_planner* l, etx_plan_solution* solution) {
  static void (*const orders[])(gap_planner*) = {by_size, by_length, by_start};
  by_given_offset(l, solution);
  sort_by_keys(l);
  try_order(l, solution);
  for (size_t i = 0; i < sizeof orders / sizeof orders[0]; ++i) {
    if (solution->arena_bytes <= solution->lower_bound) return;
    orders[i](l);
    sort_by_keys(l);
    try_order(l, solution);
    for (int round = 0; round < ROUNDS; ++round) {
      if (!promote_highest(l, solution->lower_bound)) break;
      try_order(l, solution);
    }
  }
}

// Checks the plan again, every two blocks: it is one, unless the planner errs.
static bool is_plan(const gap_planner* l, const etx_plan_solution* solution) {
  const etx_plan_block* const blocks = l->problem->blocks;
  const uint64_t* const offsets = solution->offsets;
  for (uint32_t a = 0; a < l->count; ++a) {
    if (ETX_NEVER(offsets[a] % blocks[a].alignment != 0)) return false;
    for (uint32_t b = 0; b < a; ++b) {
      const bool overlap = offsets[a] < offsets[b] + blocks[b].size &&
                           offsets[b] < offsets[a] + blocks[a].size;
      if (overlap && ETX_NEVER(in_conflict(l, a, b))) return false;
    }
  }
  return true;
}

static uint64_t largest_size(const etx_plan_problem* problem) {
  uint64_t largest = 0;
  for (size_t i = 0; i < problem->block_count; ++i) {
    if (problem->blocks[i].size > largest) largest = problem->blocks[i].size;
  }
  return largest;
}

etx_status etx_plan_gaps_apply(const etx_plan_problem* problem,
                               const etx_plan_gap* gaps, size_t gap_count,
                               etx_arena* work, etx_plan_solution* solution) {
  gap_planner l = {.problem = problem, .gaps = gaps};
  if (gap_count == 0 || problem->block_count == 0) return ETX_OK;
  if (problem->block_count > ETX_PLAN_GAPS_MOST_BLOCKS) {
    solution->lower_bound = largest_size(problem);
    return ETX_OK;
  }
  const size_t mark = etx_arena_mark(work);
  l.count = (uint32_t)problem->block_count;
  l.step = smallest_alignment(problem);
  if (!take(&l, work)) return ETX_OUT_OF_MEMORY;
  index_gaps(&l, gap_count);
  solution->lower_bound = find_bound(&l);
  bool is_good = true;
  if (solution->arena_bytes > solution->lower_bound) {
    find_conflicts(&l);
    try_orders(&l, solution);
    is_good = is_plan(&l, solution);
  }
  etx_arena_rewind(work, mark);
  return ETX_ALWAYS(is_good) ? ETX_OK : ETX_INTERNAL;
}
