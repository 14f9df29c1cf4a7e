// A set of small numbers with fast search for the next and the previous member.
//
//   level 1        0 1 0 ...         one bit per word below that is not empty
//   level 0   0...0 0110...0 0...0   one bit per number
//
// Every operation reads about one word per level, and each level is 64 times
// smaller than the one below it. The memory belongs to the arena given to
// `take`.

#ifndef ETX_PLANNER_VALIDATION_HIERARCHICAL_BITSET_H
#define ETX_PLANNER_VALIDATION_HIERARCHICAL_BITSET_H

#include "format/base/arena.h"

enum { ETX_PLAN_SET_LEVELS = 6 };

// "No such number": larger than any member.
#define ETX_PLAN_SET_NONE SIZE_MAX

typedef struct etx_hierarchical_bitset {
  uint64_t* levels[ETX_PLAN_SET_LEVELS];  // lowest first
  size_t words[ETX_PLAN_SET_LEVELS];      // words of each level
  size_t level_count;                     // levels in use, at least one
} etx_hierarchical_bitset;

// Allocates an empty set for numbers below `capacity` from `work`; false if
// that is too small. With a counting arena it only counts.
bool etx_hierarchical_bitset_take(etx_hierarchical_bitset* set, etx_arena* work,
                                  size_t capacity);

// Adds a number below the capacity; it may be a member already.
void etx_hierarchical_bitset_insert(etx_hierarchical_bitset* set,
                                    size_t number);

// Removes a number; it may be absent.
void etx_hierarchical_bitset_remove(etx_hierarchical_bitset* set,
                                    size_t number);

// The smallest member at or above `number`, or ETX_PLAN_SET_NONE.
size_t etx_hierarchical_bitset_next(const etx_hierarchical_bitset* set,
                                    size_t number);

// The largest member at or below `number`, or ETX_PLAN_SET_NONE.
size_t etx_hierarchical_bitset_previous(const etx_hierarchical_bitset* set,
                                        size_t number);

#endif
