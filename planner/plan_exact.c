// The smallest arena, by asking whether a plan of so many units exists. How
// long an answer takes depends wildly on the capacity and on the order in which
// blocks are tried, so many questions get a little time before any gets much:
//
//   sweep   every few capacities from the smallest plan down, a short while
//   each insist  on the bound, where most problems end, with allowances that
//   double sweep   again with the steps that are left, allowances doubling
//
// A question that takes too long is dropped without proof. Sizes are rounded up
// to the smallest alignment, so the arena is the smallest but for less than
// that.

#include "planner/plan_algorithms.h"
#include "planner/plan_check.h"
#include "planner/plan_search.h"
#include "planner/plan_sections.h"
#include "planner/plan_work.h"

enum {
  FIRST_STEPS_PER_BLOCK = 4,  // the first allowance
  SWEEP_STOPS = 16,           // capacities that a sweep asks for
  INSISTENCE = 3              // this part of the steps goes to the bound
};

typedef struct hunt {
  const etx_plan_problem* problem;
  etx_plan_sections sections;
  etx_plan_search search;
  uint64_t low;     // units; no plan is sought below
  uint64_t high;    // units; only plans below are sought
  bool has_found;   // a plan has been written
  bool has_proved;  // no plan has less than `low`
} hunt;

static uint64_t units_up(uint64_t bytes, uint64_t unit) {
  return bytes / unit + (bytes % unit != 0);
}

// Units up to the top of the plan that was found.
static uint64_t top_units(const etx_plan_canonical* plan) {
  uint64_t top = 0;
  for (uint32_t b = 0; b < plan->block_count; ++b) {
    const uint64_t end = (uint64_t)plan->offset[b] + plan->size[b];
    if (end > top) top = end;
  }
  return top;
}

static void keep_plan(hunt* h, uint64_t* offsets) {
  const etx_plan_canonical* const plan = &h->search.plan;
  for (size_t i = 0; i < h->problem->block_count; ++i) offsets[i] = 0;
  for (uint32_t b = 0; b < plan->block_count; ++b) {
    offsets[plan->blocks[b]] = plan->offset[b] * plan->unit;
  }
  h->high = top_units(plan);
  h->has_found = true;
}

// Asks for one capacity with all orders in turn, each for `allowance` steps.
static etx_plan_answer ask(hunt* h, uint64_t capacity, uint64_t allowance,
                           uint64_t* steps, uint64_t* offsets) {
  for (size_t order = 0; order < ETX_PLAN_SEARCH_ORDERS; ++order) {
    const uint64_t given = allowance < *steps ? allowance : *steps;
    uint64_t left = given;
    const etx_plan_answer answer =
        etx_plan_search_run(&h->search, capacity, order, &left);
    *steps -= given - left;
    if (answer == ETX_PLAN_UNDECIDED) continue;
    if (answer == ETX_PLAN_POSSIBLE) {
      keep_plan(h, offsets);
    } else {
      h->low = capacity + 1;
      h->has_proved = true;
    }
    return answer;
  }
  return ETX_PLAN_UNDECIDED;
}

// Asks for the lowest capacity until it is possible or the steps are spent; if
// it is proved impossible, for the next.
static void insist(hunt* h, uint64_t* steps, uint64_t* offsets) {
  uint64_t allowance = FIRST_STEPS_PER_BLOCK * h->sections.block_count;
  while (*steps > 0 && h->low < h->high) {
    if (ask(h, h->low, allowance, steps, offsets) == ETX_PLAN_POSSIBLE) return;
    allowance *= 2;
  }
}

// Asks for capacities from the smallest plan down to the bound.
static void sweep(hunt* h, uint64_t allowance, uint64_t* steps,
                  uint64_t* offsets) {
  const uint64_t stride = (h->high - h->low) / SWEEP_STOPS + 1;
  uint64_t capacity = h->high - 1;
  while (*steps > 0 && h->low < h->high) {
    const etx_plan_answer answer = ask(h, capacity, allowance, steps, offsets);
    if (answer == ETX_PLAN_IMPOSSIBLE || capacity - h->low < stride) return;
    capacity = answer == ETX_PLAN_POSSIBLE ? h->high - 1 : capacity - stride;
  }
}

static void hunt_down(hunt* h, uint64_t* steps, uint64_t* offsets) {
  uint64_t allowance = FIRST_STEPS_PER_BLOCK * h->sections.block_count;
  sweep(h, allowance, steps, offsets);
  uint64_t share = *steps / INSISTENCE;
  *steps -= share;
  insist(h, &share, offsets);
  *steps += share;
  while (*steps > 0 && h->low < h->high) {
    allowance *= 2;
    sweep(h, allowance, steps, offsets);
  }
}

// A plan as good as none is known: whatever rests on others will do.
static void find_any(hunt* h, uint64_t* steps, uint64_t* offsets) {
  h->high = h->search.plan.stack;
  (void)ask(h, h->high, *steps, steps, offsets);
}

// A proof in rounded sizes says nothing about the padding of the top block.
static void raise_bound(const hunt* h, etx_plan_goal* goal) {
  const uint64_t bytes = h->low * h->search.plan.unit;
  const uint64_t padding = h->sections.step - 1;
  if (!h->has_proved || bytes <= padding) return;
  if (bytes - padding > goal->lower_bound) {
    goal->lower_bound = bytes - padding;
  }
}

etx_status etx_plan_exact_run(const etx_plan_problem* problem,
                              etx_plan_goal* goal, etx_arena* work,
                              uint64_t* offsets) {
  hunt h = {0};
  h.problem = problem;
  if (!work->counting && etx_plan_has_fixed(problem)) return ETX_UNSUPPORTED;
  if (!etx_plan_sections_take(&h.sections, problem, work) ||
      !etx_plan_search_take(&h.search, problem->block_count, work)) {
    return ETX_OUT_OF_MEMORY;
  }
  if (work->counting) return ETX_OK;
  if (!etx_plan_canonical_read(&h.search.plan, problem, &h.sections)) {
    return ETX_UNSUPPORTED;
  }
  const uint64_t unit = h.search.plan.unit;
  h.low = units_up(goal->enough, unit);
  h.high = units_up(goal->best, unit);
  if (goal->best == UINT64_MAX) find_any(&h, &goal->steps, offsets);
  if (problem->capacity == 0) {
    hunt_down(&h, &goal->steps, offsets);
  } else {
    if (h.high > h.low) h.high = h.low + 1;
    insist(&h, &goal->steps, offsets);
  }
  raise_bound(&h, goal);
  return h.has_found ? ETX_OK : ETX_NOT_FOUND;
}
