// 1. Whole orders: as given, and as four lists of ready items make them. The
//    best one goes on.
// 2. Its fullest moments are taken one by one: a stretch around each is
//    searched for an order below a limit, in longer and longer stretches. If
//    all moments give way, the limit is lowered.

#include "exporter/schedule/find_schedule.h"

#include <string.h>

#include "exporter/schedule/list_scheduler.h"
#include "exporter/schedule/schedule_search.h"
#include "exporter/schedule/live_bytes_simulator.h"
#include "format/base/checked_math.h"

enum {
  SHORTEST = 16,  // items on either side of a full moment
  LONGER = 4,     // times as many in the next stretch
  SHARE = 16,     // of the steps go to one stretch at most
};

typedef struct finding {
  etx_pool pool;  // dies with the call
  etx_live_bytes walk;
  etx_schedule_search search;
  size_t count;
  uint32_t* best;
  uint64_t peak;  // of the best
  uint64_t bound;
  uint32_t* trial;  // an order being made
  uint64_t steps;   // left
  uint64_t share;   // for one stretch
} finding;

static void keep_if_better(finding* f) {
  const uint64_t peak = etx_live_bytes_peak(&f->walk, f->trial);
  if (peak >= f->peak) return;
  f->peak = peak;
  memcpy(f->best, f->trial, f->count * sizeof *f->best);
}

static etx_status try_lists(finding* f) {
  uint32_t* const given = etx_pool_take(&f->pool, f->count * sizeof *given);
  uint32_t* const wanted = etx_pool_take(&f->pool, f->count * sizeof *wanted);
  if (given == NULL || wanted == NULL) return ETX_OUT_OF_MEMORY;
  for (uint32_t i = 0; i < f->count; ++i) given[i] = i;
  ETX_TRY(etx_list_scheduler_demand(&f->pool, &f->walk, wanted));
  const etx_list_scheduler_ranks ways[] = {
      {given, false}, {wanted, false}, {given, true}, {wanted, true}};
  for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i) {
    if (f->peak <= f->bound) return ETX_OK;
    ETX_TRY(etx_list_scheduler_run(&f->pool, &f->walk, &ways[i], f->trial));
    keep_if_better(f);
  }
  return ETX_OK;
}

// ---------------------------------------------------------------- stretches

// Moves the walk between positions of the trial.
static void go_to(finding* f, size_t from, size_t to) {
  for (; from > to; --from) etx_live_bytes_undo(&f->walk, f->trial[from - 1]);
  for (; from < to; ++from) etx_live_bytes_run(&f->walk, f->trial[from]);
}

// Lowers the trial at a position that is too full. The walk stands in front of
// it, and afterwards in front of `*position`.
static bool flatten(finding* f, size_t* position, uint64_t limit) {
  const size_t at = *position;
  for (size_t reach = SHORTEST;; reach *= LONGER) {
    const size_t first = at > reach ? at - reach : 0;
    const size_t last = f->count - at > reach ? at + reach : f->count;
    const uint64_t given = f->steps < f->share ? f->steps : f->share;
    uint64_t left = given;
    go_to(f, at, first);
    const etx_schedule_search_answer answer =
        etx_schedule_search_region(&f->search, first, last, limit, &left);
    f->steps -= given - left;
    if (answer == ETX_SCHEDULE_FOUND) {
      *position = first;
      return true;
    }
    if (f->steps == 0 || (first == 0 && last == f->count)) return false;
    go_to(f, first, at);
  }
}

// Changes the trial so that no more than `limit` bytes live at once.
static bool flatten_all(finding* f, uint64_t limit) {
  memcpy(f->trial, f->best, f->count * sizeof *f->trial);
  etx_live_bytes_restart(&f->walk);
  for (size_t at = 0; at < f->count;) {
    if (etx_live_bytes_cost_of(&f->walk, f->trial[at]).step > limit) {
      if (!flatten(f, &at, limit)) return false;
      continue;
    }
    etx_live_bytes_run(&f->walk, f->trial[at++]);
  }
  keep_if_better(f);
  return true;
}

static void lower(finding* f) {
  uint64_t low = f->bound;
  // Whether it can be lowered at all is asked first.
  if (f->peak <= low || !flatten_all(f, f->peak - 1)) return;
  uint64_t limit = low;
  while (low < f->peak && f->steps != 0) {
    if (!flatten_all(f, limit)) low = limit + 1;
    limit = low + (f->peak - low) / 2;
    if (limit == f->peak) break;
  }
}

// ---------------------------------------------------------------- all

static etx_status find_order(finding* f, uint64_t steps) {
  ETX_TRY(try_lists(f));
  if (f->peak <= f->bound) return ETX_OK;
  f->steps = steps;
  f->share = steps / SHARE;
  ETX_TRY(etx_schedule_search_open(&f->pool, &f->walk, f->trial, f->share,
                                   &f->search));
  lower(f);
  return ETX_OK;
}

// Sums of sizes that nobody could plan are left to the planner to refuse.
static bool can_be_counted(const etx_schedule_problem* problem) {
  uint64_t total = 0;
  for (size_t b = 0; b < problem->block_count; ++b) {
    if (!etx_add_u64(total, problem->blocks[b].bytes, &total)) return false;
  }
  for (size_t i = 0; i < problem->item_count; ++i) {
    if (!etx_add_u64(total, problem->transients[i], &total)) return false;
  }
  return total <= INT64_MAX;
}

static etx_status start(finding* f, const etx_schedule_problem* problem,
                        uint32_t* best) {
  f->count = problem->item_count;
  f->best = best;
  f->trial = etx_pool_take(&f->pool, f->count * sizeof *f->trial);
  if (best == NULL || f->trial == NULL) return ETX_OUT_OF_MEMORY;
  for (uint32_t i = 0; i < f->count; ++i) best[i] = i;
  ETX_TRY(etx_live_bytes_open(&f->pool, problem, &f->walk));
  f->bound = etx_live_bytes_bound(problem);
  f->peak = etx_live_bytes_peak(&f->walk, best);
  return ETX_OK;
}

etx_status etx_schedule_find(etx_pool* pool,
                             const etx_schedule_problem* problem,
                             uint64_t steps, etx_schedule_result* out_result) {
  finding f = {.count = 0};
  etx_schedule_result result = {
      .items = etx_pool_take(pool, problem->item_count * sizeof *result.items)};
  etx_pool_init(&f.pool);
  etx_status status = start(&f, problem, result.items);
  result.given_peak = f.peak;
  if (status == ETX_OK && f.peak > f.bound && can_be_counted(problem)) {
    status = find_order(&f, steps);
  }
  result.peak = f.peak;
  result.bound = f.bound;
  result.steps = f.steps == 0 && f.share == 0 ? 0 : steps - f.steps;
  etx_pool_close(&f.pool);
  if (status == ETX_OK) *out_result = result;
  return status;
}
