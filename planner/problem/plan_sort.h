// Stable sorting of indices by numbers.

#ifndef ETX_PLANNER_PROBLEM_PLAN_SORT_H
#define ETX_PLANNER_PROBLEM_PLAN_SORT_H

#include <stddef.h>
#include <stdint.h>

// What an item is sorted by. Wider keys are sorted in halves, the low one
// first; descending ones are given inverted.
typedef uint32_t (*etx_plan_key)(const void* context, uint32_t item);

// Sorts `items` by ascending key; equal ones keep their order. `scratch` has
// two entries an item. Linear in `count`,
// which is less than 2^32.
void etx_plan_sort(uint32_t* items, size_t count, etx_plan_key key,
                   const void* context, uint64_t* scratch);

#endif
