// Every block its own bytes, in the order of the problem, above all fixed
// ones. The upper bound, and the plan to try when reuse is under suspicion.

#include "planner/plan_algorithms.h"
#include "planner/plan_check.h"

static uint64_t place_fixed(const etx_plan_problem* problem,
                            uint64_t* offsets) {
  uint64_t top = 0;
  for (size_t i = 0; i < problem->block_count; ++i) {
    const etx_plan_block* const block = &problem->blocks[i];
    if (block->fixed == ETX_PLAN_FREE) continue;
    offsets[i] = block->fixed;
    if (block->fixed + block->size > top) top = block->fixed + block->size;
  }
  return top;
}

etx_status etx_plan_naive_run(const etx_plan_problem* problem,
                              etx_plan_goal* goal, etx_arena* work,
                              uint64_t* offsets) {
  (void)goal;
  if (work->counting) return ETX_OK;
  uint64_t top = place_fixed(problem, offsets);
  for (size_t i = 0; i < problem->block_count; ++i) {
    const etx_plan_block* const block = &problem->blocks[i];
    if (block->fixed != ETX_PLAN_FREE) continue;
    offsets[i] = block->size == 0 ? 0 : etx_plan_align(top, block->alignment);
    if (block->size > 0) top = offsets[i] + block->size;
  }
  return ETX_OK;
}
