// Stable sorting of indices by numbers.

#ifndef ETX_PLANNER_PROBLEM_PLAN_SORT_H
#define ETX_PLANNER_PROBLEM_PLAN_SORT_H

#include <stddef.h>
#include <stdint.h>

// The sort key of an item. Callers sort by a 64-bit key in two passes, the low
// half first, and in descending order by the inverted key.
typedef uint32_t (*etx_plan_key)(const void* context, uint32_t item);

// Sorts `items` by ascending key; items with equal keys keep their order.
// `scratch` has two entries per item. Linear in `count`, which is less than
// 2^32.
void etx_plan_sort(uint32_t* items, size_t count, etx_plan_key key,
                   const void* context, uint64_t* scratch);

#endif
