// Lifespans as a walk through time: who is born, who dies, in order.
//
// At one moment deaths come before births, since lifespans are half-open.
// Blocks without bytes take no part. Equal times go by index.
//
//   etx_plan_events events;
//   etx_plan_event event;
//   etx_plan_events_start(&events);
//   while (etx_plan_events_next(&events, &event)) ...

#ifndef ETX_PLANNER_VALIDATION_PLAN_EVENTS_H
#define ETX_PLANNER_VALIDATION_PLAN_EVENTS_H

#include "planner/problem/plan_problem.h"

typedef struct etx_plan_events {
  const etx_plan_block* blocks;  // the problem's
  const uint32_t* births;        // indices by start
  const uint32_t* deaths;        // indices by end
  size_t count;                  // blocks that have bytes
  size_t born;                   // births already told
  size_t dead;                   // deaths already told
} etx_plan_events;

typedef struct etx_plan_event {
  uint32_t block;
  bool is_birth;
} etx_plan_event;

// Sorts the blocks of a checked problem into memory from `work`; false if too
// little is free. With a counting arena it only counts.
bool etx_plan_events_take(etx_plan_events* events,
                          const etx_plan_problem* problem, etx_arena* work);

// Goes back to the beginning of time.
void etx_plan_events_start(etx_plan_events* events);

// Tells the next event; false when all have been told.
bool etx_plan_events_next(etx_plan_events* events, etx_plan_event* out_event);

#endif
