// Runs one algorithm or all, judges every result, keeps the smallest.

#include "planner/plan_algorithms.h"

#include <string.h>

#include "format/base/span.h"
#include "planner/plan_bound.h"
#include "planner/plan_check.h"
#include "planner/plan_validate.h"
#include "planner/plan_work.h"

static const etx_plan_algorithm algorithms[] = {
#define ALGORITHM(symbol, sentence) \
  {#symbol, sentence, etx_plan_##symbol##_run},
#include "planner/plan_algorithms.def"
#undef ALGORITHM
};

enum { ALGORITHM_COUNT = sizeof algorithms / sizeof algorithms[0] };

// What a call to etx_plan_solve holds while it runs.
typedef struct contest {
  const etx_plan_problem* problem;
  etx_arena* work;
  etx_diag* diag;
  uint64_t* trial;                   // offsets of the algorithm at work
  uint64_t* best;                    // offsets of the smallest plan so far
  const etx_plan_algorithm* winner;  // NULL: no plan so far
  etx_plan_goal goal;
} contest;

size_t etx_plan_algorithm_count(void) { return ALGORITHM_COUNT; }

const etx_plan_algorithm* etx_plan_algorithm_at(size_t index) {
  return &algorithms[index];
}

static uint64_t highest_end(const etx_plan_problem* problem,
                            const uint64_t* offsets) {
  uint64_t highest = 0;
  for (size_t i = 0; i < problem->block_count; ++i) {
    const uint64_t end = offsets[i] + problem->blocks[i].size;
    if (end > highest) highest = end;
  }
  return highest;
}

// An overlap of two fixed blocks is the problem's fault; all else is ours.
static etx_status explain(const contest* now, const char* name,
                          const etx_plan_judgement* judgement) {
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
      now->diag, ETX_INTERNAL, "planner '%s' made a wrong plan: block %z %s",
      name, judgement->block, etx_plan_verdict_text(judgement->verdict));
}

// Judges the trial apart from the capacity, which is a question of choice.
static etx_status judge_trial(contest* now, const etx_plan_algorithm* algorithm,
                              uint64_t bytes) {
  etx_plan_problem unlimited = *now->problem;
  unlimited.capacity = 0;
  const etx_plan_solution solution = {now->trial, bytes, now->goal.lower_bound,
                                      algorithm->name};
  etx_plan_judgement judgement = {ETX_PLAN_VALID, 0, 0};
  ETX_TRY(etx_plan_validate(&unlimited, &solution, now->work, &judgement));
  if (judgement.verdict == ETX_PLAN_VALID) return ETX_OK;
  return explain(now, algorithm->name, &judgement);
}

static etx_status try_algorithm(contest* now,
                                const etx_plan_algorithm* algorithm) {
  const size_t mark = etx_arena_mark(now->work);
  const etx_status status =
      algorithm->run(now->problem, &now->goal, now->work, now->trial);
  etx_arena_rewind(now->work, mark);
  if (status == ETX_NOT_FOUND) return ETX_OK;
  if (status != ETX_OK) return status;
  const uint64_t bytes = highest_end(now->problem, now->trial);
  ETX_TRY(judge_trial(now, algorithm, bytes));
  if (now->winner != NULL && bytes >= now->goal.best) return ETX_OK;
  uint64_t* const beaten = now->best;
  now->best = now->trial;
  now->trial = beaten;
  now->goal.best = bytes;
  now->winner = algorithm;
  return ETX_OK;
}

static etx_status try_all(contest* now) {
  for (size_t i = 0; i < ALGORITHM_COUNT; ++i) {
    const etx_status status = try_algorithm(now, &algorithms[i]);
    if (status != ETX_OK && status != ETX_UNSUPPORTED) return status;
    if (now->goal.best <= now->goal.enough) break;
  }
  return ETX_OK;
}

static etx_status try_named(contest* now, const char* name) {
  for (size_t i = 0; i < ALGORITHM_COUNT; ++i) {
    if (!etx_text_is(etx_text_of(name), algorithms[i].name)) continue;
    const etx_status status = try_algorithm(now, &algorithms[i]);
    if (status != ETX_UNSUPPORTED) return status;
    return etx_diag_fail(now->diag, status,
                         "planner '%s' cannot do a problem of this kind", name);
  }
  return etx_diag_fail(now->diag, ETX_NOT_FOUND, "no planner is called '%s'",
                       name);
}

static etx_status check_capacity(const contest* now) {
  const uint64_t capacity = now->problem->capacity;
  if (capacity == 0 || now->goal.best <= capacity) return ETX_OK;
  return etx_diag_fail(
      now->diag, ETX_BAD_PLAN,
      "no plan within %u bytes was found: the smallest has %u, and none can "
      "have less than %u",
      capacity, now->goal.best, now->goal.lower_bound);
}

static void set_goal(contest* now) {
  const etx_plan_problem* const problem = now->problem;
  etx_plan_goal* const goal = &now->goal;
  goal->enough = goal->lower_bound;
  if (problem->capacity > goal->enough) goal->enough = problem->capacity;
  goal->best = UINT64_MAX;
  goal->steps = problem->steps == 0 ? ETX_PLAN_STEPS : problem->steps;
}

static etx_status solve(contest* now, const char* algorithm) {
  const size_t count = now->problem->block_count;
  if (!etx_plan_take_u64(now->work, count, &now->trial) ||
      !etx_plan_take_u64(now->work, count, &now->best)) {
    return ETX_OUT_OF_MEMORY;
  }
  ETX_TRY(etx_plan_bound(now->problem, now->work, &now->goal.lower_bound));
  set_goal(now);
  ETX_TRY(algorithm == NULL ? try_all(now) : try_named(now, algorithm));
  return check_capacity(now);
}

static etx_status solve_in_arena(contest* now, const char* algorithm,
                                 etx_plan_solution* solution) {
  const etx_status status = solve(now, algorithm);
  if (status == ETX_OUT_OF_MEMORY) {
    return etx_diag_fail(
        now->diag, status, "planning %z blocks needs %z bytes of memory",
        now->problem->block_count, etx_plan_needed(now->problem));
  }
  if (status != ETX_OK) return status;
  if (now->problem->block_count > 0) {
    memcpy(solution->offsets, now->best,
           now->problem->block_count * sizeof *now->best);
  }
  solution->arena_bytes = now->goal.best;
  solution->lower_bound = now->goal.lower_bound;
  solution->algorithm = now->winner->name;
  return ETX_OK;
}

etx_status etx_plan_solve(const etx_plan_problem* problem,
                          const char* algorithm, etx_arena* work,
                          etx_plan_solution* solution, etx_diag* diag) {
  contest now = {0};
  now.problem = problem;
  now.work = work;
  now.diag = diag;
  ETX_TRY(etx_plan_check(problem, diag));
  const size_t mark = etx_arena_mark(work);
  const etx_status status = solve_in_arena(&now, algorithm, solution);
  etx_arena_rewind(work, mark);
  return status;
}

static bool count_all(const etx_plan_problem* problem, etx_arena* counter) {
  const etx_plan_solution none = {0};
  const size_t mark = etx_arena_mark(counter);
  if (etx_plan_bound(problem, counter, NULL) != ETX_OK) return false;
  if (etx_plan_validate(problem, &none, counter, NULL) != ETX_OK) return false;
  for (size_t i = 0; i < ALGORITHM_COUNT; ++i) {
    const etx_status status = algorithms[i].run(problem, NULL, counter, NULL);
    if (status != ETX_OK && status != ETX_UNSUPPORTED) return false;
    etx_arena_rewind(counter, mark);
  }
  return true;
}

size_t etx_plan_needed(const etx_plan_problem* problem) {
  etx_arena counter;
  uint64_t* offsets = NULL;
  etx_arena_init_counting(&counter);
  if (!etx_plan_take_u64(&counter, problem->block_count, &offsets) ||
      !etx_plan_take_u64(&counter, problem->block_count, &offsets) ||
      !count_all(problem, &counter)) {
    return SIZE_MAX;
  }
  return counter.peak_bytes;
}
