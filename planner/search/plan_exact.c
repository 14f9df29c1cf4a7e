// The exact algorithm: searches for the smallest capacity for which a plan
// exists (plan_search.h). The time of one search varies extremely with the
// capacity and the order in which blocks are tried. So many searches get a
// small allowance of steps before any gets a large one.
//
// First it tries the lower bound, which succeeds for most problems, with
// allowances that grow by a factor of four (a search starts from scratch each
// time). Then it sweeps from the best plan down to the bound in a few
// capacities, until several in a row are undecided, and tries the bound again.
// Both are repeated with twice the allowance until the steps are spent.
//
// A search that exceeds its allowance proves nothing. Sizes are rounded up to
// the smallest alignment, so the arena is the smallest up to less than that.

#include "planner/algorithms/plan_algorithm.h"

#include <string.h>

#include "format/base/reachability.h"
#include "planner/search/plan_search.h"

enum {
  FIRST_STEPS_PER_BLOCK = 4,  // the first allowance
  BLOCKS_PER_STEP = 16,       // cost of starting a search
  SWEEP_STOPS = 48,           // capacities between the best plan and the bound
  SWEEP_FAILURES = 4,         // undecided searches in a row that end a sweep
  EARLY_SHARE = 4             // a quarter of the steps goes to the bound first
};

typedef struct exact_search {
  etx_plan_search search;
  etx_plan_goal* goal;  // goal->best is the arena of the best plan
  uint32_t low;         // no plan has fewer units
  uint32_t* offsets;    // of the best plan found
  bool has_found;       // `offsets` has been written
  // Orders, the most recently successful first.
  size_t orders[ETX_PLAN_SEARCH_ORDERS];
} exact_search;

static void keep_plan(exact_search* h) {
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

// Searches one capacity with one order. Starting costs some steps, so that
// cheap searches use up the steps too.
static etx_plan_answer search_order(exact_search* h, uint32_t capacity,
                                    size_t order, uint64_t allowance,
                                    uint64_t* steps) {
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

// Searches with each order in turn, each with `allowance` steps.
static etx_plan_answer search_all_orders(exact_search* h, uint32_t capacity,
                                         uint64_t allowance, uint64_t* steps) {
  for (size_t order = 0; order < ETX_PLAN_SEARCH_ORDERS; ++order) {
    const etx_plan_answer answer =
        search_order(h, capacity, order, allowance, steps);
    if (answer != ETX_PLAN_UNDECIDED) return answer;
  }
  return ETX_PLAN_UNDECIDED;
}

// Searches with all orders, each with half the steps of the one before. The
// order that found the last plan comes first, because it often finds the next
// one.
static etx_plan_answer search_recent_orders(exact_search* h, uint32_t capacity,
                                            uint64_t allowance,
                                            uint64_t* steps) {
  for (size_t i = 0; i < ETX_PLAN_SEARCH_ORDERS; ++i) {
    const size_t order = h->orders[i];
    const etx_plan_answer answer =
        search_order(h, capacity, order, allowance >> i, steps);
    if (answer == ETX_PLAN_UNDECIDED) continue;
    if (answer == ETX_PLAN_POSSIBLE) {
      memmove(&h->orders[1], &h->orders[0], i * sizeof h->orders[0]);
      h->orders[0] = order;
    }
    return answer;
  }
  return ETX_PLAN_UNDECIDED;
}

// Finds any plan, if none is known yet. With unlimited capacity the search
// never has to backtrack, so this works even if no steps are left.
static void find_any(exact_search* h) {
  uint64_t steps = UINT64_MAX;
  if (etx_plan_search_run(&h->search, ETX_PLAN_CEILING - 1, 0, &steps) ==
      ETX_PLAN_POSSIBLE) {
    keep_plan(h);
  }
}

static uint64_t first_allowance(const exact_search* h) {
  return FIRST_STEPS_PER_BLOCK * (uint64_t)h->search.plan.block_count;
}

// Searches the lowest capacity with growing allowances until a plan is found or
// the steps are spent. If it is proved impossible, continues with the next one.
static void search_bound(exact_search* h, uint64_t* steps) {
  uint64_t allowance = first_allowance(h);
  while (*steps > 0 && h->low < h->goal->best) {
    if (search_all_orders(h, h->low, allowance, steps) == ETX_PLAN_POSSIBLE)
      return;
    allowance = twice(twice(allowance));
  }
}

// Searches capacities from the best plan down towards the bound.
static void sweep(exact_search* h, uint64_t allowance, uint64_t* steps) {
  const uint32_t stride = (h->goal->best - h->low) / SWEEP_STOPS + 1;
  uint32_t capacity = h->goal->best - 1;
  size_t failures = 0;
  while (*steps > 0 && h->low < h->goal->best && failures < SWEEP_FAILURES) {
    const etx_plan_answer answer =
        search_recent_orders(h, capacity, allowance, steps);
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

// Searches only the capacity that is enough.
static void search_capacity(exact_search* h) {
  const uint32_t best = h->goal->best;
  if (best > h->low + 1) h->goal->best = h->low + 1;
  search_bound(h, &h->goal->steps);
  if (!h->has_found) h->goal->best = best;
}

// Searches the bound with a share of the steps. Most problems are solved here.
static void search_bound_early(exact_search* h) {
  uint64_t share = h->goal->steps / EARLY_SHARE;
  const uint64_t most = ETX_PLAN_STEPS / EARLY_SHARE;
  if (share > most) share = most;
  h->goal->steps -= share;
  search_bound(h, &share);
  h->goal->steps += share;
}

static void search_smallest(exact_search* h) {
  uint64_t* const steps = &h->goal->steps;
  uint64_t allowance = first_allowance(h);
  for (size_t i = 0; i < ETX_PLAN_SEARCH_ORDERS; ++i) h->orders[i] = i;
  search_bound_early(h);
  while (*steps > 0 && h->low < h->goal->best) {
    sweep(h, allowance, steps);
    if (h->low < h->goal->best)
      (void)search_all_orders(h, h->low, allowance, steps);
    allowance = twice(allowance);
  }
}

etx_status etx_plan_exact_run(const etx_plan_partition* part,
                              etx_plan_goal* goal, etx_arena* work,
                              uint32_t* offsets) {
  exact_search h = {0};
  h.goal = goal;
  h.offsets = offsets;
  if (!work->counting &&
      (part->has_fixed || part->block_count > ETX_CANONICAL_PLAN_MAX_BLOCKS)) {
    return ETX_UNSUPPORTED;
  }
  if (!etx_plan_search_take(&h.search, part, work)) return ETX_OUT_OF_MEMORY;
  if (work->counting) return ETX_OK;
  const bool is_read = etx_canonical_plan_read(&h.search.plan, part);
  if (ETX_NEVER(!is_read)) return ETX_UNSUPPORTED;  // compared above
  h.low = goal->enough;
  if (goal->best == ETX_PLAN_CEILING) find_any(&h);
  if (part->problem->capacity == 0) {
    search_smallest(&h);
  } else {
    search_capacity(&h);
  }
  // Bounds in coarse units are not valid in bytes.
  if (!part->is_coarse && h.low > goal->enough) goal->low = h.low;
  return h.has_found ? ETX_OK : ETX_NOT_FOUND;
}
