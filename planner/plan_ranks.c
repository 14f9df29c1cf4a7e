#include "planner/plan_ranks.h"

#include <string.h>

#include "planner/plan_sort.h"
#include "planner/plan_work.h"

// What a comparison needs to know.
typedef struct ranking {
  const etx_plan_part* part;
  uint32_t* peaks;    // of each block, the largest load of its sections
  uint32_t* loads;    // tree over sections: largest load below each node
  uint64_t* scratch;  // for sorting
} ranking;

static uint32_t larger(uint32_t a, uint32_t b) { return a > b ? a : b; }

// The largest load of the sections [low, high).
static uint32_t largest_load(const ranking* ranks, size_t low, size_t high) {
  uint32_t largest = 0;
  low += ranks->part->section_count;
  high += ranks->part->section_count;
  while (low < high) {
    if (low & 1) largest = larger(largest, ranks->loads[low++]);
    if (high & 1) largest = larger(largest, ranks->loads[--high]);
    low /= 2;
    high /= 2;
  }
  return largest;
}

// Differences first: what a section has more than the one before, modulo 2^32,
// so that a decrease needs no sign.
static void sum_loads(const etx_plan_part* part, uint32_t* loads) {
  uint32_t live = 0;
  memset(loads, 0, (part->section_count + (size_t)1) * sizeof *loads);
  for (uint32_t b = 0; b < part->block_count; ++b) {
    loads[part->first[b]] += part->size[b];
    loads[part->limit[b]] -= part->size[b];
  }
  for (uint32_t s = 0; s < part->section_count; ++s) {
    live += loads[s];
    loads[s] = live;
  }
}

static void find_peaks(ranking* ranks) {
  const etx_plan_part* const part = ranks->part;
  uint32_t* const tree = ranks->loads;
  sum_loads(part, &tree[part->section_count]);
  for (size_t node = part->section_count - 1; node > 0; --node) {
    tree[node] = larger(tree[2 * node], tree[2 * node + 1]);
  }
  for (uint32_t b = 0; b < part->block_count; ++b) {
    ranks->peaks[b] = largest_load(ranks, part->first[b], part->limit[b]);
  }
}

static const etx_plan_part* part_of(const void* context) {
  return ((const ranking*)context)->part;
}

static uint32_t by_life(const void* ranks, uint32_t b) {
  return ~etx_plan_part_life(part_of(ranks), b);
}
static uint32_t by_area_low(const void* ranks, uint32_t b) {
  return ~(uint32_t)etx_plan_part_area(part_of(ranks), b);
}
static uint32_t by_area_high(const void* ranks, uint32_t b) {
  return ~(uint32_t)(etx_plan_part_area(part_of(ranks), b) >> 32);
}
static uint32_t by_load(const void* context, uint32_t b) {
  const ranking* const ranks = context;
  return ~ranks->peaks[b];
}
static uint32_t by_sections(const void* ranks, uint32_t b) {
  const etx_plan_part* const part = part_of(ranks);
  return ~(part->limit[b] - part->first[b]);
}
static uint32_t by_size(const void* ranks, uint32_t b) {
  return ~part_of(ranks)->size[b];
}

static void sort_by(const ranking* ranks, etx_plan_key key, uint32_t* ranked) {
  etx_plan_sort(ranked, ranks->part->block_count, key, ranks, ranks->scratch);
}

static void sort_by_key(ranking* ranks, etx_plan_rank_key key,
                        uint32_t* ranked) {
  switch (key) {
    case ETX_PLAN_KEY_NONE:
      return;
    case ETX_PLAN_KEY_LIFE:
      sort_by(ranks, by_life, ranked);
      return;
    case ETX_PLAN_KEY_AREA:
      sort_by(ranks, by_area_low, ranked);
      sort_by(ranks, by_area_high, ranked);
      return;
    case ETX_PLAN_KEY_LOAD:
      find_peaks(ranks);
      sort_by(ranks, by_load, ranked);
      return;
    case ETX_PLAN_KEY_SECTIONS:
      sort_by(ranks, by_sections, ranked);
      return;
    case ETX_PLAN_KEY_SIZE:
      sort_by(ranks, by_size, ranked);
      return;
  }
}

bool etx_plan_rank(const etx_plan_part* part, etx_plan_order order,
                   etx_arena* work, uint32_t* ranked) {
  const size_t mark = etx_arena_mark(work);
  const size_t count = part->block_count;
  const size_t sections = work->counting ? count : part->section_count;
  ranking ranks = {0};
  ranks.part = part;
  const bool taken = etx_plan_take_u32(work, count, &ranks.peaks) &&
                     etx_plan_take_u32(work, 2 * sections + 1, &ranks.loads) &&
                     etx_plan_take_u64(work, 2 * count, &ranks.scratch);
  if (taken && !work->counting) {
    for (uint32_t b = 0; b < count; ++b) ranked[b] = b;
    for (size_t k = ETX_PLAN_RANK_KEYS; k > 0; --k) {
      sort_by_key(&ranks, order.keys[k - 1], ranked);
    }
  }
  etx_arena_rewind(work, mark);
  return taken;
}
