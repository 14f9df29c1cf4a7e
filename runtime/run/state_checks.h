// Refuses elements that a kernel would refuse, such as an index out of range,
// before the first instruction that writes state, so that the refused run
// leaves the state as it was.
//
// A kernel is asked ahead (kernel.h: etx_kernel_check) if what it reads is
// known before the first write: inputs, constants, state that is not written in
// between, and what the instructions in front of the first write have computed.
// Only instructions are asked that every run reaches from the first write on:
// not those that a jump behind it may skip, nor those whose arguments have
// sizes or memory that the run decides.

#ifndef ETX_RUNTIME_RUN_STATE_CHECKS_H
#define ETX_RUNTIME_RUN_STATE_CHECKS_H

#include "runtime/method/method_types.h"

// Finds the kernels to ask, if the steps of the method have changed since.
void etx_state_checks_find(etx_method* method);

// True if there are some.
static inline bool etx_state_checks_exist(const etx_method* method) {
  return ETX_INDEX_CHECKS && method->first_check != ETX_NO_INDEX;
}

// Asks them. The steps in front of `first_state_step` must have run. Reports
// the first one that refuses.
ETX_MUST_USE etx_status etx_state_checks_run(etx_method* method,
                                             etx_diag* diag);

#endif
