// Starts and ends of lifetimes in order of time.
//
// At equal times ends come before starts, because lifetimes are half-open, and
// then blocks are in order of their index. Empty blocks are left out.
//
//   etx_plan_events events;
//   etx_plan_event event;
//   if (!etx_plan_events_take(&events, problem, work)) ...
//   while (etx_plan_events_next(&events, &event)) ...

#ifndef ETX_PLANNER_VALIDATION_PLAN_EVENTS_H
#define ETX_PLANNER_VALIDATION_PLAN_EVENTS_H

#include "planner/problem/plan_problem.h"

typedef struct etx_plan_events {
  const etx_plan_block* blocks;  // of the problem
  const uint32_t* starts;        // blocks by start
  const uint32_t* ends;          // blocks by end
  size_t count;                  // blocks that are not empty
  size_t started;                // starts already returned
  size_t ended;                  // ends already returned
} etx_plan_events;

typedef struct etx_plan_event {
  uint32_t block;
  bool is_start;
} etx_plan_event;

// Sorts the blocks of a checked problem, with memory from `work`; false if that
// is too small. With a counting arena it only counts.
bool etx_plan_events_take(etx_plan_events* events,
                          const etx_plan_problem* problem, etx_arena* work);

// Returns the next event; false after the last one.
bool etx_plan_events_next(etx_plan_events* events, etx_plan_event* out_event);

#endif
