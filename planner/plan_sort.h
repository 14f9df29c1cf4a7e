// Sorting of block indices by a total order.
//
// The planner keeps its own sort because the C library's may allocate and may
// leave equal items in any order. This one is stable, so items that compare
// equal keep the order in which they came.

#ifndef ETX_PLANNER_PLAN_SORT_H
#define ETX_PLANNER_PLAN_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// True if item `a` has to stand before item `b`.
typedef bool (*etx_plan_before)(const void* context, uint32_t a, uint32_t b);

// Sorts `count` items in O(count log count). `scratch` has room for as many
// and holds nothing of use afterwards.
void etx_plan_sort(uint32_t* items, size_t count, uint32_t* scratch,
                   etx_plan_before before, const void* context);

#endif
