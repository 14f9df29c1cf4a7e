// The exact question: is there a plan of at most so many units?
//
// A depth-first walk over canonical plans (canonical_plan.h). Where the open
// blocks fall apart into ranges of sections that share none, each range is
// solved alone, so that a failure in one does not shuffle the others.

#ifndef ETX_PLANNER_SEARCH_PLAN_SEARCH_H
#define ETX_PLANNER_SEARCH_PLAN_SEARCH_H

#include "planner/search/canonical_plan.h"

typedef enum etx_plan_answer {
  ETX_PLAN_POSSIBLE,    // the offsets of the canonical plan are a plan
  ETX_PLAN_IMPOSSIBLE,  // proved
  ETX_PLAN_UNDECIDED    // the steps are spent
} etx_plan_answer;

// Orders in which blocks of equal offset are tried. How long a search takes
// depends on it wildly, so several take turns.
enum { ETX_PLAN_SEARCH_ORDERS = 4 };

typedef struct etx_plan_range etx_plan_range;
typedef struct etx_plan_frame etx_plan_frame;

typedef struct etx_plan_search {
  etx_canonical_plan plan;
  etx_plan_frame* frames;  // the path from the root, one placement each
  size_t frame_count;
  etx_plan_range* ranges;  // the present range of sections and those around it
  size_t range_count;
  uint32_t* slices;  // open blocks of each range, in the order of trying
  size_t slice_count;
  uint32_t* candidates;  // of each frame, those not yet tried
  uint64_t* scratch;     // for sorting
  size_t order;
  uint32_t since_asked;  // placements since the caller was asked to go on
} etx_plan_search;

// Takes memory for a part; false if too little is free.
bool etx_plan_search_take(etx_plan_search* search,
                          const etx_plan_partition* part, etx_arena* work);

// Answers for `capacity` units, and takes the steps that it took from `*steps`:
// one a placement, and more where many blocks are open. `search->plan` has been
// read.
etx_plan_answer etx_plan_search_run(etx_plan_search* search, uint32_t capacity,
                                    size_t order, uint64_t* steps);

#endif
