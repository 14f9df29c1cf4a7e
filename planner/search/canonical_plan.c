// A section cannot be completed if the lowest offset of all its open blocks is
// so high that the open blocks do not fit above. Instead of the minimum, each
// section keeps one open block that is low enough. As long as that block stays
// low enough, nothing has to be searched (like watched literals in SAT
// solvers). Undo need not restore the watched block, because any open block
// that is low enough will do.

#include "planner/search/canonical_plan.h"

#include <string.h>

#include "format/base/reachability.h"
#include "planner/problem/plan_workspace.h"

enum { WORD_BITS = 64 };

// An offset plus this alignment fits into 32 bits.
static const uint32_t widest_alignment = ETX_PLAN_MAX_UNITS;

static size_t words_of(size_t count) {
  return (count + WORD_BITS - 1) / WORD_BITS;
}

static bool take_sets(etx_canonical_plan* plan, size_t count, etx_arena* work) {
  const size_t words = words_of(count);
  return etx_plan_take_u64(work, count * words, &plan->neighbours) &&
         etx_plan_take_u64(work, count * words, &plan->members) &&
         etx_plan_take_u64(work, words, &plan->open);
}

bool etx_canonical_plan_take(etx_canonical_plan* plan,
                             const etx_plan_partition* part, etx_arena* work) {
  const size_t count = part->block_count < ETX_CANONICAL_PLAN_MAX_BLOCKS
                           ? part->block_count
                           : ETX_CANONICAL_PLAN_MAX_BLOCKS;
  // On a path from the root a block is raised at most once by each neighbour
  // and placed once.
  const size_t trail = count * (count + 1) / 2;
  uint32_t** const arrays[] = {&plan->alignment, &plan->lowest, &plan->offset,
                               &plan->slack,     &plan->left,   &plan->cross,
                               &plan->watch};
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; ++i) {
    if (!etx_plan_take_u32(work, count, arrays[i])) return false;
  }
  return take_sets(plan, count, work) &&
         etx_plan_take_u32(work, trail, &plan->trail_block) &&
         etx_plan_take_u32(work, trail, &plan->trail_lowest);
}

static void add_to(uint64_t* set, uint32_t number) {
  set[number / WORD_BITS] |= UINT64_C(1) << (number % WORD_BITS);
}

static void remove_from(uint64_t* set, uint32_t number) {
  set[number / WORD_BITS] &= ~(UINT64_C(1) << (number % WORD_BITS));
}

static bool lives_with(const etx_canonical_plan* plan, uint32_t a, uint32_t b) {
  return plan->first[a] < plan->limit[b] && plan->first[b] < plan->limit[a];
}

static void fill_sets(etx_canonical_plan* plan) {
  const size_t words = plan->words;
  memset(plan->members, 0, plan->section_count * words * sizeof *plan->members);
  for (uint32_t b = 0; b < plan->block_count; ++b) {
    uint64_t* const set = &plan->neighbours[b * words];
    memset(set, 0, words * sizeof *set);
    for (uint32_t s = plan->first[b]; s < plan->limit[b]; ++s) {
      add_to(&plan->members[s * words], b);
    }
    for (uint32_t x = 0; x < plan->block_count; ++x) {
      if (x != b && lives_with(plan, x, b)) add_to(set, x);
    }
  }
}

bool etx_canonical_plan_read(etx_canonical_plan* plan,
                             const etx_plan_partition* part) {
  // The caller has compared the number of blocks.
  if (ETX_NEVER(part->block_count > ETX_CANONICAL_PLAN_MAX_BLOCKS)) {
    return false;
  }
  plan->part = part;
  plan->block_count = part->block_count;
  plan->section_count = part->section_count;
  plan->words = words_of(part->block_count);
  plan->size = part->size;
  plan->first = part->first;
  plan->limit = part->limit;
  for (uint32_t b = 0; b < plan->block_count; ++b) {
    plan->alignment[b] = etx_plan_partition_align(part, b, 1);
    // The unit was chosen so that no block with its padding has more units.
    if (ETX_NEVER(plan->alignment[b] > widest_alignment)) return false;
  }
  fill_sets(plan);
  return true;
}

// Adds a block to the sums of its sections.
static void open_block(etx_canonical_plan* plan, uint32_t b) {
  for (uint32_t s = plan->first[b]; s < plan->limit[b]; ++s) {
    plan->slack[s] -= plan->size[b];
    plan->left[s] += 1;
    plan->cross[s] += 1;
  }
  plan->cross[plan->limit[b] - 1] -= 1;
  add_to(plan->open, b);
}

static void close_block(etx_canonical_plan* plan, uint32_t b) {
  for (uint32_t s = plan->first[b]; s < plan->limit[b]; ++s) {
    plan->slack[s] += plan->size[b];
    plan->left[s] -= 1;
    plan->cross[s] -= 1;
  }
  plan->cross[plan->limit[b] - 1] += 1;
  remove_from(plan->open, b);
}

static bool has_room(const etx_canonical_plan* plan, uint32_t b) {
  for (uint32_t s = plan->first[b]; s < plan->limit[b]; ++s) {
    if (plan->slack[s] < plan->size[b]) return false;
  }
  return true;
}

bool etx_canonical_plan_start(etx_canonical_plan* plan, uint32_t capacity) {
  plan->capacity = capacity;
  plan->trail_count = 0;
  memset(plan->open, 0, plan->words * sizeof *plan->open);
  for (uint32_t s = 0; s < plan->section_count; ++s) {
    plan->slack[s] = plan->capacity;
    plan->left[s] = 0;
    plan->cross[s] = 0;
  }
  for (uint32_t b = 0; b < plan->block_count; ++b) {
    if (!has_room(plan, b)) return false;
    plan->lowest[b] = 0;
    open_block(plan, b);
    for (uint32_t s = plan->first[b]; s < plan->limit[b]; ++s) {
      plan->watch[s] = b;
    }
  }
  return true;
}

static void set_lowest(etx_canonical_plan* plan, uint32_t b, uint32_t lowest) {
  plan->trail_block[plan->trail_count] = b;
  plan->trail_lowest[plan->trail_count] = plan->lowest[b];
  plan->trail_count += 1;
  plan->lowest[b] = lowest;
}

// The sections [low, high) that a placement has changed. They are contiguous,
// because every raised block is live together with the placed one.
typedef struct changed_sections {
  uint32_t low;
  uint32_t high;
} changed_sections;

// Raises the lowest offset of an open neighbour to `height`; false if it then
// exceeds the capacity.
static bool raise_block(etx_canonical_plan* plan, uint32_t x, uint32_t height,
                        changed_sections* touched) {
  if (plan->lowest[x] >= height) return true;
  const uint32_t mask = plan->alignment[x] - 1;
  const uint32_t lowest = (height + mask) & ~mask;
  set_lowest(plan, x, lowest);
  if (plan->first[x] < touched->low) touched->low = plan->first[x];
  if (plan->limit[x] > touched->high) touched->high = plan->limit[x];
  return lowest <= plan->capacity && plan->size[x] <= plan->capacity - lowest;
}

static bool raise_neighbours(etx_canonical_plan* plan, uint32_t b,
                             uint32_t height, changed_sections* touched,
                             bool* has_open_neighbour) {
  const uint64_t* const set = &plan->neighbours[b * plan->words];
  for (size_t w = 0; w < plan->words; ++w) {
    uint64_t word = set[w] & plan->open[w];
    if (word != 0) *has_open_neighbour = true;
    while (word != 0) {
      const uint32_t x =
          (uint32_t)(w * WORD_BITS) + (uint32_t)__builtin_ctzll(word);
      word &= word - 1;
      if (!raise_block(plan, x, height, touched)) return false;
    }
  }
  return true;
}

// Finds an open block of the section that is low enough, and watches it.
static bool find_watch(etx_canonical_plan* plan, uint32_t s) {
  const uint64_t* const set = &plan->members[s * plan->words];
  const uint32_t slack = plan->slack[s];
  for (size_t w = 0; w < plan->words; ++w) {
    uint64_t word = set[w] & plan->open[w];
    while (word != 0) {
      const uint32_t x =
          (uint32_t)(w * WORD_BITS) + (uint32_t)__builtin_ctzll(word);
      word &= word - 1;
      if (plan->lowest[x] > slack) continue;
      plan->watch[s] = x;
      return true;
    }
  }
  return false;
}

static bool sections_hold(etx_canonical_plan* plan,
                          const changed_sections* touched) {
  for (uint32_t s = touched->low; s < touched->high; ++s) {
    if (plan->left[s] == 0) continue;
    if (plan->lowest[plan->watch[s]] <= plan->slack[s]) continue;
    if (!find_watch(plan, s)) return false;
  }
  return true;
}

bool etx_canonical_plan_place(etx_canonical_plan* plan, uint32_t block,
                              bool* has_open_neighbour) {
  const uint32_t offset = plan->lowest[block];
  changed_sections touched = {plan->first[block], plan->limit[block]};
  *has_open_neighbour = false;
  plan->offset[block] = offset;
  set_lowest(plan, block, ETX_PLAN_PLACED);
  close_block(plan, block);
  return raise_neighbours(plan, block, offset + plan->size[block], &touched,
                          has_open_neighbour) &&
         sections_hold(plan, &touched);
}

void etx_canonical_plan_undo(etx_canonical_plan* plan, uint32_t mark) {
  while (plan->trail_count > mark) {
    plan->trail_count -= 1;
    const uint32_t b = plan->trail_block[plan->trail_count];
    if (plan->lowest[b] == ETX_PLAN_PLACED) open_block(plan, b);
    plan->lowest[b] = plan->trail_lowest[plan->trail_count];
  }
}
