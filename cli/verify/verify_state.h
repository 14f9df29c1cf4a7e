// What all methods of a program must agree about: the address of every state,
// and stable outputs, which calls of other methods must not overwrite.

#ifndef ETX_CLI_VERIFY_VERIFY_STATE_H
#define ETX_CLI_VERIFY_VERIFY_STATE_H

#include "cli/verify/verify_program_state.h"

// Checks the states and stable outputs of one method, whose dataflow has been
// proved, and adds them to `program`.
ETX_MUST_USE etx_status etx_verify_method_state(
    const etx_verify_method* m, etx_verify_program_state* program);

// Proves that all methods agree. etx_verify_method_state was called for each.
ETX_MUST_USE etx_status etx_verify_states(etx_verify_program_state* program);

#endif
