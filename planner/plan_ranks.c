#include "planner/plan_ranks.h"

#include <string.h>

#include "planner/plan_sort.h"
#include "planner/plan_work.h"

enum { ORDER_KEYS = 3 };

static const etx_plan_key orders[ETX_PLAN_ORDER_COUNT][ORDER_KEYS] = {
    {ETX_PLAN_KEY_LIFE, ETX_PLAN_KEY_AREA, ETX_PLAN_KEY_LOAD},
    {ETX_PLAN_KEY_LOAD, ETX_PLAN_KEY_AREA, ETX_PLAN_KEY_LIFE},
    {ETX_PLAN_KEY_LOAD, ETX_PLAN_KEY_LIFE, ETX_PLAN_KEY_AREA},
    {ETX_PLAN_KEY_SECTIONS, ETX_PLAN_KEY_LOAD, ETX_PLAN_KEY_AREA},
    {ETX_PLAN_KEY_AREA, ETX_PLAN_KEY_LIFE, ETX_PLAN_KEY_SIZE},
    {ETX_PLAN_KEY_SIZE, ETX_PLAN_KEY_LIFE, ETX_PLAN_KEY_LOAD},
    {ETX_PLAN_KEY_SECTIONS, ETX_PLAN_KEY_SIZE, ETX_PLAN_KEY_LIFE},
};

// What a comparison needs to know.
typedef struct ranking {
  uint64_t* const* keys;
  const etx_plan_key* order;
} ranking;

static bool ranks_before(const void* context, uint32_t a, uint32_t b) {
  const ranking* const now = context;
  for (size_t i = 0; i < ORDER_KEYS; ++i) {
    const uint64_t* const key = now->keys[now->order[i]];
    if (key[a] != key[b]) return key[a] > key[b];
  }
  return a < b;
}

bool etx_plan_ranks_take(etx_plan_ranks* ranks, size_t block_count,
                         etx_arena* work) {
  if (block_count > SIZE_MAX / 4) return false;
  for (size_t key = 0; key < ETX_PLAN_KEY_COUNT; ++key) {
    if (!etx_plan_take_u64(work, block_count, &ranks->keys[key])) return false;
  }
  return etx_plan_take_u64(work, 2 * block_count, &ranks->loads) &&
         etx_plan_take_u32(work, block_count, &ranks->order) &&
         etx_plan_take_u32(work, block_count, &ranks->ranks) &&
         etx_plan_take_u32(work, block_count, &ranks->scratch);
}

static uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

static void build_loads(etx_plan_ranks* ranks) {
  const size_t count = ranks->sections->count;
  uint64_t* const tree = ranks->loads;
  if (count == 0) return;
  memcpy(&tree[count], ranks->sections->load, count * sizeof *tree);
  for (size_t node = count - 1; node > 0; --node) {
    tree[node] = larger(tree[2 * node], tree[2 * node + 1]);
  }
}

// The largest load of the sections [low, high).
static uint64_t largest_load(const etx_plan_ranks* ranks, size_t low,
                             size_t high) {
  uint64_t largest = 0;
  low += ranks->sections->count;
  high += ranks->sections->count;
  while (low < high) {
    if (low & 1) largest = larger(largest, ranks->loads[low++]);
    if (high & 1) largest = larger(largest, ranks->loads[--high]);
    low /= 2;
    high /= 2;
  }
  return largest;
}

void etx_plan_ranks_fill(etx_plan_ranks* ranks, const etx_plan_problem* problem,
                         const etx_plan_sections* sections) {
  ranks->sections = sections;
  build_loads(ranks);
  for (size_t i = 0; i < sections->block_count; ++i) {
    const uint32_t block = sections->by_first[i];
    const uint32_t first = sections->first[block];
    const uint32_t limit = sections->limit[block];
    const uint64_t size = problem->blocks[block].size;
    const uint64_t life =
        problem->blocks[block].end - problem->blocks[block].start;
    uint64_t area = 0;
    if (!etx_multiply_u64(size, life, &area)) area = UINT64_MAX;
    ranks->keys[ETX_PLAN_KEY_LIFE][block] = life;
    ranks->keys[ETX_PLAN_KEY_AREA][block] = area;
    ranks->keys[ETX_PLAN_KEY_LOAD][block] = largest_load(ranks, first, limit);
    ranks->keys[ETX_PLAN_KEY_SECTIONS][block] = limit - first;
    ranks->keys[ETX_PLAN_KEY_SIZE][block] = size;
  }
}

void etx_plan_ranks_sort(etx_plan_ranks* ranks, size_t order) {
  const ranking now = {ranks->keys, orders[order]};
  const size_t count = ranks->sections->block_count;
  if (count == 0) return;
  memcpy(ranks->order, ranks->sections->by_first, count * sizeof *ranks->order);
  etx_plan_sort(ranks->order, count, ranks->scratch, ranks_before, &now);
  for (size_t i = 0; i < count; ++i) {
    ranks->ranks[ranks->order[i]] = (uint32_t)i;
  }
}
