// Bottom-up merge sort: no recursion, the same number of steps on every
// machine, and linear memory that the caller already has.

#include "planner/plan_sort.h"

#include <string.h>

// Merges the sorted runs [low, middle) and [middle, high) of `from` into `to`.
static void merge_runs(const uint32_t* from, uint32_t* to, size_t low,
                       size_t middle, size_t high, etx_plan_before before,
                       const void* context) {
  size_t left = low;
  size_t right = middle;
  for (size_t i = low; i < high; ++i) {
    const bool take_right =
        left == middle ||
        (right < high && before(context, from[right], from[left]));
    to[i] = take_right ? from[right++] : from[left++];
  }
}

void etx_plan_sort(uint32_t* items, size_t count, uint32_t* scratch,
                   etx_plan_before before, const void* context) {
  uint32_t* from = items;
  uint32_t* to = scratch;
  for (size_t width = 1; width < count; width *= 2) {
    for (size_t low = 0; low < count; low += 2 * width) {
      const size_t middle = count - low < width ? count : low + width;
      const size_t high = count - middle < width ? count : middle + width;
      merge_runs(from, to, low, middle, high, before, context);
    }
    uint32_t* const swapped = from;
    from = to;
    to = swapped;
    if (width > count / 2) break;
  }
  if (from != items) memcpy(items, from, count * sizeof *items);
}
