// The layout of state as the program file tells it to other programs.

#ifndef ETX_CLI_VERIFY_VERIFY_STATE_LAYOUT_H
#define ETX_CLI_VERIFY_VERIFY_STATE_LAYOUT_H

#include "cli/verify/verify_program_state.h"

// Proves that the constant methods which tell the layout of state, if there
// are any, tell the one that the methods have.
ETX_MUST_USE etx_status
etx_verify_layout(const etx_verify_program_state* program);


#endif
