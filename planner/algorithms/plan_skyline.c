// The skyline algorithm: takes a plateau, a range of sections that is lower
// than both of its neighbours, and places on it the best-ranked block that fits
// inside.
//
//   height ^      +----+
//          | +----+    |          the plateau [a, b) is lowest: place on it, or
//          | |    |    +---+      if nothing fits raise it to its lower
//          +-+    |a  b|   |      neighbour and join the two
//          +------+----+---+--> sections
//
// Which lowest plateau comes first does not change the plan, because the
// neighbours cannot change before the plateau has risen to them. So moving to a
// lower neighbour replaces a heap. No order of blocks is good for all problems,
// so several are tried. There is one placement per block, and at most two
// raises per placement. Fixed blocks form the initial skyline; free bytes below
// them stay unused.

#include <string.h>

#include "format/base/reachability.h"
#include "planner/algorithms/plan_algorithm.h"
#include "planner/algorithms/interval_index.h"
#include "planner/problem/section_cover.h"
#include "planner/algorithms/plan_ranks.h"
#include "planner/problem/plan_sort.h"
#include "planner/problem/plan_workspace.h"

static const etx_plan_order first_order = {
    {ETX_PLAN_KEY_LIFE, ETX_PLAN_KEY_SIZE, ETX_PLAN_KEY_NONE}, 0};

static const etx_plan_order other_orders[] = {
    {{ETX_PLAN_KEY_LOAD, ETX_PLAN_KEY_SECTIONS, ETX_PLAN_KEY_SIZE}, 0},
    {{ETX_PLAN_KEY_LOAD, ETX_PLAN_KEY_SECTIONS, ETX_PLAN_KEY_SIZE}, 64},
    {{ETX_PLAN_KEY_LOAD, ETX_PLAN_KEY_LIFE, ETX_PLAN_KEY_SIZE}, 256},
    {{ETX_PLAN_KEY_LOAD, ETX_PLAN_KEY_LIFE, ETX_PLAN_KEY_SIZE}, 0},
    {{ETX_PLAN_KEY_LOAD, ETX_PLAN_KEY_AREA, ETX_PLAN_KEY_LIFE}, 0},
    {{ETX_PLAN_KEY_AREA, ETX_PLAN_KEY_LIFE, ETX_PLAN_KEY_NONE}, 0},
    {{ETX_PLAN_KEY_SECTIONS, ETX_PLAN_KEY_LOAD, ETX_PLAN_KEY_AREA}, 0},
    {{ETX_PLAN_KEY_SIZE, ETX_PLAN_KEY_LIFE, ETX_PLAN_KEY_LOAD}, 0},
    {{ETX_PLAN_KEY_SECTIONS, ETX_PLAN_KEY_SIZE, ETX_PLAN_KEY_LIFE}, 0},
    {{ETX_PLAN_KEY_LOAD, ETX_PLAN_KEY_SECTIONS, ETX_PLAN_KEY_SIZE}, 16},
    {{ETX_PLAN_KEY_LOAD, ETX_PLAN_KEY_LIFE, ETX_PLAN_KEY_SIZE}, 32},
};

enum {
  OTHER_ORDERS = sizeof other_orders / sizeof other_orders[0],
  LOOKS_PER_STEP = 4  // visits of the index per step, as in a small problem
};

// Plateaus are indexed by their first section, counted from 1; index 0 and the
// one past the last section are infinitely high.
typedef struct plateau {
  uint32_t height;    // its lowest free offset
  uint32_t next;      // the plateau to the right
  uint32_t previous;  // and to the left
} plateau;

typedef struct skyline {
  const etx_plan_partition* part;
  etx_interval_index index;
  plateau* plateaus;
} skyline;

static bool take_plateaus(etx_arena* work, size_t count, plateau** out) {
  enum { WORDS = sizeof(plateau) / sizeof(uint32_t) };
  uint32_t* words = NULL;
  if (ETX_NEVER_IF_WIDE(count > SIZE_MAX / WORDS)) return false;
  if (!etx_plan_take_u32(work, count * WORDS, &words)) return false;
  void* const start = words;
  *out = start;
  return true;
}

static bool take(skyline* sky, const etx_plan_partition* part,
                 etx_arena* work) {
  const size_t sections =
      work->counting ? part->block_count : part->section_count;
  sky->part = part;
  return take_plateaus(work, sections + 2, &sky->plateaus) &&
         etx_interval_index_take(&sky->index, part, work);
}

static uint32_t fixed_end(const etx_plan_partition* part, uint32_t b) {
  return etx_plan_partition_fixed(part, b) + part->size[b];
}

static uint32_t by_fixed_end(const void* context, uint32_t b) {
  return ~fixed_end(context, b);
}

static void put_plateau(skyline* sky, uint32_t start, uint32_t end,
                        uint32_t height) {
  sky->plateaus[start].height = height;
  sky->plateaus[start].next = end;
  sky->plateaus[end].previous = start;
}

// Raises the skyline to the fixed blocks. False if `work` is too small.
static bool raise_to_fixed(skyline* sky, etx_arena* work) {
  const etx_plan_partition* const part = sky->part;
  const size_t mark = etx_arena_mark(work);
  const size_t sections =
      work->counting ? part->block_count : part->section_count;
  uint32_t* fixed = NULL;
  uint32_t* covers = NULL;
  uint32_t* skips = NULL;
  uint64_t* scratch = NULL;
  size_t count = 0;
  const bool taken =
      etx_plan_take_u32(work, part->block_count, &fixed) &&
      etx_plan_take_u32(work, sections, &covers) &&
      etx_plan_take_u32(work, sections + 1, &skips) &&
      etx_plan_take_u64(work, 2 * (size_t)part->block_count, &scratch);
  if (taken && !work->counting) {
    for (uint32_t b = 0; b < part->block_count; ++b) {
      if (etx_plan_partition_fixed(part, b) != ETX_PLAN_NONE)
        fixed[count++] = b;
    }
    etx_plan_sort(fixed, count, by_fixed_end, part, scratch);
    etx_section_cover_fill(part, fixed, count, covers, skips);
    for (uint32_t s = 0; s < part->section_count; ++s) {
      if (covers[s] == ETX_PLAN_NONE) continue;
      sky->plateaus[s + 1].height = fixed_end(part, covers[s]);
    }
  }
  etx_arena_rewind(work, mark);
  return taken;
}

// The initial skyline: one plateau, or one per section if there are fixed
// blocks.
static bool start_skyline(skyline* sky, etx_arena* work) {
  const bool has_fixed = sky->part->has_fixed || work->counting;
  const uint32_t end = sky->part->section_count + 1;
  if (!work->counting) {
    put_plateau(sky, 0, 1, UINT32_MAX);
    put_plateau(sky, 1, end, 0);
    sky->plateaus[end].height = UINT32_MAX;
    for (uint32_t s = 1; has_fixed && s < end; ++s) {
      put_plateau(sky, s, s + 1, 0);
    }
  }
  return !has_fixed || raise_to_fixed(sky, work);
}

// Returns a lower neighbour, or the plateau merged with an equal neighbour; 0
// if it is lower than both.
static uint32_t step_down(skyline* sky, uint32_t here) {
  const uint32_t left = sky->plateaus[here].previous;
  const uint32_t right = sky->plateaus[here].next;
  const uint32_t height = sky->plateaus[here].height;
  if (sky->plateaus[left].height < height) return left;
  if (sky->plateaus[right].height < height) return right;
  if (sky->plateaus[left].height == height) {
    put_plateau(sky, left, right, height);
    return left;
  }
  if (sky->plateaus[right].height == height) {
    put_plateau(sky, here, sky->plateaus[right].next, height);
    return here;
  }
  return 0;
}

static void raise_to_neighbour(skyline* sky, uint32_t here) {
  const uint32_t left = sky->plateaus[sky->plateaus[here].previous].height;
  const uint32_t right = sky->plateaus[sky->plateaus[here].next].height;
  sky->plateaus[here].height = left < right ? left : right;
}

// Raises the sections of a block within a plateau to `height`. Returns the
// plateau to continue with: the rest on the left, or on the right, or the
// raised one.
static uint32_t raise_part(skyline* sky, uint32_t here, uint32_t start,
                           uint32_t end, uint32_t height) {
  const uint32_t ground = sky->plateaus[here].height;
  const uint32_t right = sky->plateaus[here].next;
  if (start > here) put_plateau(sky, here, start, ground);
  put_plateau(sky, start, end, height);
  if (end < right) put_plateau(sky, end, right, ground);
  if (start > here) return here;
  return end < right ? end : start;
}

// Places all blocks in the order of the index; false if the plan reaches `best`
// units.
static bool run_order(skyline* sky, uint32_t best, uint32_t* offsets) {
  const etx_plan_partition* const part = sky->part;
  uint32_t left = 0;
  uint32_t here = 1;
  for (uint32_t b = 0; b < part->block_count; ++b) {
    offsets[b] = etx_plan_partition_fixed(part, b);
    if (offsets[b] == ETX_PLAN_NONE) left += 1;
  }
  for (; left > 0; --left) {
    uint32_t b = ETX_PLAN_NONE;
    while (b == ETX_PLAN_NONE) {
      const uint32_t lower = step_down(sky, here);
      if (lower != 0) {
        here = lower;
        continue;
      }
      b = etx_interval_index_take_best(&sky->index, here - 1,
                                       sky->plateaus[here].next - 1);
      if (b == ETX_PLAN_NONE) raise_to_neighbour(sky, here);
    }
    const uint32_t offset =
        etx_plan_partition_align(part, b, sky->plateaus[here].height);
    const uint32_t end = offset + part->size[b];
    if (end >= best) return false;
    offsets[b] = offset;
    here = raise_part(sky, here, part->first[b] + 1, part->limit[b] + 1, end);
  }
  return true;
}

static uint32_t highest_end(const etx_plan_partition* part,
                            const uint32_t* offsets) {
  uint32_t highest = 0;
  for (uint32_t b = 0; b < part->block_count; ++b) {
    const uint32_t end = offsets[b] + part->size[b];
    if (end > highest) highest = end;
  }
  return highest;
}

// Tries one order. ETX_OK if its plan, stored in `offsets`, has less than
// `*best` units, which is updated; otherwise ETX_NOT_FOUND.
static etx_status try_order(const etx_plan_partition* part,
                            etx_plan_order order, uint32_t* best,
                            uint64_t* steps, etx_arena* work,
                            uint32_t* offsets) {
  skyline sky = {0};
  // The memory of the offsets holds the order until they are written.
  if (!etx_plan_rank(part, order, work, offsets) || !take(&sky, part, work) ||
      !start_skyline(&sky, work)) {
    return ETX_OUT_OF_MEMORY;
  }
  if (work->counting) return ETX_OK;
  etx_interval_index_fill(&sky.index, offsets);
  const bool is_better = run_order(&sky, *best, offsets);
  const uint64_t cost = sky.index.looks / LOOKS_PER_STEP;
  *steps -= cost < *steps ? cost : *steps;
  if (!is_better) return ETX_NOT_FOUND;
  *best = highest_end(part, offsets);
  return ETX_OK;
}

etx_status etx_plan_skyline_run(const etx_plan_partition* part,
                                etx_plan_goal* goal, etx_arena* work,
                                uint32_t* offsets) {
  if (work->counting) {
    return try_order(part, first_order, NULL, NULL, work, offsets);
  }
  uint32_t best = goal->best;
  return try_order(part, first_order, &best, &goal->steps, work, offsets);
}

etx_status etx_plan_skyline_orders_run(const etx_plan_partition* part,
                                       etx_plan_goal* goal, etx_arena* work,
                                       uint32_t* offsets) {
  uint32_t* trial = NULL;
  if (!etx_plan_take_u32(work, part->block_count, &trial)) {
    return ETX_OUT_OF_MEMORY;
  }
  if (work->counting) {
    return try_order(part, first_order, NULL, NULL, work, NULL);
  }
  uint32_t best = goal->best;
  for (size_t i = 0; i < OTHER_ORDERS && best > goal->enough; ++i) {
    const size_t mark = etx_arena_mark(work);
    if (!etx_plan_may_continue(part, &goal->steps)) break;
    if (goal->steps < part->block_count) break;
    const etx_status status =
        try_order(part, other_orders[i], &best, &goal->steps, work, trial);
    etx_arena_rewind(work, mark);
    if (status == ETX_OUT_OF_MEMORY) return status;
    if (status == ETX_NOT_FOUND) continue;
    memcpy(offsets, trial, part->block_count * sizeof *offsets);
  }
  return best < goal->best ? ETX_OK : ETX_NOT_FOUND;
}
