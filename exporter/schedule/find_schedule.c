// 1. Candidates for the whole order: the given one, and those of a list
//    scheduler with four heuristics. The one with the lowest peak is kept.
// 2. Its peaks are lowered one by one: around each item that exceeds a limit, a
//    region is searched for an order that stays below the limit, in larger and
//    larger regions. If all succeed, the limit is lowered (binary search).

#include "exporter/schedule/find_schedule.h"

#include <string.h>

#include "exporter/schedule/list_scheduler.h"
#include "exporter/schedule/schedule_search.h"
#include "exporter/schedule/live_bytes_simulator.h"
#include "format/base/checked_math.h"

enum {
  MIN_RADIUS = 16,    // items of the first region on either side of a peak
  RADIUS_FACTOR = 4,  // times as many in the next region
  REGION_SHARE = 16,  // one region gets at most 1 / 16 of the steps
};

typedef struct schedule_finder {
  etx_pool pool;  // freed at the end of the call
  etx_live_bytes simulator;
  etx_schedule_search search;
  size_t count;
  uint32_t* best;
  uint64_t peak;  // of `best`
  uint64_t bound;
  uint32_t* candidate;    // the order that is being changed
  uint64_t steps;         // remaining
  uint64_t region_steps;  // limit for one region
} schedule_finder;

static void keep_if_better(schedule_finder* f) {
  const uint64_t peak = etx_live_bytes_peak(&f->simulator, f->candidate);
  if (peak >= f->peak) return;
  f->peak = peak;
  memcpy(f->best, f->candidate, f->count * sizeof *f->best);
}

static etx_status try_lists(schedule_finder* f) {
  uint32_t* const given = etx_pool_take(&f->pool, f->count * sizeof *given);
  uint32_t* const by_demand =
      etx_pool_take(&f->pool, f->count * sizeof *by_demand);
  if (given == NULL || by_demand == NULL) return ETX_OUT_OF_MEMORY;
  for (uint32_t i = 0; i < f->count; ++i) given[i] = i;
  ETX_TRY(etx_list_scheduler_demand(&f->pool, &f->simulator, by_demand));
  const etx_list_scheduler_ranks heuristics[] = {
      {given, false}, {by_demand, false}, {given, true}, {by_demand, true}};
  for (size_t i = 0; i < sizeof heuristics / sizeof *heuristics; ++i) {
    if (f->peak <= f->bound) return ETX_OK;
    ETX_TRY(etx_list_scheduler_run(&f->pool, &f->simulator, &heuristics[i],
                                   f->candidate));
    keep_if_better(f);
  }
  return ETX_OK;
}

// ---------------------------------------------------------------- regions

// Runs or undoes items of the candidate until `to` is the next position.
static void seek(schedule_finder* f, size_t from, size_t to) {
  for (; from > to; --from)
    etx_live_bytes_undo(&f->simulator, f->candidate[from - 1]);
  for (; from < to; ++from)
    etx_live_bytes_run(&f->simulator, f->candidate[from]);
}

// Searches for an order of the candidate in which the item at `*position` does
// not exceed the limit. The simulator is in front of it, and afterwards in
// front of the new `*position`.
static bool lower_step(schedule_finder* f, size_t* position, uint64_t limit) {
  const size_t at = *position;
  for (size_t radius = MIN_RADIUS;; radius *= RADIUS_FACTOR) {
    const size_t first = at > radius ? at - radius : 0;
    const size_t last = f->count - at > radius ? at + radius : f->count;
    const uint64_t given =
        f->steps < f->region_steps ? f->steps : f->region_steps;
    uint64_t left = given;
    seek(f, at, first);
    const etx_schedule_search_result result =
        etx_schedule_search_region(&f->search, first, last, limit, &left);
    f->steps -= given - left;
    if (result == ETX_SCHEDULE_FOUND) {
      *position = first;
      return true;
    }
    if (f->steps == 0 || (first == 0 && last == f->count)) return false;
    seek(f, first, at);
  }
}

// Changes the candidate so that no more than `limit` bytes are live at once.
static bool reach_limit(schedule_finder* f, uint64_t limit) {
  memcpy(f->candidate, f->best, f->count * sizeof *f->candidate);
  etx_live_bytes_restart(&f->simulator);
  for (size_t at = 0; at < f->count;) {
    if (etx_live_bytes_cost_of(&f->simulator, f->candidate[at]).step > limit) {
      if (!lower_step(f, &at, limit)) return false;
      continue;
    }
    etx_live_bytes_run(&f->simulator, f->candidate[at++]);
  }
  keep_if_better(f);
  return true;
}

static void minimize_peak(schedule_finder* f) {
  uint64_t low = f->bound;
  // First try whether the peak can be lowered at all.
  if (f->peak <= low || !reach_limit(f, f->peak - 1)) return;
  uint64_t limit = low;
  while (low < f->peak && f->steps != 0) {
    if (!reach_limit(f, limit)) low = limit + 1;
    limit = low + (f->peak - low) / 2;
    if (limit == f->peak) break;
  }
}

// ---------------------------------------------------------------- all

static etx_status find_order(schedule_finder* f, uint64_t steps) {
  ETX_TRY(try_lists(f));
  if (f->peak <= f->bound) return ETX_OK;
  f->steps = steps;
  f->region_steps = steps / REGION_SHARE;
  ETX_TRY(etx_schedule_search_open(&f->pool, &f->simulator, f->candidate,
                                   f->region_steps, &f->search));
  minimize_peak(f);
  return ETX_OK;
}

// False if the sum of all sizes overflows: the planner then refuses the method.
static bool sizes_can_be_added(const etx_schedule_problem* problem) {
  uint64_t total = 0;
  for (size_t b = 0; b < problem->block_count; ++b) {
    if (!etx_add_u64(total, problem->blocks[b].bytes, &total)) return false;
  }
  for (size_t i = 0; i < problem->item_count; ++i) {
    if (!etx_add_u64(total, problem->transients[i], &total)) return false;
  }
  return total <= INT64_MAX;
}

static etx_status start(schedule_finder* f, const etx_schedule_problem* problem,
                        uint32_t* best) {
  f->count = problem->item_count;
  f->best = best;
  f->candidate = etx_pool_take(&f->pool, f->count * sizeof *f->candidate);
  if (best == NULL || f->candidate == NULL) return ETX_OUT_OF_MEMORY;
  for (uint32_t i = 0; i < f->count; ++i) best[i] = i;
  ETX_TRY(etx_live_bytes_open(&f->pool, problem, &f->simulator));
  f->bound = etx_live_bytes_bound(problem);
  f->peak = etx_live_bytes_peak(&f->simulator, best);
  return ETX_OK;
}

etx_status etx_schedule_find(etx_pool* pool,
                             const etx_schedule_problem* problem,
                             uint64_t steps, etx_schedule_result* out_result) {
  schedule_finder f = {.count = 0};
  etx_schedule_result result = {
      .items = etx_pool_take(pool, problem->item_count * sizeof *result.items)};
  etx_pool_init(&f.pool);
  etx_status status = start(&f, problem, result.items);
  result.given_peak = f.peak;
  if (status == ETX_OK && f.peak > f.bound && sizes_can_be_added(problem)) {
    status = find_order(&f, steps);
  }
  result.peak = f.peak;
  result.bound = f.bound;
  result.steps = f.steps == 0 && f.region_steps == 0 ? 0 : steps - f.steps;
  etx_pool_close(&f.pool);
  if (status == ETX_OK) *out_result = result;
  return status;
}
