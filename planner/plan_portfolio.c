// Runs one algorithm or all of them over each part, keeps the smallest plan of
// each part, and validates the whole plan.

#include "planner/plan_portfolio.h"

#include <string.h>

#include "format/base/reachability.h"
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

// The state of a call to etx_plan_solve.
typedef struct portfolio {
  const etx_plan_problem* problem;
  const etx_plan_algorithm* only;  // the one to run, or NULL
  etx_arena* work;
  etx_diag* diag;
  etx_plan_partitions parts;
  uint32_t* order;  // parts, the largest bound first
  uint32_t* trial;  // offsets of the algorithm that runs
  uint32_t* best;   // offset of each block in the best plan
  uint64_t arena_bytes;
  uint64_t lower_bound;
  uint64_t steps;                    // left
  uint64_t blocks;                   // of the parts not yet solved
  const etx_plan_algorithm* winner;  // of the part that is largest so far
} portfolio;

size_t etx_plan_algorithm_count(void) { return ALGORITHM_COUNT; }

const etx_plan_algorithm* etx_plan_algorithm_at(size_t index) {
  return &algorithms[index];
}

// The naive plan reuses no bytes between parts either, so it runs over all of
// them.
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

// The state of solving one part.
typedef struct part_solver {
  etx_plan_partition part;
  etx_plan_goal goal;
  uint32_t* offsets;      // of the best plan, in portfolio.best
  uint64_t best_bytes;    // of it; UINT64_MAX: none so far
  uint64_t enough_bytes;  // a plan of this size ends the search
  const etx_plan_algorithm* winner;
} part_solver;

// Mirrors the plan, so that another block is topmost, perhaps one with more
// padding. False if alignments or fixed offsets forbid it.
static bool mirror_plan(const etx_plan_partition* part, uint32_t* offsets) {
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

// Leaves in `trial` the smaller of the plan and its mirror image; returns its
// bytes.
static uint64_t choose_orientation(const portfolio* self,
                                   const part_solver* r) {
  const uint64_t bytes = highest_end(&r->part, self->trial);
  if (bytes <= r->enough_bytes || r->part.is_coarse ||
      !mirror_plan(&r->part, self->trial)) {
    return bytes;
  }
  const uint64_t mirrored = highest_end(&r->part, self->trial);
  if (mirrored < bytes) return mirrored;
  (void)mirror_plan(&r->part, self->trial);
  return bytes;
}

static etx_status try_algorithm(portfolio* self, part_solver* r,
                                const etx_plan_algorithm* algorithm) {
  const size_t mark = etx_arena_mark(self->work);
  const etx_status status =
      algorithm->run(&r->part, &r->goal, self->work, self->trial);
  etx_arena_rewind(self->work, mark);
  if (status == ETX_NOT_FOUND) return ETX_OK;
  if (status != ETX_OK) return status;
  const uint64_t bytes = choose_orientation(self, r);
  if (bytes >= r->best_bytes) return ETX_OK;
  memcpy(r->offsets, self->trial, r->part.block_count * sizeof *r->offsets);
  r->best_bytes = bytes;
  r->goal.best = capped(etx_plan_units_ceil(bytes, r->part.unit));
  // A plan of the same number of units may still be smaller by the padding of
  // its topmost block.
  if (bytes > r->enough_bytes && r->goal.best == r->goal.enough) {
    r->goal.best += 1;
  }
  r->winner = algorithm;
  return ETX_OK;
}

static etx_status try_all(portfolio* self, part_solver* r) {
  for (size_t i = 0; i < ALGORITHM_COUNT; ++i) {
    if (self->only != NULL && self->only != &algorithms[i]) continue;
    const etx_status status = try_algorithm(self, r, &algorithms[i]);
    if (status != ETX_OK && (status != ETX_UNSUPPORTED || self->only != NULL)) {
      return status;
    }
    if (r->best_bytes <= r->enough_bytes) break;
  }
  return ETX_OK;
}

// The bound in bytes that the algorithms proved. They use sizes rounded up to
// units, so the padding of the topmost block, less than the smallest alignment,
// has to be subtracted. Coarse units prove nothing, because the bound itself
// was rounded up.
static uint64_t proved_bytes(const portfolio* self, const part_solver* r) {
  if (r->part.is_coarse) return r->part.bound_bytes;
  const uint64_t bytes = r->goal.low * r->part.unit;
  const uint64_t padding = etx_plan_granularity(self->problem) - 1;
  // A part has at least one unit, which is at least the smallest alignment.
  const uint64_t proved = ETX_ALWAYS(bytes > padding) ? bytes - padding : 0;
  return proved > r->part.bound_bytes ? proved : r->part.bound_bytes;
}

static etx_status no_plan(const portfolio* self) {
  return etx_diag_fail(
      self->diag, ETX_BAD_PLAN,
      "planner '%s' found no plan in the %u steps it was given",
      self->only != NULL ? self->only->name : "all", steps_of(self->problem));
}

static etx_status solve_part(portfolio* self, const etx_plan_partition* part,
                             uint32_t* offsets) {
  part_solver r = {0};
  r.part = *part;
  r.offsets = offsets;
  r.best_bytes = UINT64_MAX;
  r.enough_bytes = r.part.bound_bytes;
  if (self->problem->capacity > r.enough_bytes) {
    r.enough_bytes = self->problem->capacity;
  }
  if (self->arena_bytes > r.enough_bytes) r.enough_bytes = self->arena_bytes;
  r.goal.low = capped(etx_plan_units_ceil(r.part.bound_bytes, r.part.unit));
  r.goal.enough = capped(etx_plan_units_ceil(r.enough_bytes, r.part.unit));
  r.goal.best = ETX_PLAN_CEILING;
  // Each part gets its share of the steps, so that a hard part leaves some for
  // the others.
  const uint64_t share =
      self->steps / self->blocks * part->block_count +
      self->steps % self->blocks * part->block_count / self->blocks;
  self->steps -= share;
  self->blocks -= part->block_count;
  r.goal.steps = share;
  ETX_TRY(try_all(self, &r));
  self->steps += r.goal.steps;
  if (r.winner == NULL) return no_plan(self);
  const uint64_t proved = proved_bytes(self, &r);
  if (proved > self->lower_bound) self->lower_bound = proved;
  if (self->winner == NULL || r.best_bytes > self->arena_bytes) {
    self->winner = r.winner;
  }
  // An empty fixed block may already have made the arena larger.
  if (r.best_bytes > self->arena_bytes) self->arena_bytes = r.best_bytes;
  return ETX_OK;
}

static uint32_t by_bound_low(const void* parts, uint32_t i) {
  return ~(uint32_t)((const etx_plan_partitions*)parts)->bound_bytes[i];
}
static uint32_t by_bound_high(const void* parts, uint32_t i) {
  return ~(uint32_t)(((const etx_plan_partitions*)parts)->bound_bytes[i] >> 32);
}

// Solves the part with the largest bound first: the others only have to fit
// into its arena.
static etx_status solve_parts(portfolio* self) {
  const size_t mark = etx_arena_mark(self->work);
  uint64_t* scratch = NULL;
  if (!etx_plan_take_u64(self->work, 2 * self->parts.count, &scratch)) {
    return ETX_OUT_OF_MEMORY;
  }
  for (uint32_t i = 0; i < self->parts.count; ++i) self->order[i] = i;
  etx_plan_sort(self->order, self->parts.count, by_bound_low, &self->parts,
                scratch);
  etx_plan_sort(self->order, self->parts.count, by_bound_high, &self->parts,
                scratch);
  etx_arena_rewind(self->work, mark);
  for (uint32_t i = 0; i < self->parts.count; ++i) {
    const uint32_t index = self->order[i];
    const etx_plan_partition part = etx_plan_partitions_at(&self->parts, index);
    ETX_TRY(
        solve_part(self, &part, &self->best[self->parts.first_block[index]]));
  }
  return ETX_OK;
}

// Offsets are int64 where they are stored. Sizes are rounded up to a common
// unit, so blocks whose sum is less may need more.
static etx_status check_capacity(const portfolio* self) {
  const uint64_t capacity = self->problem->capacity;
  if (self->arena_bytes > INT64_MAX) {
    return etx_diag_fail(self->diag, ETX_BAD_ARGUMENT,
                         "the blocks take %u bytes, expected less than 2^63",
                         self->arena_bytes);
  }
  if (capacity == 0 || self->arena_bytes <= capacity) return ETX_OK;
  return etx_diag_fail(
      self->diag, ETX_BAD_PLAN,
      "no plan within %u bytes was found: the smallest has %u, and none can "
      "have less than %u",
      capacity, self->arena_bytes, self->lower_bound);
}

static void write_offsets(const portfolio* self, uint64_t* offsets) {
  const etx_plan_partition* const all = &self->parts.all;
  for (size_t i = 0; i < self->problem->block_count; ++i) {
    const uint64_t fixed = self->problem->blocks[i].fixed;
    offsets[i] = fixed == ETX_PLAN_FREE ? 0 : fixed;
  }
  for (uint32_t b = 0; b < all->block_count; ++b) {
    offsets[all->blocks[b]] = offset_bytes(all, b, self->best[b]);
  }
}

// Two fixed blocks that overlap are an error of the problem. Everything else is
// a bug of the planner.
static etx_status report_invalid(const portfolio* self,
                                 const etx_plan_validation* validation) {
  const etx_plan_block* const blocks = self->problem->blocks;
  if (ETX_ALWAYS(validation->verdict == ETX_PLAN_OVERLAP &&
                 blocks[validation->block].fixed != ETX_PLAN_FREE &&
                 blocks[validation->other].fixed != ETX_PLAN_FREE)) {
    return etx_diag_fail(self->diag, ETX_BAD_ARGUMENT,
                         "blocks %z and %z are live together and fixed at the "
                         "same bytes",
                         validation->block, validation->other);
  }
  return etx_diag_fail(
      self->diag, ETX_INTERNAL, "a planner made an invalid plan: block %z %s",
      validation->block, etx_plan_verdict_text(validation->verdict));
}

static etx_status validate(const portfolio* self,
                           const etx_plan_solution* solution) {
  etx_plan_validation validation = {ETX_PLAN_VALID, 0, 0};
  ETX_TRY(etx_plan_validate(self->problem, solution, self->work, &validation));
  if (validation.verdict == ETX_PLAN_VALID) return ETX_OK;
  return report_invalid(self, &validation);
}

static bool take(portfolio* self) {
  const size_t count = self->problem->block_count;
  return etx_plan_take_u32(self->work, count, &self->best) &&
         etx_plan_take_u32(self->work, count, &self->trial) &&
         etx_plan_take_u32(self->work, count, &self->order) &&
         etx_plan_partitions_take(&self->parts, self->problem, self->work) &&
         etx_plan_bound_partitions(&self->parts, self->work);
}

// The largest offset of an empty fixed block, which the arena must include.
static uint64_t highest_empty(const etx_plan_problem* problem) {
  uint64_t highest = 0;
  for (size_t i = 0; i < problem->block_count; ++i) {
    const etx_plan_block* const block = &problem->blocks[i];
    if (block->size > 0 || block->fixed == ETX_PLAN_FREE) continue;
    if (block->fixed > highest) highest = block->fixed;
  }
  return highest;
}

static etx_status solve(portfolio* self, etx_plan_solution* solution) {
  if (!take(self)) return ETX_OUT_OF_MEMORY;
  self->steps = steps_of(self->problem);
  self->blocks = self->parts.all.block_count;
  self->arena_bytes = highest_empty(self->problem);
  self->lower_bound = self->arena_bytes;
  if (spans_parts(self->only) && self->blocks > 0) {
    ETX_TRY(solve_part(self, &self->parts.all, self->best));
  } else {
    ETX_TRY(solve_parts(self));
  }
  ETX_TRY(check_capacity(self));
  write_offsets(self, solution->offsets);
  const etx_plan_solution found = {
      solution->offsets, self->arena_bytes, self->lower_bound,
      self->winner == NULL ? algorithms[0].name : self->winner->name,
      steps_of(self->problem) - self->steps};
  ETX_TRY(validate(self, &found));
  *solution = found;
  return ETX_OK;
}

static etx_status find_algorithm(portfolio* self, const char* name) {
  for (size_t i = 0; i < ALGORITHM_COUNT; ++i) {
    if (etx_text_is(etx_text_of(name), algorithms[i].name)) {
      self->only = &algorithms[i];
      return ETX_OK;
    }
  }
  return etx_diag_fail(self->diag, ETX_NOT_FOUND, "there is no planner '%s'",
                       name);
}

// Adds messages to failures of lower levels.
static etx_status describe_failure(const portfolio* self, etx_status status) {
  if (status == ETX_OUT_OF_MEMORY) {
    return etx_diag_fail(
        self->diag, status, "planning %z blocks needs %z bytes of memory",
        self->problem->block_count, etx_plan_needed(self->problem));
  }
  if (status == ETX_UNSUPPORTED) {
    return etx_diag_fail(self->diag, status,
                         "planner '%s' does not support fixed offsets, or this "
                         "number of blocks or these alignments",
                         self->only->name);
  }
  return status;
}

etx_status etx_plan_solve(const etx_plan_problem* problem,
                          const char* algorithm, etx_arena* work,
                          etx_plan_solution* solution, etx_diag* diag) {
  portfolio self = {0};
  self.problem = problem;
  self.work = work;
  self.diag = diag;
  ETX_TRY(etx_plan_check(problem, diag));
  if (algorithm != NULL) ETX_TRY(find_algorithm(&self, algorithm));
  const size_t mark = etx_arena_mark(work);
  const etx_status status = solve(&self, solution);
  etx_arena_rewind(work, mark);
  return describe_failure(&self, status);
}

// Measures the memory of the validator and of every algorithm.
static bool count_all(portfolio* self) {
  const etx_plan_solution none = {0};
  etx_plan_partition part = {0};
  part.problem = self->problem;
  part.block_count = (uint32_t)self->problem->block_count;
  uint64_t* scratch = NULL;
  const size_t mark = etx_arena_mark(self->work);
  bool fits =
      etx_plan_take_u64(self->work, 2 * self->problem->block_count, &scratch);
  etx_arena_rewind(self->work, mark);
  fits &= etx_plan_validate(self->problem, &none, self->work, NULL) == ETX_OK;
  for (size_t i = 0; i < ALGORITHM_COUNT; ++i) {
    fits &= algorithms[i].run(&part, NULL, self->work, NULL) == ETX_OK;
    etx_arena_rewind(self->work, mark);
  }
  return fits;
}

size_t etx_plan_needed(const etx_plan_problem* problem) {
  etx_arena counter;
  portfolio self = {0};
  etx_arena_init_counting(&counter);
  self.problem = problem;
  self.work = &counter;
  if (problem->block_count > ETX_PLAN_MAX_BLOCKS) return SIZE_MAX;
  bool fits = take(&self);
  fits &= count_all(&self);
  return ETX_NEVER_IF_WIDE(!fits) ? SIZE_MAX : counter.peak_bytes;
}
