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
  uint32_t* births = NULL;
  uint32_t* deaths = NULL;
  uint64_t* scratch = NULL;
  if (!etx_plan_take_u32(work, count, &births)) return false;
  if (!etx_plan_take_u32(work, count, &deaths)) return false;
  const size_t mark = etx_arena_mark(work);
  if (!etx_plan_take_u64(work, 2 * count, &scratch)) return false;
  if (!work->counting) {
    events->blocks = blocks;
    events->births = births;
    events->deaths = deaths;
    events->count = list_blocks(problem, births);
    (void)list_blocks(problem, deaths);
    etx_plan_sort(births, events->count, start_of, blocks, scratch);
    etx_plan_sort(deaths, events->count, end_of, blocks, scratch);
    etx_plan_events_start(events);
  }
  etx_arena_rewind(work, mark);
  return true;
}

void etx_plan_events_start(etx_plan_events* events) {
  events->born = 0;
  events->dead = 0;
}

bool etx_plan_events_next(etx_plan_events* events, etx_plan_event* out_event) {
  if (events->dead == events->count) return false;
  const uint32_t death = events->deaths[events->dead];
  if (events->born < events->count) {
    const uint32_t birth = events->births[events->born];
    if (events->blocks[birth].start < events->blocks[death].end) {
      out_event->block = birth;
      out_event->is_birth = true;
      events->born += 1;
      return true;
    }
  }
  out_event->block = death;
  out_event->is_birth = false;
  events->dead += 1;
  return true;
}
