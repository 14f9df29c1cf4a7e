// Arrays from the working arena, with the multiplication checked.

#ifndef ETX_PLANNER_PROBLEM_PLAN_WORKSPACE_H
#define ETX_PLANNER_PROBLEM_PLAN_WORKSPACE_H

#include "format/base/arena.h"
#include "format/base/checked_math.h"

// Takes `count` items of `item_bytes` (a power of two up to 8); false if too
// little is free. `*out` is NULL with a counting arena.
static inline bool etx_plan_take(etx_arena* work, size_t count,
                                 size_t item_bytes, void** out) {
  size_t bytes = 0;
  return etx_multiply_size(count, item_bytes, &bytes) &&
         etx_arena_take_ok(work, bytes, item_bytes, out);
}

static inline bool etx_plan_take_u32(etx_arena* work, size_t count,
                                     uint32_t** out) {
  void* memory = NULL;
  const bool taken = etx_plan_take(work, count, sizeof **out, &memory);
  *out = memory;
  return taken;
}

static inline bool etx_plan_take_u64(etx_arena* work, size_t count,
                                     uint64_t** out) {
  void* memory = NULL;
  const bool taken = etx_plan_take(work, count, sizeof **out, &memory);
  *out = memory;
  return taken;
}

#endif
