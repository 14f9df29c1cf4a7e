#include "planner/plan_fitting.h"

#include "planner/plan_sort.h"
#include "planner/plan_work.h"

enum { WIDTH = 16 };

// Families that hold so many nodes.
static size_t families(size_t count) { return (count + WIDTH - 1) / WIDTH; }

bool etx_plan_fitting_take(etx_plan_fitting* fitting, const etx_plan_part* part,
                           etx_arena* work) {
  const size_t sections =
      work->counting ? part->block_count : part->section_count;
  size_t count = part->block_count;
  fitting->part = part;
  fitting->level_count = 0;
  if (!etx_plan_take_u32(work, sections + 1, &fitting->starts) ||
      !etx_plan_take_u32(work, count, &fitting->slots)) {
    return false;
  }
  do {
    const size_t nodes = families(count) * WIDTH;
    const uint32_t level = fitting->level_count++;
    if (!etx_plan_take_u32(work, nodes, &fitting->ends[level]) ||
        !etx_plan_take_u32(work, nodes, &fitting->firsts[level]) ||
        !etx_plan_take_u32(work, nodes, &fitting->limits[level]) ||
        !etx_plan_take_u32(work, nodes, &fitting->ranks[level])) {
      return false;
    }
    count = families(count);
  } while (count > 1);
  return true;
}

static void fill_starts(etx_plan_fitting* fitting) {
  const etx_plan_part* const part = fitting->part;
  uint32_t b = 0;
  for (uint32_t s = 0; s <= part->section_count; ++s) {
    while (b < part->block_count && part->first[b] < s) b += 1;
    fitting->starts[s] = b;
  }
}

// How slabs are cut: as many blocks in one as there are families of slabs.
typedef struct slabs {
  const etx_plan_part* part;
  uint32_t width;
} slabs;

static uint32_t by_limit(const void* context, uint32_t b) {
  return ((const slabs*)context)->part->limit[b];
}

static uint32_t by_slab(const void* context, uint32_t b) {
  return b / ((const slabs*)context)->width;
}

static void fill_slots(etx_plan_fitting* fitting, uint64_t* scratch) {
  const etx_plan_part* const part = fitting->part;
  slabs cut = {part, WIDTH};
  while ((uint64_t)cut.width * cut.width <
         (uint64_t)WIDTH * part->block_count) {
    cut.width += WIDTH;
  }
  for (uint32_t b = 0; b < part->block_count; ++b) fitting->slots[b] = b;
  etx_plan_sort(fitting->slots, part->block_count, by_limit, &cut, scratch);
  etx_plan_sort(fitting->slots, part->block_count, by_slab, &cut, scratch);
}

static uint32_t least(const uint32_t* family) {
  uint32_t found = family[0];
  for (size_t i = 1; i < WIDTH; ++i) {
    found = family[i] < found ? family[i] : found;
  }
  return found;
}

static uint32_t greatest(const uint32_t* family) {
  uint32_t found = family[0];
  for (size_t i = 1; i < WIDTH; ++i) {
    found = family[i] > found ? family[i] : found;
  }
  return found;
}

// Empties a node, so that no question finds it.
static void clear(etx_plan_fitting* fitting, uint32_t level, size_t node) {
  fitting->firsts[level][node] = 0;
  fitting->limits[level][node] = ETX_PLAN_NONE;
  fitting->ranks[level][node] = ETX_PLAN_NONE;
}

// Sums up the children of a node.
static void sum_up(etx_plan_fitting* fitting, uint32_t level, size_t node) {
  const size_t child = node * WIDTH;
  fitting->firsts[level][node] = greatest(&fitting->firsts[level - 1][child]);
  fitting->limits[level][node] = least(&fitting->limits[level - 1][child]);
  fitting->ranks[level][node] = least(&fitting->ranks[level - 1][child]);
}

static void fill_leaves(etx_plan_fitting* fitting, const uint32_t* rank_of) {
  const etx_plan_part* const part = fitting->part;
  const size_t nodes = families(part->block_count) * WIDTH;
  for (size_t i = 0; i < nodes; ++i) {
    fitting->ends[0][i] = ETX_PLAN_NONE;
    clear(fitting, 0, i);
    if (i >= part->block_count) continue;
    const uint32_t b = fitting->slots[i];
    if (etx_plan_part_fixed(part, (uint32_t)i) == ETX_PLAN_NONE) {
      fitting->ends[0][i] = part->limit[i];
    }
    if (etx_plan_part_fixed(part, b) != ETX_PLAN_NONE) continue;
    fitting->firsts[0][i] = part->first[b];
    fitting->limits[0][i] = part->limit[b];
    fitting->ranks[0][i] = rank_of[b];
  }
}

void etx_plan_fitting_fill(etx_plan_fitting* fitting, uint32_t* order,
                           uint64_t* scratch) {
  const uint32_t block_count = fitting->part->block_count;
  fill_starts(fitting);
  fill_slots(fitting, scratch);
  uint32_t* const rank_of = (uint32_t*)scratch;
  for (uint32_t rank = 0; rank < block_count; ++rank) {
    rank_of[order[rank]] = rank;
  }
  fill_leaves(fitting, rank_of);
  size_t below = block_count;
  for (uint32_t level = 1; level < fitting->level_count; ++level) {
    const size_t count = families(below);
    for (size_t i = 0; i < families(count) * WIDTH; ++i) {
      fitting->ends[level][i] = ETX_PLAN_NONE;
      clear(fitting, level, i);
      if (i >= count) continue;
      fitting->ends[level][i] = least(&fitting->ends[level - 1][i * WIDTH]);
      sum_up(fitting, level, i);
    }
    below = count;
  }
}

// True if one of the nodes [low, high) has an end of at most `limit`.
static bool ends_by(const uint32_t* ends, size_t low, size_t high,
                    uint32_t limit) {
  bool found = false;
  for (size_t i = low; i < high; ++i) found |= ends[i] <= limit;
  return found;
}

// True if some block lives within the sections [low, high).
static bool anything_fits(const etx_plan_fitting* fitting, uint32_t low,
                          uint32_t high) {
  size_t left = fitting->starts[low];
  size_t right = fitting->starts[high];
  for (uint32_t level = 0; left < right; ++level) {
    const uint32_t* const ends = fitting->ends[level];
    const size_t inner_left = families(left);
    const size_t inner_right = right / WIDTH;
    if (inner_left >= inner_right || level + 1 == fitting->level_count) {
      return ends_by(ends, left, right, high);
    }
    if (ends_by(ends, left, inner_left * WIDTH, high) ||
        ends_by(ends, inner_right * WIDTH, right, high)) {
      return true;
    }
    left = inner_left;
    right = inner_right;
  }
  return false;
}

// What is asked for.
typedef struct question {
  uint32_t low;
  uint32_t high;
} question;

// The best rank, not below `floor`, of a family's members that may hold a block
// that fits.
static uint32_t best_of(const etx_plan_fitting* fitting, uint32_t level,
                        size_t family, question asked, uint32_t floor) {
  const uint32_t* const firsts = &fitting->firsts[level][family * WIDTH];
  const uint32_t* const limits = &fitting->limits[level][family * WIDTH];
  const uint32_t* const ranks = &fitting->ranks[level][family * WIDTH];
  uint32_t best = ETX_PLAN_NONE;
  for (size_t i = 0; i < WIDTH; ++i) {
    const uint32_t rank = ranks[i];
    const bool fits =
        (firsts[i] >= asked.low) & (limits[i] <= asked.high) & (rank >= floor);
    const uint32_t candidate = fits ? rank : ETX_PLAN_NONE;
    best = candidate < best ? candidate : best;
  }
  return best;
}

static size_t place_of(const uint32_t* ranks, uint32_t rank) {
  size_t i = 0;
  while (ranks[i] != rank) i += 1;
  return i;
}

// The leaf of the best-ranked block that fits, or SIZE_MAX. Goes down to the
// best child first; of the others only those come after it whose best rank
// beats what was found there.
static size_t best_leaf(const etx_plan_fitting* fitting, question asked) {
  size_t families_at[ETX_PLAN_FITTING_LEVELS];
  uint32_t floors[ETX_PLAN_FITTING_LEVELS];
  uint32_t best = ETX_PLAN_NONE;
  size_t leaf = SIZE_MAX;
  uint32_t level = fitting->level_count - 1;
  families_at[level] = 0;
  floors[level] = 0;
  while (level < fitting->level_count) {
    const size_t family = families_at[level];
    const uint32_t rank = best_of(fitting, level, family, asked, floors[level]);
    if (rank >= best) {
      level += 1;
      continue;
    }
    const size_t child =
        family * WIDTH + place_of(&fitting->ranks[level][family * WIDTH], rank);
    if (level == 0) {
      best = rank;
      leaf = child;
      level += 1;
      continue;
    }
    floors[level] = rank + 1;
    level -= 1;
    families_at[level] = child;
    floors[level] = 0;
  }
  return leaf;
}

static void remove_end(etx_plan_fitting* fitting, uint32_t block) {
  size_t node = block;
  fitting->ends[0][node] = ETX_PLAN_NONE;
  for (uint32_t level = 1; level < fitting->level_count; ++level) {
    node /= WIDTH;
    const uint32_t end = least(&fitting->ends[level - 1][node * WIDTH]);
    if (fitting->ends[level][node] == end) return;
    fitting->ends[level][node] = end;
  }
}

static void remove_leaf(etx_plan_fitting* fitting, size_t node) {
  clear(fitting, 0, node);
  for (uint32_t level = 1; level < fitting->level_count; ++level) {
    node /= WIDTH;
    const uint32_t first = fitting->firsts[level][node];
    const uint32_t limit = fitting->limits[level][node];
    const uint32_t rank = fitting->ranks[level][node];
    sum_up(fitting, level, node);
    if (fitting->firsts[level][node] == first &&
        fitting->limits[level][node] == limit &&
        fitting->ranks[level][node] == rank) {
      return;
    }
  }
}

uint32_t etx_plan_fitting_take_best(etx_plan_fitting* fitting, uint32_t low,
                                    uint32_t high) {
  const question asked = {low, high};
  if (!anything_fits(fitting, low, high)) return ETX_PLAN_NONE;
  const size_t leaf = best_leaf(fitting, asked);
  const uint32_t block = fitting->slots[leaf];
  remove_end(fitting, block);
  remove_leaf(fitting, leaf);
  return block;
}
