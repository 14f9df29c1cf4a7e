// Decides whether a plan of at most `capacity` units exists.
//
// A depth-first search with backtracking over canonical plans
// (canonical_plan.h). When the open blocks split into ranges of sections that
// no open block crosses, each range is solved on its own, so that a failure in
// one does not repeat the others.

#ifndef ETX_PLANNER_SEARCH_PLAN_SEARCH_H
#define ETX_PLANNER_SEARCH_PLAN_SEARCH_H

#include "planner/search/canonical_plan.h"

typedef enum etx_plan_answer {
  ETX_PLAN_POSSIBLE,    // the offsets of the canonical plan are a plan
  ETX_PLAN_IMPOSSIBLE,  // proved
  ETX_PLAN_UNDECIDED    // the steps were not enough
} etx_plan_answer;

// Number of orders in which candidates of equal offset are tried. The time of a
// search varies extremely with the order, so callers try several.
enum { ETX_PLAN_SEARCH_ORDERS = 4 };

typedef struct etx_plan_range etx_plan_range;
typedef struct etx_plan_frame etx_plan_frame;

typedef struct etx_plan_search {
  etx_canonical_plan plan;
  etx_plan_frame* frames;  // the path from the root, one placement each
  size_t frame_count;
  etx_plan_range*
      ranges;  // the present range of sections and the enclosing ones
  size_t range_count;
  uint32_t* slices;  // open blocks of each range, in the order of the search
  size_t slice_count;
  uint32_t* candidates;  // of each frame, the blocks not yet tried
  uint64_t* scratch;     // for sorting
  size_t order;
  uint32_t since_asked;  // placements since should_continue was called
} etx_plan_search;

// Allocates for a part; false if `work` is too small.
bool etx_plan_search_take(etx_plan_search* search,
                          const etx_plan_partition* part, etx_arena* work);

// Searches for a plan of at most `capacity` units and subtracts the steps it
// took from
// `*steps`: one per placement, and more where many blocks are open.
// `search->plan` must have been read.
etx_plan_answer etx_plan_search_run(etx_plan_search* search, uint32_t capacity,
                                    size_t order, uint64_t* steps);

#endif
