#include "planner/algorithms/interval_index.h"

#include <string.h>

#include "format/base/reachability.h"
#include "planner/problem/plan_sort.h"
#include "planner/problem/plan_workspace.h"

// NO_LIMIT is the limit of removed blocks and of nodes without blocks: larger
// than any section.
enum { WIDTH = ETX_INTERVAL_INDEX_WIDTH, NO_LIMIT = INT32_MAX };

// 16 children are four vectors of four. Compilers do not vectorise such short
// loops by themselves, and a branch per child would dominate the cost. A
// comparison of vectors gives -1 in lanes where it holds.
typedef int32_t vec4 __attribute__((vector_size(16)));
enum { QUADS = WIDTH / 4 };

static inline vec4 load(const int32_t* members, size_t q) {
  vec4 v;
  memcpy(&v, members + 4 * q, sizeof v);
  return v;
}

static inline vec4 chosen(vec4 which, vec4 a, vec4 b) {
  return (a & which) | (b & ~which);
}

static inline vec4 smaller(vec4 a, vec4 b) { return chosen(a < b, a, b); }

static inline vec4 greater(vec4 a, vec4 b) { return chosen(a > b, a, b); }

// The number of groups of 16 siblings for `count` nodes.
static size_t group_count(size_t count) { return (count + WIDTH - 1) / WIDTH; }

static void fill_starts(etx_interval_index* index) {
  const etx_plan_partition* const part = index->part;
  uint32_t b = 0;
  for (uint32_t s = 0; s <= part->section_count; ++s) {
    while (b < part->block_count && part->first[b] < s) b += 1;
    index->starts[s] = b;
  }
}

static uint32_t by_limit(const void* part, uint32_t b) {
  return ((const etx_plan_partition*)part)->limit[b];
}

// A slab of 16 n blocks has n groups. The width is about sqrt(8) times that at
// which there are as many slabs as groups in a slab (measured). Wider slabs mix
// in more blocks that start too early, narrower ones more that end too late.
static uint32_t slab_width(uint32_t block_count) {
  uint32_t width = WIDTH;
  while ((uint64_t)width * width < (uint64_t)(8 * WIDTH) * block_count) {
    width += WIDTH;
  }
  return width;
}

// Sorts blocks by slab, and within a slab by limit.
static void sort_leaves(const etx_plan_partition* part, uint32_t* leaves,
                        uint64_t* scratch) {
  const uint32_t count = part->block_count;
  const uint32_t width = slab_width(count);
  for (uint32_t b = 0; b < count; ++b) leaves[b] = b;
  for (uint32_t b = 0; b < count; b += width) {
    etx_plan_sort(&leaves[b], count - b < width ? count - b : width, by_limit,
                  part, scratch);
  }
}

// Lists the order of the leaves in `leaves`; false if `work` has too little
// memory.
static bool order_leaves(const etx_plan_partition* part, etx_arena* work,
                         uint32_t* leaves) {
  const size_t mark = etx_arena_mark(work);
  uint64_t* scratch = NULL;
  const bool taken =
      etx_plan_take_u64(work, 2 * (size_t)part->block_count, &scratch);
  if (taken && !work->counting) sort_leaves(part, leaves, scratch);
  etx_arena_rewind(work, mark);
  return taken;
}

static void put_blocks(etx_interval_index* index, const uint32_t* leaves) {
  for (uint32_t i = 0; i < index->part->block_count; ++i) {
    index->slabs[0][i / WIDTH].blocks[i % WIDTH] = leaves[i];
  }
}

static bool take_ends(etx_arena* work, size_t count, int32_t** out) {
  void* memory = NULL;
  const bool taken = etx_plan_take(work, count * WIDTH, sizeof **out, &memory);
  *out = memory;
  return taken;
}

// Allocates groups aligned to a cache line, which arenas do not guarantee.
static bool take_slab_levels(etx_arena* work, size_t count,
                             etx_interval_index_node** out) {
  enum {
    WORDS = sizeof(etx_interval_index_node) / sizeof(uint32_t),
    LINE = 64
  };
  uint32_t* words = NULL;
  if (ETX_NEVER_IF_WIDE(count > (SIZE_MAX - LINE) / WORDS)) return false;
  if (!etx_plan_take_u32(work, count * WORDS + LINE / sizeof *words, &words)) {
    return false;
  }
  const size_t past = (uintptr_t)words % LINE;
  void* const start =
      words == NULL ? NULL : (char*)words + (LINE - past) % LINE;
  *out = start;
  return true;
}

// Allocates the levels above the leaves.
static bool take_levels(etx_interval_index* index, etx_arena* work) {
  size_t count = group_count(index->part->block_count);
  index->level_count = 1;
  while (count > 1) {
    const uint32_t level = index->level_count++;
    count = group_count(count);
    if (!take_ends(work, count, &index->ends[level]) ||
        !take_slab_levels(work, count, &index->slabs[level])) {
      return false;
    }
  }
  return true;
}

bool etx_interval_index_take(etx_interval_index* index,
                             const etx_plan_partition* part, etx_arena* work) {
  const size_t sections =
      work->counting ? part->block_count : part->section_count;
  const size_t count = group_count(part->block_count);
  index->part = part;
  index->looks = 0;
  if (!etx_plan_take_u32(work, sections + 1, &index->starts) ||
      !take_ends(work, count, &index->ends[0])) {
    return false;
  }
  // `ends` is filled last, so until then its memory holds the sorted leaves.
  uint32_t* const leaves = (uint32_t*)index->ends[0];
  if (!order_leaves(part, work, leaves) ||
      !take_slab_levels(work, count, &index->slabs[0]) ||
      !take_levels(index, work)) {
    return false;
  }
  if (!work->counting) put_blocks(index, leaves);
  return true;
}

static int32_t least(const int32_t* members) {
  const vec4 v = smaller(smaller(load(members, 0), load(members, 1)),
                         smaller(load(members, 2), load(members, 3)));
  const int32_t a = v[0] < v[1] ? v[0] : v[1];
  const int32_t b = v[2] < v[3] ? v[2] : v[3];
  return a < b ? a : b;
}

static int32_t greatest_of(vec4 v) {
  const int32_t a = v[0] > v[1] ? v[0] : v[1];
  const int32_t b = v[2] > v[3] ? v[2] : v[3];
  return a > b ? a : b;
}

static int32_t greatest(const int32_t* members) {
  return greatest_of(greater(greater(load(members, 0), load(members, 1)),
                             greater(load(members, 2), load(members, 3))));
}

// Empties a node, so that no query finds it.
static void clear(etx_interval_index* index, uint32_t level, size_t node) {
  etx_interval_index_node* const group = &index->slabs[level][node / WIDTH];
  group->firsts[node % WIDTH] = -1;
  group->limits[node % WIDTH] = NO_LIMIT;
  group->merits[node % WIDTH] = 0;
}

// Recomputes a node from its children; false if that changes nothing.
static bool update_node(etx_interval_index* index, uint32_t level,
                        size_t node) {
  const etx_interval_index_node* const children =
      &index->slabs[level - 1][node];
  etx_interval_index_node* const group = &index->slabs[level][node / WIDTH];
  const int32_t first = greatest(children->firsts);
  const int32_t limit = least(children->limits);
  const int32_t merit = greatest(children->merits);
  const size_t at = node % WIDTH;
  const bool changes = (group->firsts[at] != first) |
                       (group->limits[at] != limit) |
                       (group->merits[at] != merit);
  group->firsts[at] = first;
  group->limits[at] = limit;
  group->merits[at] = merit;
  return changes;
}

static void fill_slab_levels(etx_interval_index* index,
                             const int32_t* merit_of) {
  const etx_plan_partition* const part = index->part;
  const size_t nodes = group_count(part->block_count) * WIDTH;
  for (size_t i = 0; i < nodes; ++i) {
    clear(index, 0, i);
    if (i >= part->block_count) continue;
    etx_interval_index_node* const leaf = &index->slabs[0][i / WIDTH];
    const uint32_t b = leaf->blocks[i % WIDTH];
    if (etx_plan_partition_fixed(part, b) != ETX_PLAN_NONE) continue;
    leaf->firsts[i % WIDTH] = (int32_t)part->first[b];
    leaf->limits[i % WIDTH] = (int32_t)part->limit[b];
    leaf->merits[i % WIDTH] = merit_of[b];
  }
}

static void fill_ends(etx_interval_index* index) {
  const etx_plan_partition* const part = index->part;
  const size_t nodes = group_count(part->block_count) * WIDTH;
  for (uint32_t b = 0; b < nodes; ++b) {
    const bool is_in = b < part->block_count &&
                       etx_plan_partition_fixed(part, b) == ETX_PLAN_NONE;
    index->ends[0][b] = is_in ? (int32_t)part->limit[b] : NO_LIMIT;
  }
}

void etx_interval_index_fill(etx_interval_index* index, const uint32_t* order) {
  const uint32_t block_count = index->part->block_count;
  // `ends` is filled after `slabs`, so until then its memory holds the merits.
  int32_t* const merit_of = index->ends[0];
  for (uint32_t rank = 0; rank < block_count; ++rank) {
    merit_of[order[rank]] = (int32_t)(block_count - rank);
  }
  fill_starts(index);
  fill_slab_levels(index, merit_of);
  fill_ends(index);
  size_t below = block_count;
  for (uint32_t level = 1; level < index->level_count; ++level) {
    const size_t count = group_count(below);
    for (size_t i = 0; i < group_count(count) * WIDTH; ++i) {
      index->ends[level][i] = NO_LIMIT;
      clear(index, level, i);
      if (i >= count) continue;
      index->ends[level][i] = least(&index->ends[level - 1][i * WIDTH]);
      update_node(index, level, i);
    }
    below = count;
  }
}

// True if one of the members [low, high) of a group has an end of at most
// `limit`.
static bool ends_by(const int32_t* ends, size_t low, size_t high,
                    int32_t limit) {
  vec4 found = {0};
  vec4 at = {0, 1, 2, 3};
  for (size_t q = 0; q < QUADS; ++q, at += 4) {
    found |=
        (load(ends, q) <= limit) & (at >= (int32_t)low) & (at < (int32_t)high);
  }
  return (found[0] | found[1] | found[2] | found[3]) != 0;
}

// True if some block lives within the sections [low, high).
static bool anything_fits(const etx_interval_index* index, uint32_t low,
                          uint32_t high) {
  size_t left = index->starts[low];
  size_t right = index->starts[high];
  const int32_t limit = (int32_t)high;
  for (uint32_t level = 0; left < right; ++level) {
    const size_t from = left / WIDTH;
    const size_t to = right / WIDTH;
    const int32_t* const ends = index->ends[level];
    if (right <= (from + 1) * WIDTH) {
      return ends_by(&ends[from * WIDTH], left - from * WIDTH,
                     right - from * WIDTH, limit);
    }
    if (left % WIDTH != 0 &&
        ends_by(&ends[from * WIDTH], left % WIDTH, WIDTH, limit)) {
      return true;
    }
    if (right % WIDTH != 0 &&
        ends_by(&ends[to * WIDTH], 0, right % WIDTH, limit)) {
      return true;
    }
    left = group_count(left);
    right = to;
  }
  return false;
}

// The range of sections of a query.
typedef struct section_range {
  int32_t low;
  int32_t high;
} section_range;

// The two largest merits.
typedef struct merit_pair {
  int32_t best;
  int32_t next;
} merit_pair;

// The two largest merits, up to `ceiling`, of the children that may contain a
// block that fits; 0 for none.
static merit_pair best_of(const etx_interval_index_node* group,
                          section_range range, int32_t ceiling) {
  vec4 best = {0};
  vec4 next = {0};
  for (size_t q = 0; q < QUADS; ++q) {
    const vec4 all = load(group->merits, q);
    const vec4 fits = all & (all <= ceiling) &
                      (load(group->firsts, q) >= range.low) &
                      (load(group->limits, q) <= range.high);
    next = greater(next, smaller(best, fits));
    best = greater(best, fits);
  }
  merit_pair found = {best[0], greatest_of(next)};
  for (size_t i = 1; i < 4; ++i) {
    const bool is_better = best[i] > found.best;
    const int32_t other = is_better ? found.best : best[i];
    found.best = is_better ? best[i] : found.best;
    found.next = other > found.next ? other : found.next;
  }
  return found;
}

static size_t position_of(const int32_t* merits, int32_t merit) {
  vec4 found = {0};
  vec4 at = {0, 1, 2, 3};
  for (size_t q = 0; q < QUADS; ++q, at += 4) {
    found |= (load(merits, q) == merit) & at;
  }
  return (size_t)(found[0] | found[1] | found[2] | found[3]);
}

// The leaf of the block with the largest merit that fits, or SIZE_MAX. Branch
// and bound: descends to the best child first, then only to children with a
// larger merit than the best leaf found.
static size_t best_leaf(etx_interval_index* index, section_range range) {
  size_t groups_at[ETX_INTERVAL_INDEX_LEVELS];
  int32_t ceilings[ETX_INTERVAL_INDEX_LEVELS];
  int32_t best = 0;
  size_t leaf = SIZE_MAX;
  uint32_t level = index->level_count - 1;
  groups_at[level] = 0;
  ceilings[level] = INT32_MAX;
  while (level < index->level_count) {
    if (ceilings[level] <= best) {
      level += 1;
      continue;
    }
    const etx_interval_index_node* const group =
        &index->slabs[level][groups_at[level]];
    index->looks += 1;
    const merit_pair found = best_of(group, range, ceilings[level]);
    if (found.best <= best) {
      level += 1;
      continue;
    }
    const size_t child =
        groups_at[level] * WIDTH + position_of(group->merits, found.best);
    if (level == 0) {
      best = found.best;
      leaf = child;
      level += 1;
      continue;
    }
    ceilings[level] = found.next;
    level -= 1;
    groups_at[level] = child;
    ceilings[level] = INT32_MAX;
  }
  return leaf;
}

static void remove_end(etx_interval_index* index, uint32_t block) {
  size_t node = block;
  index->ends[0][node] = NO_LIMIT;
  for (uint32_t level = 1; level < index->level_count; ++level) {
    node /= WIDTH;
    const int32_t end = least(&index->ends[level - 1][node * WIDTH]);
    if (index->ends[level][node] == end) return;
    index->ends[level][node] = end;
  }
}

static void remove_leaf(etx_interval_index* index, size_t node) {
  clear(index, 0, node);
  for (uint32_t level = 1; level < index->level_count; ++level) {
    node /= WIDTH;
    if (!update_node(index, level, node)) return;
  }
}

uint32_t etx_interval_index_take_best(etx_interval_index* index, uint32_t low,
                                      uint32_t high) {
  const section_range range = {(int32_t)low, (int32_t)high};
  if (!anything_fits(index, low, high)) return ETX_PLAN_NONE;
  const size_t leaf = best_leaf(index, range);
  const uint32_t block = index->slabs[0][leaf / WIDTH].blocks[leaf % WIDTH];
  remove_end(index, block);
  remove_leaf(index, leaf);
  return block;
}
