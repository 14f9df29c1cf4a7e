#include "planner/algorithms/interval_index.h"

#include <string.h>

#include "planner/problem/plan_sort.h"
#include "planner/problem/plan_workspace.h"

enum { WIDTH = ETX_INTERVAL_INDEX_WIDTH, OUT = INT32_MAX };

// Sixteen members are four vectors: compilers leave loops over so few of them
// as they are, and a branch a member costs more than all the rest. A comparison
// gives -1 where it holds.
typedef int32_t quad __attribute__((vector_size(16)));
enum { QUADS = WIDTH / 4 };

static inline quad load(const int32_t* members, size_t q) {
  quad v;
  memcpy(&v, members + 4 * q, sizeof v);
  return v;
}

static inline quad chosen(quad which, quad a, quad b) {
  return (a & which) | (b & ~which);
}

static inline quad smaller(quad a, quad b) { return chosen(a < b, a, b); }

static inline quad greater(quad a, quad b) { return chosen(a > b, a, b); }

// Families that hold so many nodes.
static size_t families(size_t count) { return (count + WIDTH - 1) / WIDTH; }

static void fill_starts(etx_interval_index* fitting) {
  const etx_plan_partition* const part = fitting->part;
  uint32_t b = 0;
  for (uint32_t s = 0; s <= part->section_count; ++s) {
    while (b < part->block_count && part->first[b] < s) b += 1;
    fitting->starts[s] = b;
  }
}

static uint32_t by_limit(const void* part, uint32_t b) {
  return ((const etx_plan_partition*)part)->limit[b];
}

// Slabs some three times as wide as there are families in one: wider ones would
// hide more blocks that start too early, narrower ones more that end too late.
static uint32_t slab_width(uint32_t block_count) {
  uint32_t width = WIDTH;
  while ((uint64_t)width * width < (uint64_t)(8 * WIDTH) * block_count) {
    width += WIDTH;
  }
  return width;
}

// The order of the leaves of kinds.
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

static void put_blocks(etx_interval_index* fitting, const uint32_t* leaves) {
  for (uint32_t i = 0; i < fitting->part->block_count; ++i) {
    fitting->kinds[0][i / WIDTH].blocks[i % WIDTH] = leaves[i];
  }
}

static bool take_ends(etx_arena* work, size_t count, int32_t** out) {
  void* memory = NULL;
  const bool taken = etx_plan_take(work, count * WIDTH, sizeof **out, &memory);
  *out = memory;
  return taken;
}

// Takes families that start where a line of cache does, which arenas need not.
static bool take_kinds(etx_arena* work, size_t count,
                       etx_interval_index_node** out) {
  enum {
    WORDS = sizeof(etx_interval_index_node) / sizeof(uint32_t),
    LINE = 64
  };
  uint32_t* words = NULL;
  if (count > (SIZE_MAX - LINE) / WORDS) return false;
  if (!etx_plan_take_u32(work, count * WORDS + LINE / sizeof *words, &words)) {
    return false;
  }
  const size_t past = (uintptr_t)words % LINE;
  void* const start =
      words == NULL ? NULL : (char*)words + (LINE - past) % LINE;
  *out = start;
  return true;
}

// Takes the levels above the first.
static bool take_levels(etx_interval_index* fitting, etx_arena* work) {
  size_t count = families(fitting->part->block_count);
  fitting->level_count = 1;
  while (count > 1) {
    const uint32_t level = fitting->level_count++;
    count = families(count);
    if (!take_ends(work, count, &fitting->ends[level]) ||
        !take_kinds(work, count, &fitting->kinds[level])) {
      return false;
    }
  }
  return true;
}

bool etx_interval_index_take(etx_interval_index* fitting,
                             const etx_plan_partition* part, etx_arena* work) {
  const size_t sections =
      work->counting ? part->block_count : part->section_count;
  const size_t count = families(part->block_count);
  fitting->part = part;
  fitting->looks = 0;
  if (!etx_plan_take_u32(work, sections + 1, &fitting->starts) ||
      !take_ends(work, count, &fitting->ends[0])) {
    return false;
  }
  // The ends come last, so until then they can hold what is sorted.
  uint32_t* const leaves = (uint32_t*)fitting->ends[0];
  if (!order_leaves(part, work, leaves) ||
      !take_kinds(work, count, &fitting->kinds[0]) ||
      !take_levels(fitting, work)) {
    return false;
  }
  if (!work->counting) put_blocks(fitting, leaves);
  return true;
}

static int32_t least(const int32_t* members) {
  const quad v = smaller(smaller(load(members, 0), load(members, 1)),
                         smaller(load(members, 2), load(members, 3)));
  const int32_t a = v[0] < v[1] ? v[0] : v[1];
  const int32_t b = v[2] < v[3] ? v[2] : v[3];
  return a < b ? a : b;
}

static int32_t greatest_of(quad v) {
  const int32_t a = v[0] > v[1] ? v[0] : v[1];
  const int32_t b = v[2] > v[3] ? v[2] : v[3];
  return a > b ? a : b;
}

static int32_t greatest(const int32_t* members) {
  return greatest_of(greater(greater(load(members, 0), load(members, 1)),
                             greater(load(members, 2), load(members, 3))));
}

// Empties a node, so that no question finds it.
static void clear(etx_interval_index* fitting, uint32_t level, size_t node) {
  etx_interval_index_node* const family = &fitting->kinds[level][node / WIDTH];
  family->firsts[node % WIDTH] = -1;
  family->limits[node % WIDTH] = OUT;
  family->merits[node % WIDTH] = 0;
}

// Sums up the children of a node; false if that changes nothing.
static bool sum_up(etx_interval_index* fitting, uint32_t level, size_t node) {
  const etx_interval_index_node* const children =
      &fitting->kinds[level - 1][node];
  etx_interval_index_node* const family = &fitting->kinds[level][node / WIDTH];
  const int32_t first = greatest(children->firsts);
  const int32_t limit = least(children->limits);
  const int32_t merit = greatest(children->merits);
  const size_t at = node % WIDTH;
  const bool changes = (family->firsts[at] != first) |
                       (family->limits[at] != limit) |
                       (family->merits[at] != merit);
  family->firsts[at] = first;
  family->limits[at] = limit;
  family->merits[at] = merit;
  return changes;
}

static void fill_kinds(etx_interval_index* fitting, const int32_t* merit_of) {
  const etx_plan_partition* const part = fitting->part;
  const size_t nodes = families(part->block_count) * WIDTH;
  for (size_t i = 0; i < nodes; ++i) {
    clear(fitting, 0, i);
    if (i >= part->block_count) continue;
    etx_interval_index_node* const leaf = &fitting->kinds[0][i / WIDTH];
    const uint32_t b = leaf->blocks[i % WIDTH];
    if (etx_plan_partition_fixed(part, b) != ETX_PLAN_NONE) continue;
    leaf->firsts[i % WIDTH] = (int32_t)part->first[b];
    leaf->limits[i % WIDTH] = (int32_t)part->limit[b];
    leaf->merits[i % WIDTH] = merit_of[b];
  }
}

static void fill_ends(etx_interval_index* fitting) {
  const etx_plan_partition* const part = fitting->part;
  const size_t nodes = families(part->block_count) * WIDTH;
  for (uint32_t b = 0; b < nodes; ++b) {
    const bool is_in = b < part->block_count &&
                       etx_plan_partition_fixed(part, b) == ETX_PLAN_NONE;
    fitting->ends[0][b] = is_in ? (int32_t)part->limit[b] : OUT;
  }
}

void etx_interval_index_fill(etx_interval_index* fitting,
                             const uint32_t* order) {
  const uint32_t block_count = fitting->part->block_count;
  // And now the merits.
  int32_t* const merit_of = fitting->ends[0];
  for (uint32_t rank = 0; rank < block_count; ++rank) {
    merit_of[order[rank]] = (int32_t)(block_count - rank);
  }
  fill_starts(fitting);
  fill_kinds(fitting, merit_of);
  fill_ends(fitting);
  size_t below = block_count;
  for (uint32_t level = 1; level < fitting->level_count; ++level) {
    const size_t count = families(below);
    for (size_t i = 0; i < families(count) * WIDTH; ++i) {
      fitting->ends[level][i] = OUT;
      clear(fitting, level, i);
      if (i >= count) continue;
      fitting->ends[level][i] = least(&fitting->ends[level - 1][i * WIDTH]);
      sum_up(fitting, level, i);
    }
    below = count;
  }
}

// True if one of the members [low, high) of a family has an end of at most
// `limit`.
static bool ends_by(const int32_t* ends, size_t low, size_t high,
                    int32_t limit) {
  quad found = {0};
  quad at = {0, 1, 2, 3};
  for (size_t q = 0; q < QUADS; ++q, at += 4) {
    found |=
        (load(ends, q) <= limit) & (at >= (int32_t)low) & (at < (int32_t)high);
  }
  return (found[0] | found[1] | found[2] | found[3]) != 0;
}

// True if some block lives within the sections [low, high).
static bool anything_fits(const etx_interval_index* fitting, uint32_t low,
                          uint32_t high) {
  size_t left = fitting->starts[low];
  size_t right = fitting->starts[high];
  const int32_t limit = (int32_t)high;
  for (uint32_t level = 0; left < right; ++level) {
    const size_t from = left / WIDTH;
    const size_t to = right / WIDTH;
    const int32_t* const ends = fitting->ends[level];
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
    left = families(left);
    right = to;
  }
  return false;
}

// What is asked for.
typedef struct question {
  int32_t low;
  int32_t high;
} question;

// The two greatest merits.
typedef struct leaders {
  int32_t best;
  int32_t next;
} leaders;

// Of a family's members that may hold a block that fits, at most `ceiling`; 0
// if there are none.
static leaders best_of(const etx_interval_index_node* family, question asked,
                       int32_t ceiling) {
  quad best = {0};
  quad next = {0};
  for (size_t q = 0; q < QUADS; ++q) {
    const quad all = load(family->merits, q);
    const quad fits = all & (all <= ceiling) &
                      (load(family->firsts, q) >= asked.low) &
                      (load(family->limits, q) <= asked.high);
    next = greater(next, smaller(best, fits));
    best = greater(best, fits);
  }
  leaders found = {best[0], greatest_of(next)};
  for (size_t i = 1; i < 4; ++i) {
    const bool is_better = best[i] > found.best;
    const int32_t other = is_better ? found.best : best[i];
    found.best = is_better ? best[i] : found.best;
    found.next = other > found.next ? other : found.next;
  }
  return found;
}

static size_t place_of(const int32_t* merits, int32_t merit) {
  quad found = {0};
  quad at = {0, 1, 2, 3};
  for (size_t q = 0; q < QUADS; ++q, at += 4) {
    found |= (load(merits, q) == merit) & at;
  }
  return (size_t)(found[0] | found[1] | found[2] | found[3]);
}

// The leaf of the block of greatest merit that fits, or SIZE_MAX. Goes down to
// the best child first; of the others only those come after it whose merit
// beats what was found there.
static size_t best_leaf(etx_interval_index* fitting, question asked) {
  size_t families_at[ETX_INTERVAL_INDEX_LEVELS];
  int32_t ceilings[ETX_INTERVAL_INDEX_LEVELS];
  int32_t best = 0;
  size_t leaf = SIZE_MAX;
  uint32_t level = fitting->level_count - 1;
  families_at[level] = 0;
  ceilings[level] = OUT;
  while (level < fitting->level_count) {
    if (ceilings[level] <= best) {
      level += 1;
      continue;
    }
    const etx_interval_index_node* const family =
        &fitting->kinds[level][families_at[level]];
    fitting->looks += 1;
    const leaders found = best_of(family, asked, ceilings[level]);
    if (found.best <= best) {
      level += 1;
      continue;
    }
    const size_t child =
        families_at[level] * WIDTH + place_of(family->merits, found.best);
    if (level == 0) {
      best = found.best;
      leaf = child;
      level += 1;
      continue;
    }
    ceilings[level] = found.next;
    level -= 1;
    families_at[level] = child;
    ceilings[level] = OUT;
  }
  return leaf;
}

static void remove_end(etx_interval_index* fitting, uint32_t block) {
  size_t node = block;
  fitting->ends[0][node] = OUT;
  for (uint32_t level = 1; level < fitting->level_count; ++level) {
    node /= WIDTH;
    const int32_t end = least(&fitting->ends[level - 1][node * WIDTH]);
    if (fitting->ends[level][node] == end) return;
    fitting->ends[level][node] = end;
  }
}

static void remove_leaf(etx_interval_index* fitting, size_t node) {
  clear(fitting, 0, node);
  for (uint32_t level = 1; level < fitting->level_count; ++level) {
    node /= WIDTH;
    if (!sum_up(fitting, level, node)) return;
  }
}

uint32_t etx_interval_index_take_best(etx_interval_index* fitting, uint32_t low,
                                      uint32_t high) {
  const question asked = {(int32_t)low, (int32_t)high};
  if (!anything_fits(fitting, low, high)) return ETX_PLAN_NONE;
  const size_t leaf = best_leaf(fitting, asked);
  const uint32_t block = fitting->kinds[0][leaf / WIDTH].blocks[leaf % WIDTH];
  remove_end(fitting, block);
  remove_leaf(fitting, leaf);
  return block;
}
