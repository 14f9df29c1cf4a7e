// The plateau skyline: work on a range of sections that is lower than both of
// its neighbours, and put on it the best-ranked block that fits inside.
//
//   height ^      +----+
//          | +----+    |          the plateau [a, b) is lowest: place on it, or
//          | |    |    +---+      if nothing fits raise it to its lower
//          +-+    |a  b|   |      neighbour and join the two
//          +------+----+---+--> sections
//
// Which plateau comes first does not change the plan (its neighbours cannot
// move before it has risen to them), so walking downhill needs no heap. One
// order of blocks is never good for all problems; all are tried until one
// meets the bound. At most one placement a block and two raises a placement.

#include <string.h>

#include "planner/plan_algorithms.h"
#include "planner/plan_check.h"
#include "planner/plan_fitting.h"
#include "planner/plan_ranks.h"
#include "planner/plan_sections.h"
#include "planner/plan_work.h"

static const uint32_t none = UINT32_MAX;

typedef struct plateau {
  uint32_t start;     // first section
  uint32_t end;       // one past the last section
  uint32_t previous;  // index of the plateau to the left, or none
  uint32_t next;      // to the right, or in the list of unused ones
  uint64_t height;    // lowest free offset, a multiple of the step
} plateau;

typedef struct skyline {
  const etx_plan_problem* problem;
  etx_plan_sections sections;
  etx_plan_fitting fitting;
  etx_plan_ranks ranks;
  uint64_t* offsets;  // of the order at work
  plateau* plateaus;  // disjoint, so never more than sections
  uint32_t unused;    // head of the list of unused plateaus
} skyline;

static bool take_plateaus(skyline* sky, size_t count, etx_arena* work) {
  void* memory = NULL;
  size_t bytes = 0;
  if (!etx_multiply_size(count, sizeof(plateau), &bytes)) return false;
  if (!etx_arena_take_ok(work, bytes, sizeof(uint64_t), &memory)) return false;
  sky->plateaus = memory;
  return true;
}

static bool take(skyline* sky, etx_arena* work) {
  const size_t count = sky->problem->block_count;
  return etx_plan_sections_take(&sky->sections, sky->problem, work) &&
         etx_plan_fitting_take(&sky->fitting, count, work) &&
         etx_plan_ranks_take(&sky->ranks, count, work) &&
         etx_plan_take_u64(work, count, &sky->offsets) &&
         take_plateaus(sky, count, work);
}

// One plateau at 0 over all sections; all others unused.
static void flatten(skyline* sky) {
  const plateau ground = {0, sky->sections.count, none, none, 0};
  sky->plateaus[0] = ground;
  for (uint32_t i = 1; i < sky->sections.count; ++i) {
    sky->plateaus[i].next = i + 1;
  }
  if (sky->sections.count > 1) {
    sky->plateaus[sky->sections.count - 1].next = none;
  }
  sky->unused = sky->sections.count > 1 ? 1 : none;
}

static uint64_t height_of(const skyline* sky, uint32_t index) {
  return index == none ? UINT64_MAX : sky->plateaus[index].height;
}

// Joins the plateau right of `left` to it.
static void join_next(skyline* sky, uint32_t left) {
  plateau* const kept = &sky->plateaus[left];
  const uint32_t gone = kept->next;
  kept->end = sky->plateaus[gone].end;
  kept->next = sky->plateaus[gone].next;
  if (kept->next != none) sky->plateaus[kept->next].previous = left;
  sky->plateaus[gone].next = sky->unused;
  sky->unused = gone;
}

// Cuts the plateau at `section`, inside it, and returns the right part.
static uint32_t split_at(skyline* sky, uint32_t index, uint32_t section) {
  plateau* const left = &sky->plateaus[index];
  const uint32_t fresh = sky->unused;
  plateau* const right = &sky->plateaus[fresh];
  sky->unused = right->next;
  *right = *left;
  right->start = section;
  right->previous = index;
  left->end = section;
  left->next = fresh;
  if (right->next != none) sky->plateaus[right->next].previous = fresh;
  return fresh;
}

// Puts `block` on the plateau and returns where to go on: the rest to the
// left, or to the right, or what was raised.
static uint32_t place(skyline* sky, uint32_t index, uint32_t block) {
  const etx_plan_block* const shape = &sky->problem->blocks[block];
  const uint32_t first = sky->sections.first[block];
  const uint32_t limit = sky->sections.limit[block];
  uint32_t middle = index;
  uint32_t rest = none;
  if (limit < sky->plateaus[index].end) rest = split_at(sky, index, limit);
  if (first > sky->plateaus[index].start) {
    middle = split_at(sky, index, first);
    rest = index;
  }
  plateau* const raised = &sky->plateaus[middle];
  sky->offsets[block] = etx_plan_align(raised->height, shape->alignment);
  raised->height =
      etx_plan_align(sky->offsets[block] + shape->size, sky->sections.step);
  etx_plan_fitting_remove(&sky->fitting, block);
  return rest == none ? middle : rest;
}

// Goes to a lower neighbour or joins an equal one; none if the plateau is
// lower than both.
static uint32_t walk(skyline* sky, uint32_t index) {
  const uint32_t left = sky->plateaus[index].previous;
  const uint32_t right = sky->plateaus[index].next;
  const uint64_t height = sky->plateaus[index].height;
  if (height_of(sky, left) < height) return left;
  if (height_of(sky, right) < height) return right;
  if (height_of(sky, left) == height) {
    join_next(sky, left);
    return left;
  }
  if (height_of(sky, right) == height) {
    join_next(sky, index);
    return index;
  }
  return none;
}

static void raise_to_neighbour(skyline* sky, uint32_t index) {
  plateau* const low = &sky->plateaus[index];
  const uint64_t left = height_of(sky, low->previous);
  const uint64_t right = height_of(sky, low->next);
  low->height = left < right ? left : right;
}

// Places all blocks by the ranks at hand.
static void run_order(skyline* sky) {
  size_t left = sky->sections.block_count;
  uint32_t index = 0;
  flatten(sky);
  while (left > 0) {
    const uint32_t lower = walk(sky, index);
    if (lower != none) {
      index = lower;
      continue;
    }
    const plateau* const here = &sky->plateaus[index];
    const uint32_t rank =
        etx_plan_fitting_best(&sky->fitting, here->start, here->end);
    if (rank == ETX_PLAN_FITS_NONE) {
      raise_to_neighbour(sky, index);
      continue;
    }
    index = place(sky, index, sky->ranks.order[rank]);
    left -= 1;
  }
}

static uint64_t highest_end(const skyline* sky) {
  uint64_t highest = 0;
  for (size_t i = 0; i < sky->sections.block_count; ++i) {
    const uint32_t block = sky->sections.by_first[i];
    const uint64_t end = sky->offsets[block] + sky->problem->blocks[block].size;
    if (end > highest) highest = end;
  }
  return highest;
}

// Runs one order after the other until one is low enough; keeps the lowest.
static void run_orders(skyline* sky, uint64_t enough, uint64_t* offsets) {
  const size_t count = sky->problem->block_count;
  uint64_t lowest = UINT64_MAX;
  memset(sky->offsets, 0, count * sizeof *offsets);
  etx_plan_ranks_fill(&sky->ranks, sky->problem, &sky->sections);
  for (size_t i = 0; i < ETX_PLAN_ORDER_COUNT && lowest > enough; ++i) {
    etx_plan_ranks_sort(&sky->ranks, i);
    etx_plan_fitting_fill(&sky->fitting, &sky->sections, sky->ranks.ranks);
    run_order(sky);
    const uint64_t end = highest_end(sky);
    if (end >= lowest) continue;
    lowest = end;
    memcpy(offsets, sky->offsets, count * sizeof *offsets);
  }
}

etx_status etx_plan_skyline_run(const etx_plan_problem* problem,
                                etx_plan_goal* goal, etx_arena* work,
                                uint64_t* offsets) {
  skyline sky = {0};
  sky.problem = problem;
  // A fixed block would hang in the air above a plateau.
  if (!work->counting && etx_plan_has_fixed(problem)) return ETX_UNSUPPORTED;
  if (!take(&sky, work)) return ETX_OUT_OF_MEMORY;
  if (work->counting || problem->block_count == 0) return ETX_OK;
  run_orders(&sky, goal->enough, offsets);
  return ETX_OK;
}
