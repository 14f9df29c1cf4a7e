// No reuse: every block gets bytes of its own, above all fixed blocks. It is an
// upper bound, and helps to find out whether a fault comes from reuse.

#include "planner/algorithms/plan_algorithm.h"

// Adds one block; false if the plan grows past the ceiling.
static bool stack_block(const etx_plan_partition* part, uint32_t b,
                        uint32_t* top, uint32_t* offsets) {
  const uint32_t offset = etx_plan_partition_align(part, b, *top);
  // Aligned offsets are at most the ceiling, and so is `top`.
  if (part->size[b] > ETX_PLAN_CEILING - offset) return false;
  offsets[b] = offset;
  *top = offset + part->size[b];
  return true;
}

static uint32_t place_fixed(const etx_plan_partition* part, uint32_t* offsets) {
  uint32_t top = 0;
  if (!part->has_fixed) return 0;
  for (uint32_t b = 0; b < part->block_count; ++b) {
    offsets[b] = etx_plan_partition_fixed(part, b);
    if (offsets[b] == ETX_PLAN_NONE) continue;
    if (offsets[b] + part->size[b] > top) top = offsets[b] + part->size[b];
  }
  return top;
}

etx_status etx_plan_naive_run(const etx_plan_partition* part,
                              etx_plan_goal* goal, etx_arena* work,
                              uint32_t* offsets) {
  if (work->counting) return ETX_OK;
  uint32_t top = place_fixed(part, offsets);
  for (uint32_t b = 0; b < part->block_count; ++b) {
    if (part->has_fixed && offsets[b] != ETX_PLAN_NONE) continue;
    if (!stack_block(part, b, &top, offsets)) return ETX_NOT_FOUND;
  }
  return top < goal->best ? ETX_OK : ETX_NOT_FOUND;
}
