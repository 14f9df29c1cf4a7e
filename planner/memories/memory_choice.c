// Blocks are added in a few orders while they fit. The best result is improved
// by exchanges: one block comes in, and those of least traffic for their bytes
// go out until it fits. Small parts are searched by branch and bound.

#include "planner/memories/memory_choice.h"

#include <string.h>

#include "planner/problem/plan_sort.h"
#include "planner/problem/plan_workspace.h"

typedef struct memory_chooser {
  const etx_memory_choice_problem* problem;
  const etx_plan_partition* part;
  uint64_t* usage;    // units that are live, by section
  uint64_t* keys;     // by block, of the present order
  uint64_t* scratch;  // of sorting
  uint32_t* order;    // candidates
  uint32_t* removed;  // blocks that an exchange removed
  uint8_t* is_in;     // by block: in the present choice
  uint8_t* is_best;   // by block: in the best choice
  uint32_t count;     // of candidates
  uint64_t sum;       // traffic of the present choice
  uint64_t best;      // traffic of the best choice
  uint64_t* steps;    // left
} memory_chooser;

typedef enum sort_order {
  BY_TRAFFIC_OF_BYTE,       // traffic / size
  BY_TRAFFIC_OF_LIVE_BYTE,  // traffic / (size * lifetime)
  BY_TRAFFIC,
  SORT_ORDERS,
} sort_order;

static bool take(memory_chooser* c, etx_arena* work) {
  const size_t n = c->part->block_count;
  void* in = NULL;
  void* best = NULL;
  const bool taken =
      etx_plan_take_u64(work, c->part->section_count, &c->usage) &&
      etx_plan_take_u64(work, n, &c->keys) &&
      etx_plan_take_u64(work, 2 * n, &c->scratch) &&
      etx_plan_take_u32(work, n, &c->order) &&
      etx_plan_take_u32(work, n, &c->removed) &&
      etx_plan_take(work, n, 1, &in) && etx_plan_take(work, n, 1, &best);
  c->is_in = in;
  c->is_best = best;
  return taken;
}

// ---- one choice ----

static void spend(memory_chooser* c, uint64_t steps) {
  *c->steps = *c->steps > steps ? *c->steps - steps : 0;
}

static bool fits(memory_chooser* c, uint32_t b) {
  const uint64_t size = c->part->size[b];
  for (uint32_t s = c->part->first[b]; s < c->part->limit[b]; ++s) {
    if (c->usage[s] + size > c->problem->capacity) return false;
  }
  return true;
}

static void add(memory_chooser* c, uint32_t b) {
  for (uint32_t s = c->part->first[b]; s < c->part->limit[b]; ++s) {
    c->usage[s] += c->part->size[b];
  }
  c->is_in[b] = 1;
  c->sum += c->problem->traffic[b];
  spend(c, c->part->limit[b] - c->part->first[b]);
}

static void take_out(memory_chooser* c, uint32_t b) {
  for (uint32_t s = c->part->first[b]; s < c->part->limit[b]; ++s) {
    c->usage[s] -= c->part->size[b];
  }
  c->is_in[b] = 0;
  c->sum -= c->problem->traffic[b];
  spend(c, c->part->limit[b] - c->part->first[b]);
}

static void clear(memory_chooser* c) {
  memset(c->usage, 0, c->part->section_count * sizeof *c->usage);
  memset(c->is_in, 0, c->part->block_count);
  c->sum = 0;
}

static void keep_if_better(memory_chooser* c) {
  if (c->sum <= c->best || c->sum >= c->problem->below) return;
  c->best = c->sum;
  memcpy(c->is_best, c->is_in, c->part->block_count);
}

static void return_to_best(memory_chooser* c) {
  clear(c);
  for (uint32_t b = 0; b < c->part->block_count; ++b) {
    if (c->is_best[b]) add(c, b);
  }
}

// ---- orders ----

// `traffic` in thousands of a byte for each of `bytes`, without overflow.
static uint64_t rate(uint64_t traffic, uint64_t bytes) {
  if (traffic <= UINT64_MAX >> 10) return (traffic << 10) / bytes;
  return traffic / ((bytes >> 10) + 1);
}

static uint64_t key_of(const memory_chooser* c, uint32_t b, sort_order order) {
  const uint64_t traffic = c->problem->traffic[b];
  const uint64_t sections = c->part->limit[b] - c->part->first[b];
  if (order == BY_TRAFFIC_OF_BYTE) return rate(traffic, c->part->size[b]);
  if (order == BY_TRAFFIC) return traffic;
  return rate(traffic, c->part->size[b] * sections);
}

static uint32_t low_half(const void* keys, uint32_t b) {
  return ~(uint32_t)((const uint64_t*)keys)[b];
}
static uint32_t high_half(const void* keys, uint32_t b) {
  return ~(uint32_t)(((const uint64_t*)keys)[b] >> 32);
}

// Sorts the candidates, the most promising first.
static void sort(memory_chooser* c, sort_order order) {
  c->count = 0;
  for (uint32_t b = 0; b < c->part->block_count; ++b) {
    if (!c->problem->is_candidate[b]) continue;
    c->keys[b] = key_of(c, b, order);
    c->order[c->count++] = b;
  }
  etx_plan_sort(c->order, c->count, low_half, c->keys, c->scratch);
  etx_plan_sort(c->order, c->count, high_half, c->keys, c->scratch);
}

static void add_all_that_fit(memory_chooser* c) {
  for (uint32_t i = 0; i < c->count; ++i) {
    const uint32_t b = c->order[i];
    if (!c->is_in[b] && fits(c, b)) add(c, b);
  }
  spend(c, c->count);
}

static void try_order(memory_chooser* c, sort_order order) {
  sort(c, order);
  clear(c);
  add_all_that_fit(c);
  keep_if_better(c);
}

// ---- exchanges ----

static bool live_together(const etx_plan_partition* part, uint32_t a,
                          uint32_t b) {
  return part->first[a] < part->limit[b] && part->first[b] < part->limit[a];
}

// Takes blocks out, the least promising first, until `wanted` fits. Returns how
// many.
static uint32_t make_room(memory_chooser* c, uint32_t wanted) {
  uint32_t count = 0;
  for (uint32_t i = c->count; i-- > 0 && !fits(c, wanted);) {
    const uint32_t b = c->order[i];
    if (!c->is_in[b] || !live_together(c->part, b, wanted)) continue;
    take_out(c, b);
    c->removed[count++] = b;
  }
  return count;
}

// Blocks come back in reverse order, the most promising first, if there is
// still room; then all others that fit now.
static bool try_exchange(memory_chooser* c, uint32_t wanted) {
  const uint32_t removed = make_room(c, wanted);
  spend(c, c->count);
  if (fits(c, wanted)) add(c, wanted);
  for (uint32_t i = removed; i-- > 0;) {
    if (fits(c, c->removed[i])) add(c, c->removed[i]);
  }
  add_all_that_fit(c);
  if (c->sum > c->best) {
    keep_if_better(c);
    return true;
  }
  return_to_best(c);
  return false;
}

static void exchange(memory_chooser* c) {
  bool improved = true;
  return_to_best(c);
  sort(c, BY_TRAFFIC_OF_BYTE);
  while (improved) {
    improved = false;
    for (uint32_t i = 0; i < c->count; ++i) {
      if (*c->steps == 0) return;
      const uint32_t b = c->order[i];
      if (!c->is_in[b] && try_exchange(c, b)) improved = true;
    }
  }
}

// ---- the best choice of a small part ----

typedef enum choice_decision {
  UNDECIDED,
  TAKEN,
  LEFT,
} choice_decision;

typedef struct choice_search {
  uint8_t decisions[ETX_MEMORY_CHOICE_EXACT_BLOCKS];
  uint64_t rest[ETX_MEMORY_CHOICE_EXACT_BLOCKS + 1];  // traffic from here on
  uint32_t depth;
} choice_search;

// Decides about the next block. False if there is nothing left to try for it.
static bool decide(memory_chooser* c, choice_search* s) {
  uint8_t* const state = &s->decisions[s->depth];
  const uint32_t b = c->order[s->depth];
  if (*state == UNDECIDED) {
    *state = TAKEN;
    if (fits(c, b)) {
      add(c, b);
      return true;
    }
  }
  if (*state == TAKEN) {
    if (c->is_in[b]) take_out(c, b);
    *state = LEFT;
    return c->sum + s->rest[s->depth + 1] > c->best;
  }
  return false;
}

static void search_all(memory_chooser* c) {
  choice_search s = {{0}, {0}, 0};
  sort(c, BY_TRAFFIC);
  clear(c);
  for (uint32_t i = c->count; i-- > 0;) {
    s.rest[i] = s.rest[i + 1] + c->problem->traffic[c->order[i]];
  }
  while (*c->steps > 0) {
    spend(c, 1);
    if (s.depth < c->count && decide(c, &s)) {
      s.depth += 1;
      if (s.depth < c->count) s.decisions[s.depth] = UNDECIDED;
      continue;
    }
    if (s.depth == c->count) keep_if_better(c);
    if (s.depth == 0) return;
    s.depth -= 1;
  }
}

bool etx_memory_choose(const etx_memory_choice_problem* problem,
                       etx_arena* work, uint64_t* steps, uint8_t* is_chosen) {
  memory_chooser c = {
      .problem = problem, .part = problem->part, .steps = steps};
  const size_t mark = etx_arena_mark(work);
  const bool taken = take(&c, work);
  if (taken && !work->counting) {
    memset(c.is_best, 0, problem->part->block_count);
    for (int order = 0; order < SORT_ORDERS; ++order) {
      try_order(&c, (sort_order)order);
    }
    if (c.count <= ETX_MEMORY_CHOICE_EXACT_BLOCKS) {
      search_all(&c);
    } else {
      exchange(&c);
    }
    memcpy(is_chosen, c.is_best, problem->part->block_count);
  }
  etx_arena_rewind(work, mark);
  return taken;
}
