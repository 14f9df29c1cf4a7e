#include "planner/plan_fitting.h"

#include "planner/plan_sort.h"
#include "planner/plan_work.h"

enum { WIDTH = 16, OUT = INT32_MAX };

// Families that hold so many nodes.
static size_t families(size_t count) { return (count + WIDTH - 1) / WIDTH; }

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

static void sort_slots(etx_plan_fitting* fitting, uint64_t* scratch) {
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

static bool take_slots(etx_plan_fitting* fitting, etx_arena* work) {
  const size_t count = fitting->part->block_count;
  uint64_t* scratch = NULL;
  if (!etx_plan_take_u32(work, count, &fitting->slots)) return false;
  const size_t mark = etx_arena_mark(work);
  const bool taken = etx_plan_take_u64(work, 2 * count, &scratch);
  if (taken && !work->counting) sort_slots(fitting, scratch);
  etx_arena_rewind(work, mark);
  return taken;
}

static bool take_level(etx_arena* work, size_t nodes, int32_t** out) {
  void* memory = NULL;
  const bool taken = etx_plan_take(work, nodes, sizeof **out, &memory);
  *out = memory;
  return taken;
}

bool etx_plan_fitting_take(etx_plan_fitting* fitting, const etx_plan_part* part,
                           etx_arena* work) {
  const size_t sections =
      work->counting ? part->block_count : part->section_count;
  size_t count = part->block_count;
  fitting->part = part;
  fitting->level_count = 0;
  fitting->looks = 0;
  if (!etx_plan_take_u32(work, sections + 1, &fitting->starts) ||
      !take_slots(fitting, work)) {
    return false;
  }
  do {
    const size_t nodes = families(count) * WIDTH;
    const uint32_t level = fitting->level_count++;
    if (!take_level(work, nodes, &fitting->ends[level]) ||
        !take_level(work, nodes, &fitting->firsts[level]) ||
        !take_level(work, nodes, &fitting->limits[level]) ||
        !take_level(work, nodes, &fitting->ranks[level])) {
      return false;
    }
    count = families(count);
  } while (count > 1);
  return true;
}

static int32_t least(const int32_t* family) {
  int32_t found = family[0];
  for (size_t i = 1; i < WIDTH; ++i) {
    found = family[i] < found ? family[i] : found;
  }
  return found;
}

static int32_t greatest(const int32_t* family) {
  int32_t found = family[0];
  for (size_t i = 1; i < WIDTH; ++i) {
    found = family[i] > found ? family[i] : found;
  }
  return found;
}

// Empties a node, so that no question finds it.
static void clear(etx_plan_fitting* fitting, uint32_t level, size_t node) {
  fitting->firsts[level][node] = -1;
  fitting->limits[level][node] = OUT;
  fitting->ranks[level][node] = OUT;
}

// Sums up the children of a node.
static void sum_up(etx_plan_fitting* fitting, uint32_t level, size_t node) {
  const size_t child = node * WIDTH;
  fitting->firsts[level][node] = greatest(&fitting->firsts[level - 1][child]);
  fitting->limits[level][node] = least(&fitting->limits[level - 1][child]);
  fitting->ranks[level][node] = least(&fitting->ranks[level - 1][child]);
}

static void fill_kinds(etx_plan_fitting* fitting, const int32_t* rank_of) {
  const etx_plan_part* const part = fitting->part;
  const size_t nodes = families(part->block_count) * WIDTH;
  for (size_t i = 0; i < nodes; ++i) {
    clear(fitting, 0, i);
    if (i >= part->block_count) continue;
    const uint32_t b = fitting->slots[i];
    if (etx_plan_part_fixed(part, b) != ETX_PLAN_NONE) continue;
    fitting->firsts[0][i] = (int32_t)part->first[b];
    fitting->limits[0][i] = (int32_t)part->limit[b];
    fitting->ranks[0][i] = rank_of[b];
  }
}

static void fill_ends(etx_plan_fitting* fitting) {
  const etx_plan_part* const part = fitting->part;
  const size_t nodes = families(part->block_count) * WIDTH;
  for (uint32_t b = 0; b < nodes; ++b) {
    const bool is_in =
        b < part->block_count && etx_plan_part_fixed(part, b) == ETX_PLAN_NONE;
    fitting->ends[0][b] = is_in ? (int32_t)part->limit[b] : OUT;
  }
}

void etx_plan_fitting_fill(etx_plan_fitting* fitting, const uint32_t* order) {
  const uint32_t block_count = fitting->part->block_count;
  // The ends come last, so until then they can hold the ranks.
  int32_t* const rank_of = fitting->ends[0];
  for (uint32_t rank = 0; rank < block_count; ++rank) {
    rank_of[order[rank]] = (int32_t)rank;
  }
  fill_starts(fitting);
  fill_kinds(fitting, rank_of);
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

// True if one of the nodes [low, high) has an end of at most `limit`.
static bool ends_by(const int32_t* ends, size_t low, size_t high,
                    int32_t limit) {
  bool found = false;
  for (size_t i = low; i < high; ++i) found |= ends[i] <= limit;
  return found;
}

// True if some block lives within the sections [low, high).
static bool anything_fits(const etx_plan_fitting* fitting, uint32_t low,
                          uint32_t high) {
  size_t left = fitting->starts[low];
  size_t right = fitting->starts[high];
  const int32_t limit = (int32_t)high;
  for (uint32_t level = 0; left < right; ++level) {
    const int32_t* const ends = fitting->ends[level];
    const size_t inner_left = families(left);
    const size_t inner_right = right / WIDTH;
    if (inner_left >= inner_right || level + 1 == fitting->level_count) {
      return ends_by(ends, left, right, limit);
    }
    if (ends_by(ends, left, inner_left * WIDTH, limit) ||
        ends_by(ends, inner_right * WIDTH, right, limit)) {
      return true;
    }
    left = inner_left;
    right = inner_right;
  }
  return false;
}

// What is asked for.
typedef struct question {
  int32_t low;
  int32_t high;
} question;

// The best rank, not below `floor`, of a family's members that may hold a block
// that fits.
static int32_t best_of(const etx_plan_fitting* fitting, uint32_t level,
                       size_t family, question asked, int32_t floor) {
  const int32_t* const firsts = &fitting->firsts[level][family * WIDTH];
  const int32_t* const limits = &fitting->limits[level][family * WIDTH];
  const int32_t* const ranks = &fitting->ranks[level][family * WIDTH];
  int32_t best = OUT;
  for (size_t i = 0; i < WIDTH; ++i) {
    const int32_t rank = ranks[i];
    const bool fits =
        (firsts[i] >= asked.low) & (limits[i] <= asked.high) & (rank >= floor);
    const int32_t candidate = fits ? rank : OUT;
    best = candidate < best ? candidate : best;
  }
  return best;
}

static size_t place_of(const int32_t* ranks, int32_t rank) {
  size_t i = 0;
  while (ranks[i] != rank) i += 1;
  return i;
}

// The leaf of the best-ranked block that fits, or SIZE_MAX. Goes down to the
// best child first; of the others only those come after it whose best rank
// beats what was found there.
static size_t best_leaf(etx_plan_fitting* fitting, question asked) {
  size_t families_at[ETX_PLAN_FITTING_LEVELS];
  int32_t floors[ETX_PLAN_FITTING_LEVELS];
  int32_t best = OUT;
  size_t leaf = SIZE_MAX;
  uint32_t level = fitting->level_count - 1;
  families_at[level] = 0;
  floors[level] = 0;
  while (level < fitting->level_count) {
    const size_t family = families_at[level];
    fitting->looks += 1;
    const int32_t rank = best_of(fitting, level, family, asked, floors[level]);
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
  fitting->ends[0][node] = OUT;
  for (uint32_t level = 1; level < fitting->level_count; ++level) {
    node /= WIDTH;
    const int32_t end = least(&fitting->ends[level - 1][node * WIDTH]);
    if (fitting->ends[level][node] == end) return;
    fitting->ends[level][node] = end;
  }
}

static void remove_leaf(etx_plan_fitting* fitting, size_t node) {
  clear(fitting, 0, node);
  for (uint32_t level = 1; level < fitting->level_count; ++level) {
    node /= WIDTH;
    const int32_t first = fitting->firsts[level][node];
    const int32_t limit = fitting->limits[level][node];
    const int32_t rank = fitting->ranks[level][node];
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
  const question asked = {(int32_t)low, (int32_t)high};
  if (!anything_fits(fitting, low, high)) return ETX_PLAN_NONE;
  const size_t leaf = best_leaf(fitting, asked);
  const uint32_t block = fitting->slots[leaf];
  remove_end(fitting, block);
  remove_leaf(fitting, leaf);
  return block;
}
