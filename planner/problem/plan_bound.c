// Sizes are rounded up to the smallest alignment of the problem only. Rounding
// to a block's own alignment would not be a valid bound, because a small block
// may be placed in the padding of a large one.

#include "planner/problem/plan_bound.h"

#include <string.h>

#include "planner/problem/plan_check.h"
#include "planner/problem/section_cover.h"
#include "planner/problem/plan_sort.h"
#include "planner/problem/plan_workspace.h"

typedef struct bound_search {
  uint64_t step;      // the smallest alignment
  uint64_t* loads;    // live bytes of each section of a part, and one more
  uint64_t* scratch;  // for sorting
  uint32_t* padded;   // blocks with padding, the most first
  uint32_t* covers;   // for each section its block with the most padding
  uint32_t* skips;
} bound_search;

// The context of the sort keys.
typedef struct padding_key {
  const etx_plan_partition* part;
  uint64_t step;
} padding_key;

static uint64_t round_up(const etx_plan_partition* part, uint32_t b,
                         uint64_t step) {
  return etx_plan_align(etx_plan_partition_block(part, b)->size, step);
}

static uint64_t padding_of(const etx_plan_partition* part, uint32_t b,
                           uint64_t step) {
  return round_up(part, b, step) - etx_plan_partition_block(part, b)->size;
}

static uint32_t low_padding(const void* context, uint32_t b) {
  const padding_key* const key = context;
  return ~(uint32_t)padding_of(key->part, b, key->step);
}

static uint32_t high_padding(const void* context, uint32_t b) {
  const padding_key* const key = context;
  return ~(uint32_t)(padding_of(key->part, b, key->step) >> 32);
}

static void sum_loads(const bound_search* search,
                      const etx_plan_partition* part) {
  uint64_t live = 0;
  memset(search->loads, 0,
         (part->section_count + (size_t)1) * sizeof *search->loads);
  // Changes are modulo 2^64, so decreases need no sign.
  for (uint32_t b = 0; b < part->block_count; ++b) {
    const uint64_t bytes = round_up(part, b, search->step);
    search->loads[part->first[b]] += bytes;
    search->loads[part->limit[b]] -= bytes;
  }
  for (uint32_t s = 0; s < part->section_count; ++s) {
    live += search->loads[s];
    search->loads[s] = live;
  }
}

// Finds the block with the most padding in each section.
static void find_paddings(const bound_search* search,
                          const etx_plan_partition* part) {
  const padding_key key = {part, search->step};
  size_t count = 0;
  for (uint32_t b = 0; b < part->block_count; ++b) {
    if (padding_of(part, b, search->step) > 0) search->padded[count++] = b;
  }
  etx_plan_sort(search->padded, count, low_padding, &key, search->scratch);
  etx_plan_sort(search->padded, count, high_padding, &key, search->scratch);
  etx_section_cover_fill(part, search->padded, count, search->covers,
                         search->skips);
}

static uint64_t most_live(const bound_search* search,
                          const etx_plan_partition* part) {
  uint64_t most = 0;
  sum_loads(search, part);
  find_paddings(search, part);
  for (uint32_t s = 0; s < part->section_count; ++s) {
    const uint32_t cover = search->covers[s];
    uint64_t needed = search->loads[s];
    if (cover != ETX_PLAN_NONE) {
      needed -= padding_of(part, cover, search->step);
    }
    if (needed > most) most = needed;
  }
  return most;
}

static uint64_t highest_fixed_end(const etx_plan_partition* part) {
  uint64_t highest = 0;
  if (!part->has_fixed) return 0;
  for (uint32_t b = 0; b < part->block_count; ++b) {
    const etx_plan_block* const block = etx_plan_partition_block(part, b);
    if (block->fixed == ETX_PLAN_FREE) continue;
    const uint64_t end = block->fixed + block->size;
    if (end > highest) highest = end;
  }
  return highest;
}

static void bound_each(const bound_search* search, etx_plan_partitions* parts) {
  parts->all.bound_bytes = 0;
  for (uint32_t p = 0; p < parts->count; ++p) {
    const etx_plan_partition part = etx_plan_partitions_at(parts, p);
    const uint64_t live = most_live(search, &part);
    const uint64_t fixed_end = highest_fixed_end(&part);
    const uint64_t bytes = live > fixed_end ? live : fixed_end;
    parts->bound_bytes[p] = bytes;
    if (bytes > parts->all.bound_bytes) parts->all.bound_bytes = bytes;
  }
}

bool etx_plan_bound_partitions(etx_plan_partitions* parts, etx_arena* work) {
  const size_t mark = etx_arena_mark(work);
  const size_t count = parts->all.problem->block_count;
  bound_search search = {0};
  const bool taken = etx_plan_take_u64(work, count + 1, &search.loads) &&
                     etx_plan_take_u64(work, 2 * count, &search.scratch) &&
                     etx_plan_take_u32(work, count, &search.padded) &&
                     etx_plan_take_u32(work, count, &search.covers) &&
                     etx_plan_take_u32(work, count + 1, &search.skips);
  if (taken && !work->counting) {
    search.step = etx_plan_granularity(parts->all.problem);
    bound_each(&search, parts);
  }
  etx_arena_rewind(work, mark);
  return taken;
}

etx_status etx_plan_bound(const etx_plan_problem* problem, etx_arena* work,
                          uint64_t* out_bytes) {
  const size_t mark = etx_arena_mark(work);
  etx_plan_partitions parts;
  const bool taken = etx_plan_partitions_take(&parts, problem, work) &&
                     etx_plan_bound_partitions(&parts, work);
  if (taken && !work->counting) *out_bytes = parts.all.bound_bytes;
  etx_arena_rewind(work, mark);
  return taken ? ETX_OK : ETX_OUT_OF_MEMORY;
}
