// The shape phase of a whole method.

#ifndef ETX_RUNTIME_SHAPES_SHAPE_PHASE_H
#define ETX_RUNTIME_SHAPES_SHAPE_PHASE_H

#include "runtime/method/method_types.h"

// Prepares all records whose values are not late, and builds the steps. A
// record that cannot be prepared in a method with late values or jumps is left
// to the run, which may not reach it.
ETX_MUST_USE etx_status etx_method_shape_all(etx_method* method,
                                             etx_diag* diag);

// The first step whose record is `record` or a later one; the number of steps
// if there is none.
size_t etx_method_step_from(const etx_method* method, size_t record);

// The kernels of steps that are more than a call. They return a status that is
// not ETX_OK, so that the loop over the steps ends there.

// A record that is prepared, or bound to memory, before it runs; a move.
etx_status etx_step_late(etx_call* call);
// A jump over a condition whose memory is known. Returns ETX_OK if the
// condition holds, so that the next step follows.
etx_status etx_step_jump(etx_call* call);

// What the call of a jump holds in `prepared`.
enum {
  ETX_JUMP_CONDITION,   // the address of its value
  ETX_JUMP_RECORD,      // the record that it leads to, or their number
  ETX_JUMP_STEP,        // the first step from there, or their number
  ETX_JUMP_SEEN_FROM,   // for run_chains.c: a step before this jump, plus 1,
  ETX_JUMP_SEEN_WRITES  // and whether a step between them writes state
};

// True if all elements of a condition, or the bool, are true.
bool etx_condition_holds(const etx_value* condition);

#endif
