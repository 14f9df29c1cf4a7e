#include "planner/validation/plan_events.h"

#include "planner/problem/plan_sort.h"
#include "planner/problem/plan_workspace.h"

static uint32_t start_of(const void* blocks, uint32_t i) {
  return ((const etx_plan_block*)blocks)[i].start;
}

static uint32_t end_of(const void* blocks, uint32_t i) {
  return ((const etx_plan_block*)blocks)[i].end;
}

static size_t list_blocks(const etx_plan_problem* problem, uint32_t* items) {
  size_t count = 0;
  for (size_t i = 0; i < problem->block_count; ++i) {
    if (problem->blocks[i].size > 0) items[count++] = (uint32_t)i;
  }
  return count;
}

bool etx_plan_events_take(etx_plan_events* events,
                          const etx_plan_problem* problem, etx_arena* work) {
  const size_t count = problem->block_count;
  const etx_plan_block* const blocks = problem->blocks;
  uint32_t* starts = NULL;
  uint32_t* ends = NULL;
  uint64_t* scratch = NULL;
  if (!etx_plan_take_u32(work, count, &starts)) return false;
  if (!etx_plan_take_u32(work, count, &ends)) return false;
  const size_t mark = etx_arena_mark(work);
  if (!etx_plan_take_u64(work, 2 * count, &scratch)) return false;
  if (!work->counting) {
    events->blocks = blocks;
    events->starts = starts;
    events->ends = ends;
    events->count = list_blocks(problem, starts);
    (void)list_blocks(problem, ends);
    etx_plan_sort(starts, events->count, start_of, blocks, scratch);
    etx_plan_sort(ends, events->count, end_of, blocks, scratch);
    events->started = 0;
    events->ended = 0;
  }
  etx_arena_rewind(work, mark);
  return true;
}

bool etx_plan_events_next(etx_plan_events* events, etx_plan_event* out_event) {
  if (events->ended == events->count) return false;
  const uint32_t end = events->ends[events->ended];
  if (events->started < events->count) {
    const uint32_t start = events->starts[events->started];
    if (events->blocks[start].start < events->blocks[end].end) {
      out_event->block = start;
      out_event->is_start = true;
      events->started += 1;
      return true;
    }
  }
  out_event->block = end;
  out_event->is_start = false;
  events->ended += 1;
  return true;
}
