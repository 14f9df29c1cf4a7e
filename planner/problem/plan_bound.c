// Rounding by less than a block's own alignment looks weak, but with mixed
// alignments a small block may lie in the padding of a large one, so nothing
// stronger holds for all.

#include "planner/problem/plan_bound.h"

#include <string.h>

#include "planner/problem/plan_check.h"
#include "planner/problem/section_cover.h"
#include "planner/problem/plan_sort.h"
#include "planner/problem/plan_workspace.h"

typedef struct bounding {
  uint64_t step;
  uint64_t* loads;     // of each section of a part, bytes, and one more
  uint64_t* scratch;   // for sorting
  uint32_t* padded;    // blocks with padding, most first
  uint32_t* painters;  // of each section, its block with the most padding
  uint32_t* skips;
} bounding;

// What a comparison needs to know.
typedef struct padding_key {
  const etx_plan_partition* part;
  uint64_t step;
} padding_key;

static uint64_t rounded(const etx_plan_partition* part, uint32_t b,
                        uint64_t step) {
  return etx_plan_align(etx_plan_partition_block(part, b)->size, step);
}

static uint64_t padding_of(const etx_plan_partition* part, uint32_t b,
                           uint64_t step) {
  return rounded(part, b, step) - etx_plan_partition_block(part, b)->size;
}

static uint32_t low_padding(const void* context, uint32_t b) {
  const padding_key* const key = context;
  return ~(uint32_t)padding_of(key->part, b, key->step);
}

static uint32_t high_padding(const void* context, uint32_t b) {
  const padding_key* const key = context;
  return ~(uint32_t)(padding_of(key->part, b, key->step) >> 32);
}

static void sum_loads(const bounding* now, const etx_plan_partition* part) {
  uint64_t live = 0;
  memset(now->loads, 0, (part->section_count + (size_t)1) * sizeof *now->loads);
  // Modulo 2^64, so that a decrease needs no sign.
  for (uint32_t b = 0; b < part->block_count; ++b) {
    const uint64_t bytes = rounded(part, b, now->step);
    now->loads[part->first[b]] += bytes;
    now->loads[part->limit[b]] -= bytes;
  }
  for (uint32_t s = 0; s < part->section_count; ++s) {
    live += now->loads[s];
    now->loads[s] = live;
  }
}

// Finds the block with the most padding of each section.
static void find_paddings(const bounding* now, const etx_plan_partition* part) {
  const padding_key key = {part, now->step};
  size_t count = 0;
  for (uint32_t b = 0; b < part->block_count; ++b) {
    if (padding_of(part, b, now->step) > 0) now->padded[count++] = b;
  }
  etx_plan_sort(now->padded, count, low_padding, &key, now->scratch);
  etx_plan_sort(now->padded, count, high_padding, &key, now->scratch);
  etx_section_cover_fill(part, now->padded, count, now->painters, now->skips);
}

static uint64_t most_live(const bounding* now, const etx_plan_partition* part) {
  uint64_t most = 0;
  sum_loads(now, part);
  find_paddings(now, part);
  for (uint32_t s = 0; s < part->section_count; ++s) {
    const uint32_t painter = now->painters[s];
    uint64_t needed = now->loads[s];
    if (painter != ETX_PLAN_NONE) {
      needed -= padding_of(part, painter, now->step);
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

static void bound_each(const bounding* now, etx_plan_partitions* parts) {
  parts->all.bound_bytes = 0;
  for (uint32_t p = 0; p < parts->count; ++p) {
    const etx_plan_partition part = etx_plan_partitions_at(parts, p);
    const uint64_t live = most_live(now, &part);
    const uint64_t fixed_end = highest_fixed_end(&part);
    const uint64_t bytes = live > fixed_end ? live : fixed_end;
    parts->bound_bytes[p] = bytes;
    if (bytes > parts->all.bound_bytes) parts->all.bound_bytes = bytes;
  }
}

bool etx_plan_bound_partitions(etx_plan_partitions* parts, etx_arena* work) {
  const size_t mark = etx_arena_mark(work);
  const size_t count = parts->all.problem->block_count;
  bounding now = {0};
  const bool taken = etx_plan_take_u64(work, count + 1, &now.loads) &&
                     etx_plan_take_u64(work, 2 * count, &now.scratch) &&
                     etx_plan_take_u32(work, count, &now.padded) &&
                     etx_plan_take_u32(work, count, &now.painters) &&
                     etx_plan_take_u32(work, count + 1, &now.skips);
  if (taken && !work->counting) {
    now.step = etx_plan_granularity(parts->all.problem);
    bound_each(&now, parts);
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
