#include "planner/algorithms/plan_ranks.h"

#include <string.h>

#include "planner/problem/plan_sort.h"
#include "planner/problem/plan_workspace.h"

typedef struct ranking {
  const etx_plan_partition* part;
  uint32_t* values;   // of each block, what it is sorted by
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

// Live units of each section, as prefix sums of the changes between sections.
// The changes are modulo 2^32, so decreases need no sign.
static void sum_loads(const etx_plan_partition* part, uint32_t* loads) {
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

static void find_peaks(const ranking* ranks) {
  const etx_plan_partition* const part = ranks->part;
  uint32_t* const tree = ranks->loads;
  sum_loads(part, &tree[part->section_count]);
  for (size_t node = part->section_count - 1; node > 0; --node) {
    tree[node] = larger(tree[2 * node], tree[2 * node + 1]);
  }
  for (uint32_t b = 0; b < part->block_count; ++b) {
    ranks->values[b] = largest_load(ranks, part->first[b], part->limit[b]);
  }
}

static void level_values(const ranking* ranks, uint32_t levels) {
  const uint32_t count = ranks->part->block_count;
  uint32_t* const values = ranks->values;
  uint64_t most = 0;
  for (uint32_t b = 0; b < count; ++b) {
    if (values[b] > most) most = values[b];
  }
  for (uint32_t b = 0; b < count; ++b) {
    values[b] = (uint32_t)((uint64_t)values[b] * levels / (most + 1));
  }
}

static uint32_t by_value(const void* values, uint32_t b) {
  return ~((const uint32_t*)values)[b];
}

// Sorts blocks by descending values.
static void sort_by_values(const ranking* ranks, uint32_t* ranked) {
  etx_plan_sort(ranked, ranks->part->block_count, by_value, ranks->values,
                ranks->scratch);
}

// Areas have 64 bits: sorts by the low half, then by the high half.
static void sort_by_area(const ranking* ranks, uint32_t* ranked) {
  const etx_plan_partition* const part = ranks->part;
  for (unsigned shift = 0; shift <= 32; shift += 32) {
    for (uint32_t b = 0; b < part->block_count; ++b) {
      ranks->values[b] = (uint32_t)(etx_plan_partition_area(part, b) >> shift);
    }
    sort_by_values(ranks, ranked);
  }
}

static void sort_by_key(const ranking* ranks, etx_plan_rank_key key,
                        uint32_t load_levels, uint32_t* ranked) {
  const etx_plan_partition* const part = ranks->part;
  const uint32_t count = part->block_count;
  uint32_t* const values = ranks->values;
  switch (key) {
    case ETX_PLAN_KEY_NONE:
      return;
    case ETX_PLAN_KEY_AREA:
      sort_by_area(ranks, ranked);
      return;
    case ETX_PLAN_KEY_LIFE:
      for (uint32_t b = 0; b < count; ++b) {
        values[b] = etx_plan_partition_life(part, b);
      }
      break;
    case ETX_PLAN_KEY_LOAD:
      find_peaks(ranks);
      if (load_levels != 0) level_values(ranks, load_levels);
      break;
    case ETX_PLAN_KEY_SECTIONS:
      for (uint32_t b = 0; b < count; ++b) {
        values[b] = part->limit[b] - part->first[b];
      }
      break;
    default:  // ETX_PLAN_KEY_SIZE
      memcpy(values, part->size, count * sizeof *values);
      break;
  }
  sort_by_values(ranks, ranked);
}

bool etx_plan_rank(const etx_plan_partition* part, etx_plan_order order,
                   etx_arena* work, uint32_t* ranked) {
  const size_t mark = etx_arena_mark(work);
  const size_t count = part->block_count;
  const size_t sections = work->counting ? count : part->section_count;
  ranking ranks = {0};
  ranks.part = part;
  const bool taken = etx_plan_take_u32(work, count, &ranks.values) &&
                     etx_plan_take_u32(work, 2 * sections + 1, &ranks.loads) &&
                     etx_plan_take_u64(work, 2 * count, &ranks.scratch);
  if (taken && !work->counting) {
    for (uint32_t b = 0; b < count; ++b) ranked[b] = b;
    for (size_t k = ETX_PLAN_RANK_KEYS; k > 0; --k) {
      sort_by_key(&ranks, order.keys[k - 1], order.load_levels, ranked);
    }
  }
  etx_arena_rewind(work, mark);
  return taken;
}
