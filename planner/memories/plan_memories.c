#include "planner/memories/plan_memories.h"

#include <string.h>

#include "format/base/reachability.h"
#include "planner/memories/memory_choice.h"
#include "planner/memories/memory_fill.h"
#include "planner/problem/plan_bound.h"
#include "planner/problem/plan_check.h"
#include "planner/problem/plan_workspace.h"

enum {
  // A choice may fit by its live bytes and still not be placed. So many next
  // best choices of a small part are tried.
  NEXT_CHOICES = 64,
  // Larger parts are also chosen for less than the capacity, down to 7/8.
  CAPACITIES = 6,
  SMALLEST_SHIFT = 7,
  // If what is left does not fit into the last memory, blocks are chosen by a
  // mixture of their traffic and their bytes, with more and more of the latter.
  MIXTURES = 4,
  PART_STEPS = 400000,  // planner steps of a part, at least
};
// Steps of choosing blocks: enough for thousands of blocks.
#define CHOICE_STEPS UINT64_C(50000000)
#define MOST_COST (UINT64_C(1) << 16)
#define MOST_TRAFFIC (UINT64_C(1) << 62)

typedef struct memories_planner {
  const etx_plan_memories_problem* given;
  etx_arena* work;
  etx_diag* diag;
  etx_plan_memories_solution* solution;
  etx_plan_partitions parts;
  uint64_t padding;       // of the topmost block, at most
  uint64_t* weights;      // by number: what a choice should have most of
  uint8_t* is_candidate;  // by number: not yet in a memory
  uint8_t* is_chosen;     // by number, of the part that is planned
  uint8_t* is_kept;       // by number: the best choice of the part so far
  uint64_t* offsets;      // by number, of the part that is planned
  uint64_t* kept;         // by number: the offsets of that choice
  etx_plan_block* sub;    // the chosen blocks of a part
  uint32_t* numbers;      // of these blocks
  uint64_t* sub_offsets;  // of these blocks
} memories_planner;

static bool take_bytes(etx_arena* work, size_t count, uint8_t** out) {
  void* memory = NULL;
  const bool taken = etx_plan_take(work, count, 1, &memory);
  *out = memory;
  return taken;
}

static bool take(memories_planner* p) {
  const size_t n = p->given->problem->block_count;
  void* sub = NULL;
  size_t bytes = 0;
  const bool taken =
      etx_plan_take_u64(p->work, n, &p->weights) &&
      take_bytes(p->work, n, &p->is_candidate) &&
      take_bytes(p->work, n, &p->is_chosen) &&
      take_bytes(p->work, n, &p->is_kept) &&
      etx_plan_take_u64(p->work, n, &p->offsets) &&
      etx_plan_take_u64(p->work, n, &p->kept) &&
      etx_multiply_size(n, sizeof *p->sub, &bytes) &&
      etx_arena_take_ok(p->work, bytes, ETX_ARENA_ALIGNMENT, &sub) &&
      etx_plan_take_u32(p->work, n, &p->numbers) &&
      etx_plan_take_u64(p->work, n, &p->sub_offsets) &&
      etx_plan_partitions_take(&p->parts, p->given->problem, p->work);
  p->sub = sub;
  return taken;
}

// ---- the placement of a choice ----

static const etx_plan_block* block_at(const memories_planner* p, uint32_t b) {
  return etx_plan_partition_block(&p->parts.all, b);
}

// Collects the chosen blocks; returns how many.
static size_t collect(memories_planner* p, const etx_plan_partition* part,
                      uint32_t first) {
  size_t count = 0;
  for (uint32_t b = 0; b < part->block_count; ++b) {
    if (!p->is_chosen[b]) continue;
    p->sub[count] = *block_at(p, first + b);
    p->numbers[count++] = b;
  }
  return count;
}

static etx_status solve_sub(memories_planner* p, size_t count,
                            uint64_t capacity) {
  const uint64_t all = p->given->problem->steps;
  const etx_plan_problem sub = {.blocks = p->sub,
                                .block_count = count,
                                .capacity = capacity,
                                .steps = all == 0 ? PART_STEPS : all};
  etx_plan_solution solution = {.offsets = p->sub_offsets};
  etx_diag unused;
  etx_diag_init(&unused);
  ETX_TRY(etx_plan_solve(&sub, NULL, p->work, &solution, &unused));
  for (size_t i = 0; i < count; ++i) {
    p->offsets[p->numbers[i]] = p->sub_offsets[i];
  }
  return ETX_OK;
}

// Fills what is free, and exchanges blocks.
static etx_status improve(memories_planner* p, const etx_plan_partition* part,
                          uint32_t first, uint64_t capacity) {
  const etx_memory_fill fill = {.part = part,
                                .weights = &p->weights[first],
                                .is_candidate = &p->is_candidate[first],
                                .capacity = capacity,
                                .is_chosen = p->is_chosen,
                                .offsets = p->offsets};
  return etx_memory_fill_improve(&fill, p->work) ? ETX_OK : ETX_OUT_OF_MEMORY;
}

// Places the chosen blocks without a limit, keeps those that end within the
// capacity.
static etx_status place_most(memories_planner* p,
                             const etx_plan_partition* part, uint32_t first,
                             uint64_t capacity) {
  const size_t count = collect(p, part, first);
  ETX_TRY(solve_sub(p, count, 0));
  for (size_t i = 0; i < count; ++i) {
    if (p->sub_offsets[i] + p->sub[i].size <= capacity) continue;
    p->is_chosen[p->numbers[i]] = 0;
  }
  return ETX_OK;
}

// ---- one part in one memory ----

static uint64_t chosen_weight(const memories_planner* p,
                              const etx_plan_partition* part, uint32_t first) {
  uint64_t sum = 0;
  for (uint32_t b = 0; b < part->block_count; ++b) {
    if (p->is_chosen[b]) sum += p->weights[first + b];
  }
  return sum;
}

static uint32_t units_within(const etx_plan_partition* part, uint64_t bytes) {
  const uint64_t units = bytes / part->unit;
  return units < ETX_PLAN_CEILING ? (uint32_t)units : ETX_PLAN_CEILING;
}

// The bytes that a choice may use in its attempt `i`. Sizes are rounded up to
// the alignment, but the topmost block needs no padding: so the first attempt
// has bytes for the padding, too. Later ones leave out a 64th, a 32nd and so
// on.
static uint64_t usable(const memories_planner* p, uint64_t capacity,
                       uint64_t i) {
  if (i > 1) return capacity - (capacity >> (SMALLEST_SHIFT - (i - 1)));
  if (i == 1) return capacity;
  return capacity > UINT64_MAX - p->padding ? capacity : capacity + p->padding;
}

static etx_status choose(memories_planner* p, const etx_plan_partition* part,
                         uint32_t first, uint64_t capacity, uint64_t below) {
  const etx_memory_choice_problem choice = {
      .part = part,
      .traffic = &p->weights[first],
      .is_candidate = &p->is_candidate[first],
      .capacity = units_within(part, capacity),
      .below = below};
  uint64_t steps = CHOICE_STEPS;
  return etx_memory_choose(&choice, p->work, &steps, p->is_chosen)
             ? ETX_OK
             : ETX_OUT_OF_MEMORY;
}

// Keeps the present choice if it has more weight than the one that was kept.
static void keep_choice(memories_planner* p, const etx_plan_partition* part,
                        uint32_t first, uint64_t* best) {
  const uint64_t weight = chosen_weight(p, part, first);
  if (weight <= *best) return;
  *best = weight;
  memcpy(p->is_kept, p->is_chosen, part->block_count);
  memcpy(p->kept, p->offsets, part->block_count * sizeof *p->kept);
}

static size_t count_candidates(const memories_planner* p,
                               const etx_plan_partition* part, uint32_t first) {
  size_t count = 0;
  for (uint32_t b = 0; b < part->block_count; ++b) {
    count += p->is_candidate[first + b] != 0;
  }
  return count;
}

// The next best choices of a small part, until one can be placed.
static etx_status try_next_choices(memories_planner* p,
                                   const etx_plan_partition* part,
                                   uint32_t first, uint64_t capacity,
                                   uint64_t* best) {
  uint64_t below = UINT64_MAX;
  for (int i = 0; i < NEXT_CHOICES; ++i) {
    ETX_TRY(choose(p, part, first, usable(p, capacity, 0), below));
    below = chosen_weight(p, part, first);
    if (below <= *best) return ETX_OK;
    const etx_status status = solve_sub(p, collect(p, part, first), capacity);
    if (status != ETX_OK && status != ETX_BAD_PLAN) return status;
    if (status == ETX_BAD_PLAN) continue;
    keep_choice(p, part, first, best);
    return ETX_OK;
  }
  return ETX_OK;
}

// Finds in `is_kept` and `kept` what the memory holds of a part.
static etx_status plan_part(memories_planner* p, const etx_plan_partition* part,
                            uint32_t first, uint64_t capacity) {
  uint64_t best = 0;
  memset(p->is_kept, 0, part->block_count);
  for (uint64_t i = 0; i < CAPACITIES; ++i) {
    ETX_TRY(choose(p, part, first, usable(p, capacity, i), UINT64_MAX));
    const etx_status status = solve_sub(p, collect(p, part, first), capacity);
    if (status != ETX_OK && status != ETX_BAD_PLAN) return status;
    if (status == ETX_BAD_PLAN) {
      ETX_TRY(place_most(p, part, first, capacity));
    }
    ETX_TRY(improve(p, part, first, capacity));
    keep_choice(p, part, first, &best);
    if (status != ETX_OK) continue;
    if (i == 0) return ETX_OK;
    break;
  }
  if (count_candidates(p, part, first) > ETX_MEMORY_CHOICE_EXACT_BLOCKS) {
    return ETX_OK;
  }
  return try_next_choices(p, part, first, capacity, &best);
}

// ---- one memory ----

static void take_over(memories_planner* p, const etx_plan_partition* part,
                      uint32_t first, uint32_t memory) {
  etx_plan_memories_solution* const s = p->solution;
  for (uint32_t b = 0; b < part->block_count; ++b) {
    if (!p->is_kept[b]) continue;
    const uint32_t index = part->blocks[b];
    const uint64_t end = p->kept[b] + block_at(p, first + b)->size;
    s->memories[index] = memory;
    s->offsets[index] = p->kept[b];
    s->traffic[memory] += p->given->traffic[index];
    if (end > s->arena_bytes[memory]) s->arena_bytes[memory] = end;
    p->is_candidate[first + b] = 0;
  }
}

// Places all that is left of a part.
static etx_status place_rest(memories_planner* p,
                             const etx_plan_partition* part, uint32_t first,
                             uint64_t capacity) {
  memcpy(p->is_chosen, &p->is_candidate[first], part->block_count);
  ETX_TRY(solve_sub(p, collect(p, part, first),
                    capacity == UINT64_MAX ? 0 : capacity));
  memcpy(p->is_kept, p->is_chosen, part->block_count);
  memcpy(p->kept, p->offsets, part->block_count * sizeof *p->kept);
  return ETX_OK;
}

static etx_status plan_memory(memories_planner* p, uint32_t memory) {
  const uint64_t capacity = p->given->memories[memory].capacity;
  const bool takes_rest =
      capacity == UINT64_MAX || memory + 1 == p->given->memory_count;
  for (uint32_t i = 0; i < p->parts.count; ++i) {
    const etx_plan_partition part = etx_plan_partitions_at(&p->parts, i);
    const uint32_t first = p->parts.first_block[i];
    if (takes_rest) {
      ETX_TRY(place_rest(p, &part, first, capacity));
    } else {
      ETX_TRY(plan_part(p, &part, first, capacity));
    }
    take_over(p, &part, first, memory);
  }
  return ETX_OK;
}

// ---- all memories ----

static void set_weights(memories_planner* p, uint64_t mixture) {
  const etx_plan_partition* const all = &p->parts.all;
  uint64_t traffic = 0;
  uint64_t bytes = 1;
  for (uint32_t b = 0; b < all->block_count; ++b) {
    traffic += p->given->traffic[all->blocks[b]];
    bytes += block_at(p, b)->size;
  }
  const uint64_t scale = traffic / bytes + 1;
  for (uint32_t b = 0; b < all->block_count; ++b) {
    p->weights[b] =
        p->given->traffic[all->blocks[b]] / MIXTURES * (MIXTURES - mixture) +
        block_at(p, b)->size * scale / MIXTURES * mixture + 1;
  }
}

static etx_status plan_mixture(memories_planner* p, uint64_t mixture) {
  etx_plan_memories_solution* const s = p->solution;
  const size_t count = p->given->problem->block_count;
  set_weights(p, mixture);
  memset(p->is_candidate, 1, p->parts.all.block_count);
  memset(s->memories, 0, count * sizeof *s->memories);
  memset(s->offsets, 0, count * sizeof *s->offsets);
  memset(s->arena_bytes, 0, sizeof s->arena_bytes);
  memset(s->traffic, 0, sizeof s->traffic);
  for (uint32_t k = 0; k < p->given->memory_count; ++k) {
    ETX_TRY(plan_memory(p, k));
  }
  s->cost = 0;
  for (size_t k = 0; k < p->given->memory_count; ++k) {
    const uint64_t cost = p->given->memories[k].cost;
    const uint64_t room = (UINT64_MAX - s->cost) / cost;
    if (s->traffic[k] > room) {
      s->cost = UINT64_MAX;
      break;
    }
    s->cost += s->traffic[k] * cost;
  }
  return ETX_OK;
}

static etx_status check(const etx_plan_memories_problem* given,
                        etx_diag* diag) {
  uint64_t traffic = 0;
  uint64_t sizes = 0;
  ETX_TRY(etx_plan_check(given->problem, diag));
  if (etx_plan_has_fixed(given->problem)) return ETX_UNSUPPORTED;
  if (given->memory_count == 0 ||
      given->memory_count > ETX_PLAN_MOST_MEMORIES) {
    return ETX_BAD_ARGUMENT;
  }
  for (size_t i = 0; i < given->memory_count; ++i) {
    const uint64_t cost = given->memories[i].cost;
    if (cost == 0 || cost > MOST_COST) return ETX_BAD_ARGUMENT;
  }
  for (size_t i = 0; i < given->problem->block_count; ++i) {
    if (given->traffic[i] >= MOST_TRAFFIC ||
        given->problem->blocks[i].size >= MOST_TRAFFIC) {
      return ETX_BAD_ARGUMENT;
    }
    traffic += given->traffic[i];
    sizes += given->problem->blocks[i].size;
    if (traffic >= MOST_TRAFFIC || sizes >= MOST_TRAFFIC) {
      return ETX_BAD_ARGUMENT;
    }
  }
  return ETX_OK;
}

static etx_status no_plan(const memories_planner* p) {
  uint64_t bound = 0;
  uint64_t sum = 0;
  ETX_TRY(etx_plan_bound(p->given->problem, p->work, &bound));
  for (size_t i = 0; i < p->given->memory_count; ++i) {
    sum += p->given->memories[i].capacity;  // less than the sizes of all blocks
  }
  return etx_diag_fail(p->diag, ETX_BAD_PLAN,
                       "no plan within the capacities of the memories was "
                       "found: %u bytes are live at one time, and the memories "
                       "have %u",
                       bound, sum);
}

static etx_status solve(memories_planner* p) {
  if (!take(p)) return ETX_OUT_OF_MEMORY;
  p->padding = etx_plan_granularity(p->given->problem) - 1;
  for (uint64_t mixture = 0; mixture <= MIXTURES; ++mixture) {
    const etx_status status = plan_mixture(p, mixture);
    if (status != ETX_BAD_PLAN) return status;
  }
  return no_plan(p);
}

etx_status etx_plan_memories_solve(const etx_plan_memories_problem* problem,
                                   etx_arena* work,
                                   etx_plan_memories_solution* solution,
                                   etx_diag* diag) {
  memories_planner p = {
      .given = problem, .work = work, .diag = diag, .solution = solution};
  ETX_TRY(check(problem, diag));
  const size_t mark = etx_arena_mark(work);
  const etx_status status = solve(&p);
  etx_arena_rewind(work, mark);
  return status;
}

size_t etx_plan_memories_needed(const etx_plan_memories_problem* problem) {
  etx_arena counter;
  etx_arena_init_counting(&counter);
  memories_planner p = {.given = problem, .work = &counter};
  const size_t planning = etx_plan_needed(problem->problem);
  etx_plan_partition part = {0};
  part.problem = problem->problem;
  part.block_count = (uint32_t)problem->problem->block_count;
  part.section_count = part.block_count;
  const etx_memory_choice_problem choice = {.part = &part};
  if (problem->problem->block_count > ETX_PLAN_MAX_BLOCKS) return SIZE_MAX;
  bool fits = take(&p);
  const size_t own = counter.used_bytes;
  fits &= etx_memory_choose(&choice, &counter, NULL, NULL);
  const etx_memory_fill fill = {.part = &part};
  fits &= etx_memory_fill_improve(&fill, &counter);
  const size_t choosing = counter.peak_bytes - own;
  const size_t most = planning > choosing ? planning : choosing;
  fits &= most <= SIZE_MAX - own - ETX_ARENA_ALIGNMENT;
  return ETX_NEVER_IF_WIDE(!fits) ? SIZE_MAX : own + most + ETX_ARENA_ALIGNMENT;
}
