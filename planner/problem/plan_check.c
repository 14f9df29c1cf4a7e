#include "planner/problem/plan_check.h"

#include "format/base/checked_math.h"

// Sums stay below 2^63, so that rounding them up cannot overflow.
static const uint64_t largest_sum = UINT64_MAX / 2;

static etx_status check_block(const etx_plan_block* block, size_t index,
                              etx_diag* diag) {
  if (block->start >= block->end) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "block %z has lifetime [%u, %u), expected start < end",
                         index, (uint64_t)block->start, (uint64_t)block->end);
  }
  if (!etx_is_power_of_two(block->alignment)) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "block %z has alignment %u, expected a power of two",
                         index, block->alignment);
  }
  if (block->fixed != ETX_PLAN_FREE && block->fixed % block->alignment != 0) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "block %z is fixed at %u, expected a multiple of %u",
                         index, block->fixed, block->alignment);
  }
  return ETX_OK;
}

// Adds the most bytes that a block without a fixed offset can take in a stack,
// or raises the highest end of fixed blocks.
static bool add_block(const etx_plan_block* block, uint64_t* stack,
                      uint64_t* fixed_end) {
  uint64_t end = 0;
  if (block->fixed != ETX_PLAN_FREE) {
    if (!etx_add_u64(block->fixed, block->size, &end)) return false;
    if (end > *fixed_end) *fixed_end = end;
    return true;
  }
  return etx_add_u64(*stack, block->size, stack) &&
         etx_add_u64(*stack, block->alignment - 1, stack);
}

etx_status etx_plan_check(const etx_plan_problem* problem, etx_diag* diag) {
  uint64_t stack = 0;
  uint64_t fixed_end = 0;
  if (problem->block_count > ETX_PLAN_MAX_BLOCKS) {
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "%z blocks, expected at most %u", problem->block_count,
                         (uint64_t)ETX_PLAN_MAX_BLOCKS);
  }
  for (size_t i = 0; i < problem->block_count; ++i) {
    const etx_plan_block* const block = &problem->blocks[i];
    uint64_t sum = 0;
    ETX_TRY(check_block(block, i, diag));
    if (!add_block(block, &stack, &fixed_end) ||
        !etx_add_u64(stack, fixed_end, &sum) || sum > largest_sum) {
      return etx_diag_fail(
          diag, ETX_BAD_ARGUMENT,
          "block %z of %u bytes makes the sum of sizes exceed 2^63", i,
          block->size);
    }
  }
  return ETX_OK;
}

uint64_t etx_plan_granularity(const etx_plan_problem* problem) {
  uint64_t step = 0;
  for (size_t i = 0; i < problem->block_count; ++i) {
    const etx_plan_block* const block = &problem->blocks[i];
    if (block->size == 0) continue;
    if (step == 0 || block->alignment < step) step = block->alignment;
  }
  return step == 0 ? 1 : step;
}

bool etx_plan_has_fixed(const etx_plan_problem* problem) {
  for (size_t i = 0; i < problem->block_count; ++i) {
    if (problem->blocks[i].fixed != ETX_PLAN_FREE) return true;
  }
  return false;
}
