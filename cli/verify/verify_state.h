// What all methods of a program must agree about: the place of every state,
// and outputs that outlive the calls of other methods.

#ifndef ETX_CLI_VERIFY_VERIFY_STATE_H
#define ETX_CLI_VERIFY_VERIFY_STATE_H

#include "cli/verify/verify_program_state.h"

// Proves what one method, whose flow has been proved, says about state, and
// notes what it keeps.
ETX_MUST_USE etx_status etx_verify_method_state(
    const etx_verify_method* m, etx_verify_program_state* program);

// Proves what holds between methods. All of them have been noted.
ETX_MUST_USE etx_status etx_verify_states(etx_verify_program_state* program);

#endif
