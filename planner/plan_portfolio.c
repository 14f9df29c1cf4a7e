// Runs one algorithm or all over each part, keeps the smallest plan of each,
// judges the whole.

#include "planner/plan_portfolio.h"

#include <string.h>

#include "format/base/span.h"
#include "planner/plan.h"
#include "planner/problem/plan_bound.h"
#include "planner/problem/plan_check.h"
#include "planner/problem/plan_sort.h"
#include "planner/validation/plan_validate.h"
#include "planner/problem/plan_workspace.h"

static const etx_plan_algorithm algorithms[] = {
#define ALGORITHM(symbol, sentence) \
  {#symbol, sentence, etx_plan_##symbol##_run},
#include "planner/algorithms/plan_algorithms.def"
#undef ALGORITHM
};

enum { ALGORITHM_COUNT = sizeof algorithms / sizeof algorithms[0] };

// What a call to etx_plan_solve holds while it runs.
typedef struct contest {
  const etx_plan_problem* problem;
  const etx_plan_algorithm* only;  // the one to run, or NULL
  etx_arena* work;
  etx_diag* diag;
  etx_plan_partitions parts;
  uint32_t* order;  // parts, the largest bound first
  uint32_t* trial;  // offsets of the algorithm at work
  uint32_t* best;   // of each block by number, its offset in the best plan
  uint64_t arena_bytes;
  uint64_t lower_bound;
  uint64_t steps;                    // left
  uint64_t blocks;                   // of the parts not yet solved
  const etx_plan_algorithm* winner;  // of the part that is largest so far
} contest;

size_t etx_plan_algorithm_count(void) { return ALGORITHM_COUNT; }

const etx_plan_algorithm* etx_plan_algorithm_at(size_t index) {
  return &algorithms[index];
}

// To reuse nothing is to reuse nothing between parts, either.
static bool spans_parts(const etx_plan_algorithm* algorithm) {
  return algorithm != NULL && algorithm->run == etx_plan_naive_run;
}

static uint64_t steps_of(const etx_plan_problem* problem) {
  if (problem->steps != 0) return problem->steps;
  return ETX_PLAN_STEPS + ETX_PLAN_STEPS_PER_BLOCK * problem->block_count;
}

static uint64_t offset_bytes(const etx_plan_partition* part, uint32_t b,
                             uint32_t units) {
  const uint64_t fixed = etx_plan_partition_block(part, b)->fixed;
  return fixed != ETX_PLAN_FREE ? fixed : units * part->unit;
}

static uint64_t highest_end(const etx_plan_partition* part,
                            const uint32_t* offsets) {
  uint64_t highest = 0;
  for (uint32_t b = 0; b < part->block_count; ++b) {
    const uint64_t end = offset_bytes(part, b, offsets[b]) +
                         etx_plan_partition_block(part, b)->size;
    if (end > highest) highest = end;
  }
  return highest;
}

static uint32_t capped(uint64_t units) {
  return units < ETX_PLAN_CEILING ? (uint32_t)units : ETX_PLAN_CEILING;
}

// What the contest over a part knows.
typedef struct part_contest {
  etx_plan_partition part;
  etx_plan_goal goal;
  uint32_t* offsets;      // of the best plan, in contest.best
  uint64_t best_bytes;    // of it; UINT64_MAX: none so far
  uint64_t enough_bytes;  // no plan has to have less
  const etx_plan_algorithm* winner;
} part_contest;

// The same plan upside down: another block lies on top, and perhaps its padding
// is larger. False if alignments or fixed offsets stand against it.
static bool turn_over(const etx_plan_partition* part, uint32_t* offsets) {
  uint32_t height = 0;
  if (part->has_fixed || part->has_alignments) return false;
  for (uint32_t b = 0; b < part->block_count; ++b) {
    const uint32_t end = offsets[b] + part->size[b];
    if (end > height) height = end;
  }
  for (uint32_t b = 0; b < part->block_count; ++b) {
    offsets[b] = height - offsets[b] - part->size[b];
  }
  return true;
}

// The bytes of the plan at hand, whichever way up it is smaller.
static uint64_t best_way_up(const contest* now, const part_contest* r) {
  const uint64_t bytes = highest_end(&r->part, now->trial);
  if (bytes <= r->enough_bytes || r->part.is_coarse ||
      !turn_over(&r->part, now->trial)) {
    return bytes;
  }
  const uint64_t turned = highest_end(&r->part, now->trial);
  if (turned < bytes) return turned;
  (void)turn_over(&r->part, now->trial);
  return bytes;
}

static etx_status try_algorithm(contest* now, part_contest* r,
                                const etx_plan_algorithm* algorithm) {
  const size_t mark = etx_arena_mark(now->work);
  const etx_status status =
      algorithm->run(&r->part, &r->goal, now->work, now->trial);
  etx_arena_rewind(now->work, mark);
  if (status == ETX_NOT_FOUND) return ETX_OK;
  if (status != ETX_OK) return status;
  const uint64_t bytes = best_way_up(now, r);
  if (bytes >= r->best_bytes) return ETX_OK;
  memcpy(r->offsets, now->trial, r->part.block_count * sizeof *r->offsets);
  r->best_bytes = bytes;
  r->goal.best = capped(etx_plan_units_ceil(bytes, r->part.unit));
  // A plan of as many units may still be smaller by the padding of the block
  // that lies on top.
  if (bytes > r->enough_bytes && r->goal.best == r->goal.enough) {
    r->goal.best += 1;
  }
  r->winner = algorithm;
  return ETX_OK;
}

static etx_status try_all(contest* now, part_contest* r) {
  for (size_t i = 0; i < ALGORITHM_COUNT; ++i) {
    if (now->only != NULL && now->only != &algorithms[i]) continue;
    const etx_status status = try_algorithm(now, r, &algorithms[i]);
    if (status != ETX_OK && (status != ETX_UNSUPPORTED || now->only != NULL)) {
      return status;
    }
    if (r->best_bytes <= r->enough_bytes) break;
  }
  return ETX_OK;
}

// What was proved in rounded sizes says nothing about the padding of the block
// on top, which is less than the smallest alignment. Coarse units, into which
// the bound itself was rounded up, prove nothing.
static uint64_t proved_bytes(const contest* now, const part_contest* r) {
  if (r->part.is_coarse) return r->part.bound_bytes;
  const uint64_t bytes = r->goal.low * r->part.unit;
  const uint64_t padding = etx_plan_granularity(now->problem) - 1;
  const uint64_t proved = bytes > padding ? bytes - padding : 0;
  return proved > r->part.bound_bytes ? proved : r->part.bound_bytes;
}

static etx_status no_plan(const contest* now) {
  return etx_diag_fail(
      now->diag, ETX_BAD_PLAN,
      "planner '%s' found no plan in the %u steps it was given",
      now->only != NULL ? now->only->name : "all", steps_of(now->problem));
}

static etx_status solve_part(contest* now, const etx_plan_partition* part,
                             uint32_t* offsets) {
  part_contest r = {0};
  r.part = *part;
  r.offsets = offsets;
  r.best_bytes = UINT64_MAX;
  r.enough_bytes = r.part.bound_bytes;
  if (now->problem->capacity > r.enough_bytes) {
    r.enough_bytes = now->problem->capacity;
  }
  if (now->arena_bytes > r.enough_bytes) r.enough_bytes = now->arena_bytes;
  r.goal.low = capped(etx_plan_units_ceil(r.part.bound_bytes, r.part.unit));
  r.goal.enough = capped(etx_plan_units_ceil(r.enough_bytes, r.part.unit));
  r.goal.best = ETX_PLAN_CEILING;
  // Each part gets its share, or a hard one would leave nothing for others.
  const uint64_t share =
      now->steps / now->blocks * part->block_count +
      now->steps % now->blocks * part->block_count / now->blocks;
  now->steps -= share;
  now->blocks -= part->block_count;
  r.goal.steps = share;
  ETX_TRY(try_all(now, &r));
  now->steps += r.goal.steps;
  if (r.winner == NULL) return no_plan(now);
  const uint64_t proved = proved_bytes(now, &r);
  if (proved > now->lower_bound) now->lower_bound = proved;
  if (now->winner == NULL || r.best_bytes > now->arena_bytes) {
    now->winner = r.winner;
  }
  // Fixed blocks without bytes may reach higher.
  if (r.best_bytes > now->arena_bytes) now->arena_bytes = r.best_bytes;
  return ETX_OK;
}

static uint32_t by_bound_low(const void* parts, uint32_t i) {
  return ~(uint32_t)((const etx_plan_partitions*)parts)->bound_bytes[i];
}
static uint32_t by_bound_high(const void* parts, uint32_t i) {
  return ~(uint32_t)(((const etx_plan_partitions*)parts)->bound_bytes[i] >> 32);
}

// The part with the largest bound first: the others need only stay below it.
static etx_status solve_parts(contest* now) {
  const size_t mark = etx_arena_mark(now->work);
  uint64_t* scratch = NULL;
  if (!etx_plan_take_u64(now->work, 2 * now->parts.count, &scratch)) {
    return ETX_OUT_OF_MEMORY;
  }
  for (uint32_t i = 0; i < now->parts.count; ++i) now->order[i] = i;
  etx_plan_sort(now->order, now->parts.count, by_bound_low, &now->parts,
                scratch);
  etx_plan_sort(now->order, now->parts.count, by_bound_high, &now->parts,
                scratch);
  etx_arena_rewind(now->work, mark);
  for (uint32_t i = 0; i < now->parts.count; ++i) {
    const uint32_t index = now->order[i];
    const etx_plan_partition part = etx_plan_partitions_at(&now->parts, index);
    ETX_TRY(solve_part(now, &part, &now->best[now->parts.first_block[index]]));
  }
  return ETX_OK;
}

static etx_status check_capacity(const contest* now) {
  const uint64_t capacity = now->problem->capacity;
  if (capacity == 0 || now->arena_bytes <= capacity) return ETX_OK;
  return etx_diag_fail(
      now->diag, ETX_BAD_PLAN,
      "no plan within %u bytes was found: the smallest has %u, and none can "
      "have less than %u",
      capacity, now->arena_bytes, now->lower_bound);
}

static void write_offsets(const contest* now, uint64_t* offsets) {
  const etx_plan_partition* const all = &now->parts.all;
  for (size_t i = 0; i < now->problem->block_count; ++i) {
    const uint64_t fixed = now->problem->blocks[i].fixed;
    offsets[i] = fixed == ETX_PLAN_FREE ? 0 : fixed;
  }
  for (uint32_t b = 0; b < all->block_count; ++b) {
    offsets[all->blocks[b]] = offset_bytes(all, b, now->best[b]);
  }
}

// An overlap of two fixed blocks is the problem's fault; all else is ours.
static etx_status explain(const contest* now,
                          const etx_plan_validation* judgement) {
  const etx_plan_block* const blocks = now->problem->blocks;
  if (judgement->verdict == ETX_PLAN_OVERLAP &&
      blocks[judgement->block].fixed != ETX_PLAN_FREE &&
      blocks[judgement->other].fixed != ETX_PLAN_FREE) {
    return etx_diag_fail(now->diag, ETX_BAD_ARGUMENT,
                         "blocks %z and %z live together and are fixed at the "
                         "same bytes",
                         judgement->block, judgement->other);
  }
  return etx_diag_fail(
      now->diag, ETX_INTERNAL, "a planner made a wrong plan: block %z %s",
      judgement->block, etx_plan_verdict_text(judgement->verdict));
}

static etx_status judge(const contest* now, const etx_plan_solution* solution) {
  etx_plan_validation judgement = {ETX_PLAN_VALID, 0, 0};
  ETX_TRY(etx_plan_validate(now->problem, solution, now->work, &judgement));
  if (judgement.verdict == ETX_PLAN_VALID) return ETX_OK;
  return explain(now, &judgement);
}

static bool take(contest* now) {
  const size_t count = now->problem->block_count;
  return etx_plan_take_u32(now->work, count, &now->best) &&
         etx_plan_take_u32(now->work, count, &now->trial) &&
         etx_plan_take_u32(now->work, count, &now->order) &&
         etx_plan_partitions_take(&now->parts, now->problem, now->work) &&
         etx_plan_bound_partitions(&now->parts, now->work);
}

// Fixed blocks without bytes reach up to their offset, too.
static uint64_t highest_empty(const etx_plan_problem* problem) {
  uint64_t highest = 0;
  for (size_t i = 0; i < problem->block_count; ++i) {
    const etx_plan_block* const block = &problem->blocks[i];
    if (block->size > 0 || block->fixed == ETX_PLAN_FREE) continue;
    if (block->fixed > highest) highest = block->fixed;
  }
  return highest;
}

static etx_status solve(contest* now, etx_plan_solution* solution) {
  if (!take(now)) return ETX_OUT_OF_MEMORY;
  now->steps = steps_of(now->problem);
  now->blocks = now->parts.all.block_count;
  now->arena_bytes = highest_empty(now->problem);
  now->lower_bound = now->arena_bytes;
  if (spans_parts(now->only) && now->blocks > 0) {
    ETX_TRY(solve_part(now, &now->parts.all, now->best));
  } else {
    ETX_TRY(solve_parts(now));
  }
  ETX_TRY(check_capacity(now));
  write_offsets(now, solution->offsets);
  const etx_plan_solution found = {
      solution->offsets, now->arena_bytes, now->lower_bound,
      now->winner == NULL ? algorithms[0].name : now->winner->name,
      steps_of(now->problem) - now->steps};
  ETX_TRY(judge(now, &found));
  *solution = found;
  return ETX_OK;
}

static etx_status find_algorithm(contest* now, const char* name) {
  for (size_t i = 0; i < ALGORITHM_COUNT; ++i) {
    if (etx_text_is(etx_text_of(name), algorithms[i].name)) {
      now->only = &algorithms[i];
      return ETX_OK;
    }
  }
  return etx_diag_fail(now->diag, ETX_NOT_FOUND, "no planner is called '%s'",
                       name);
}

// Failures that only this level can put into words.
static etx_status say(const contest* now, etx_status status) {
  if (status == ETX_OUT_OF_MEMORY) {
    return etx_diag_fail(
        now->diag, status, "planning %z blocks needs %z bytes of memory",
        now->problem->block_count, etx_plan_needed(now->problem));
  }
  if (status == ETX_UNSUPPORTED) {
    return etx_diag_fail(now->diag, status,
                         "planner '%s' cannot do a problem of this kind",
                         now->only->name);
  }
  return status;
}

etx_status etx_plan_solve(const etx_plan_problem* problem,
                          const char* algorithm, etx_arena* work,
                          etx_plan_solution* solution, etx_diag* diag) {
  contest now = {0};
  now.problem = problem;
  now.work = work;
  now.diag = diag;
  ETX_TRY(etx_plan_check(problem, diag));
  if (algorithm != NULL) ETX_TRY(find_algorithm(&now, algorithm));
  const size_t mark = etx_arena_mark(work);
  const etx_status status = solve(&now, solution);
  etx_arena_rewind(work, mark);
  return say(&now, status);
}

static bool count_all(contest* now) {
  const etx_plan_solution none = {0};
  etx_plan_partition part = {0};
  part.problem = now->problem;
  part.block_count = (uint32_t)now->problem->block_count;
  uint64_t* scratch = NULL;
  const size_t mark = etx_arena_mark(now->work);
  if (!etx_plan_take_u64(now->work, 2 * now->problem->block_count, &scratch)) {
    return false;
  }
  etx_arena_rewind(now->work, mark);
  if (etx_plan_validate(now->problem, &none, now->work, NULL) != ETX_OK) {
    return false;
  }
  for (size_t i = 0; i < ALGORITHM_COUNT; ++i) {
    const etx_status status = algorithms[i].run(&part, NULL, now->work, NULL);
    if (status != ETX_OK && status != ETX_UNSUPPORTED) return false;
    etx_arena_rewind(now->work, mark);
  }
  return true;
}

size_t etx_plan_needed(const etx_plan_problem* problem) {
  etx_arena counter;
  contest now = {0};
  etx_arena_init_counting(&counter);
  now.problem = problem;
  now.work = &counter;
  if (problem->block_count > ETX_PLAN_MAX_BLOCKS) return SIZE_MAX;
  if (!take(&now) || !count_all(&now)) return SIZE_MAX;
  return counter.peak_bytes;
}
