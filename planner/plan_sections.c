#include "planner/plan_sections.h"

#include <string.h>

#include "planner/plan_check.h"
#include "planner/plan_work.h"

// Numbers the sections and lets each block know its own.
static void cut(etx_plan_sections* sections, etx_plan_events* events) {
  uint32_t section = 0;
  bool is_open = false;  // a birth happened in the present section
  etx_plan_event event;
  while (etx_plan_events_next(events, &event)) {
    if (event.is_birth) {
      sections->first[event.block] = section;
      is_open = true;
      continue;
    }
    if (is_open) section += 1;
    is_open = false;
    sections->limit[event.block] = section;
  }
  sections->count = section;
}

static void sum_loads(etx_plan_sections* sections,
                      const etx_plan_problem* problem) {
  uint64_t live = 0;
  memset(sections->load, 0, (sections->count + 1) * sizeof *sections->load);
  // Differences first: what a section has more than the one before, modulo
  // 2^64, so that a decrease needs no sign.
  for (size_t i = 0; i < sections->block_count; ++i) {
    const uint32_t block = sections->by_first[i];
    const uint64_t bytes =
        etx_plan_align(problem->blocks[block].size, sections->step);
    sections->load[sections->first[block]] += bytes;
    sections->load[sections->limit[block]] -= bytes;
  }
  for (uint32_t s = 0; s <= sections->count; ++s) {
    live += sections->load[s];
    sections->load[s] = live;
  }
}

bool etx_plan_sections_take(etx_plan_sections* sections,
                            const etx_plan_problem* problem, etx_arena* work) {
  const size_t count = problem->block_count;
  etx_plan_events events;
  if (!etx_plan_events_take(&events, problem, work) ||
      !etx_plan_take_u32(work, count, &sections->first) ||
      !etx_plan_take_u32(work, count, &sections->limit) ||
      !etx_plan_take_u64(work, count + 1, &sections->load)) {
    return false;
  }
  if (work->counting) return true;
  sections->step = etx_plan_step(problem);
  sections->by_first = events.births;
  sections->block_count = events.count;
  cut(sections, &events);
  sum_loads(sections, problem);
  return true;
}
