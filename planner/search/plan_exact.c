// The smallest arena, by asking whether a plan of so many units exists. How
// long an answer takes depends wildly on the capacity and on the order in which
// blocks are tried, so many questions get a little time before any gets much.
//
// First it insists on the bound, where most problems end, with allowances that
// quadruple: an order that is asked again repeats itself first. Then it sweeps:
// every few capacities from the smallest plan down, until some in a row gave no
// answer. It asks for the bound once more, and does both again with twice the
// allowance until the steps are spent.
//
// A question that takes too long is dropped without proof. Sizes are rounded up
// to the smallest alignment, so the arena is the smallest but for less than
// that.

#include "planner/algorithms/plan_algorithm.h"

#include <string.h>

#include "planner/search/plan_search.h"

enum {
  FIRST_STEPS_PER_BLOCK = 4,  // the first allowance
  BLOCKS_PER_STEP = 16,       // that a question has to lay out
  SWEEP_STOPS = 48,           // capacities between the smallest plan and bound
  SWEEP_FAILURES = 4,         // in a row that end a sweep
  EARLY_INSISTENCE = 4        // this part of the steps goes to the bound first
};

typedef struct hunt {
  etx_plan_search search;
  etx_plan_goal* goal;  // only plans below its best are sought
  uint32_t low;         // and none below this
  uint32_t* offsets;    // of the best plan found
  bool has_found;       // one has been written
  // Orders, the one that found a plan last first.
  size_t orders[ETX_PLAN_SEARCH_ORDERS];
} hunt;

static void keep_plan(hunt* h) {
  const etx_canonical_plan* const plan = &h->search.plan;
  uint32_t top = 0;
  for (uint32_t b = 0; b < plan->block_count; ++b) {
    const uint32_t end = plan->offset[b] + plan->size[b];
    if (end > top) top = end;
  }
  memcpy(h->offsets, plan->offset, plan->block_count * sizeof *h->offsets);
  h->goal->best = top;
  h->has_found = true;
}

static uint64_t twice(uint64_t allowance) {
  return allowance > UINT64_MAX / 2 ? allowance : 2 * allowance;
}

// Asks for one capacity with one order. To begin costs some, so that easy
// answers come to an end, too.
static etx_plan_answer ask_order(hunt* h, uint32_t capacity, size_t order,
                                 uint64_t allowance, uint64_t* steps) {
  const uint64_t start = 1 + h->search.plan.block_count / BLOCKS_PER_STEP;
  if (!etx_plan_may_continue(h->search.plan.part, steps)) {
    return ETX_PLAN_UNDECIDED;
  }
  *steps -= start < *steps ? start : *steps;
  const uint64_t given = allowance < *steps ? allowance : *steps;
  uint64_t left = given;
  const etx_plan_answer answer =
      etx_plan_search_run(&h->search, capacity, order, &left);
  *steps -= given - left;
  if (answer == ETX_PLAN_POSSIBLE) keep_plan(h);
  if (answer == ETX_PLAN_IMPOSSIBLE) h->low = capacity + 1;
  return answer;
}

// With all orders in turn, each for `allowance` steps.
static etx_plan_answer ask(hunt* h, uint32_t capacity, uint64_t allowance,
                           uint64_t* steps) {
  for (size_t order = 0; order < ETX_PLAN_SEARCH_ORDERS; ++order) {
    const etx_plan_answer answer =
        ask_order(h, capacity, order, allowance, steps);
    if (answer != ETX_PLAN_UNDECIDED) return answer;
  }
  return ETX_PLAN_UNDECIDED;
}

// The same, each for half as many steps as the one before: what found the last
// plan often finds the next, but no order does so for long.
static etx_plan_answer ask_favourites(hunt* h, uint32_t capacity,
                                      uint64_t allowance, uint64_t* steps) {
  for (size_t i = 0; i < ETX_PLAN_SEARCH_ORDERS; ++i) {
    const size_t order = h->orders[i];
    const etx_plan_answer answer =
        ask_order(h, capacity, order, allowance >> i, steps);
    if (answer == ETX_PLAN_UNDECIDED) continue;
    if (answer == ETX_PLAN_POSSIBLE) {
      memmove(&h->orders[1], &h->orders[0], i * sizeof h->orders[0]);
      h->orders[0] = order;
    }
    return answer;
  }
  return ETX_PLAN_UNDECIDED;
}

// Where no plan is known, whatever rests on others will do; it is found without
// a wrong turn, so a part gets it though others have spent the steps.
static void find_any(hunt* h) {
  uint64_t steps = UINT64_MAX;
  if (etx_plan_search_run(&h->search, ETX_PLAN_CEILING - 1, 0, &steps) ==
      ETX_PLAN_POSSIBLE) {
    keep_plan(h);
  }
}

static uint64_t first_allowance(const hunt* h) {
  return FIRST_STEPS_PER_BLOCK * (uint64_t)h->search.plan.block_count;
}

// Asks for the lowest capacity until it is possible or the steps are spent; if
// it is proved impossible, for the next.
static void insist(hunt* h, uint64_t* steps) {
  uint64_t allowance = first_allowance(h);
  while (*steps > 0 && h->low < h->goal->best) {
    if (ask(h, h->low, allowance, steps) == ETX_PLAN_POSSIBLE) return;
    allowance = twice(twice(allowance));
  }
}

// Asks for capacities from the smallest plan down towards the bound.
static void sweep(hunt* h, uint64_t allowance, uint64_t* steps) {
  const uint32_t stride = (h->goal->best - h->low) / SWEEP_STOPS + 1;
  uint32_t capacity = h->goal->best - 1;
  size_t failures = 0;
  while (*steps > 0 && h->low < h->goal->best && failures < SWEEP_FAILURES) {
    const etx_plan_answer answer =
        ask_favourites(h, capacity, allowance, steps);
    if (answer == ETX_PLAN_IMPOSSIBLE) return;
    if (answer == ETX_PLAN_POSSIBLE) {
      capacity = h->goal->best - 1;
      failures = 0;
      continue;
    }
    if (capacity - h->low < stride) return;
    capacity -= stride;
    failures += 1;
  }
}

// Asks for the capacity that is enough, and for no other.
static void ask_once(hunt* h) {
  const uint32_t best = h->goal->best;
  if (best > h->low + 1) h->goal->best = h->low + 1;
  insist(h, &h->goal->steps);
  if (!h->has_found) h->goal->best = best;
}

// Most problems end here soon or not at all.
static void insist_early(hunt* h) {
  uint64_t share = h->goal->steps / EARLY_INSISTENCE;
  const uint64_t most = ETX_PLAN_STEPS / EARLY_INSISTENCE;
  if (share > most) share = most;
  h->goal->steps -= share;
  insist(h, &share);
  h->goal->steps += share;
}

static void hunt_down(hunt* h) {
  uint64_t* const steps = &h->goal->steps;
  uint64_t allowance = first_allowance(h);
  for (size_t i = 0; i < ETX_PLAN_SEARCH_ORDERS; ++i) h->orders[i] = i;
  insist_early(h);
  while (*steps > 0 && h->low < h->goal->best) {
    sweep(h, allowance, steps);
    if (h->low < h->goal->best) (void)ask(h, h->low, allowance, steps);
    allowance = twice(allowance);
  }
}

etx_status etx_plan_exact_run(const etx_plan_partition* part,
                              etx_plan_goal* goal, etx_arena* work,
                              uint32_t* offsets) {
  hunt h = {0};
  h.goal = goal;
  h.offsets = offsets;
  if (!work->counting &&
      (part->has_fixed || part->block_count > ETX_CANONICAL_PLAN_MAX_BLOCKS)) {
    return ETX_UNSUPPORTED;
  }
  if (!etx_plan_search_take(&h.search, part, work)) return ETX_OUT_OF_MEMORY;
  if (work->counting) return ETX_OK;
  if (!etx_canonical_plan_read(&h.search.plan, part)) return ETX_UNSUPPORTED;
  h.low = goal->enough;
  if (goal->best == ETX_PLAN_CEILING) find_any(&h);
  if (part->problem->capacity == 0) {
    hunt_down(&h);
  } else {
    ask_once(&h);
  }
  // Coarse units say nothing about finer ones.
  if (!part->is_coarse && h.low > goal->enough && h.low > goal->low) {
    goal->low = h.low;
  }
  return h.has_found ? ETX_OK : ETX_NOT_FOUND;
}
