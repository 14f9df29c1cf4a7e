// The steps of jumps, moves and late records, which have no kernel.

#ifndef ETX_RUNTIME_SHAPES_FLOW_STEPS_H
#define ETX_RUNTIME_SHAPES_FLOW_STEPS_H

#include "runtime/method/method_types.h"

// What the call of a jump holds in `prepared`.
enum {
  ETX_JUMP_CONDITION,   // the address of its value
  ETX_JUMP_END,         // the record after the jump
  ETX_JUMP_RECORD,      // the record that it leads to, or their number
  ETX_JUMP_STEP,        // the first step from there, or their number
  ETX_JUMP_SEEN_FROM,   // for run_chains.c: a step before this jump, plus 1,
  ETX_JUMP_SEEN_WRITES  // and whether a step between them writes state
};

// A record that is prepared or bound to memory before it runs, or a release.
// Does nothing; returns a status that is not ETX_OK, so that the loop over the
// steps ends there.
etx_status etx_step_late(etx_call* call);
// A jump. Returns ETX_OK if all elements of the condition, or the bool, are
// true, so that the next step follows. Its memory was checked.
etx_status etx_step_jump(etx_call* call);

// The function of the step of a late record, or of one that does not call a
// kernel; NULL: the record needs none.
etx_kernel_function etx_flow_step_of(const etx_method_record* record);
// Fills in what jumps and moves need, after the steps are complete.
void etx_flow_steps_link(etx_method* method);
// The first step whose record is `record` or a later one; the number of steps
// if there is none.
size_t etx_flow_step_from(const etx_method* method, size_t record);

#endif
