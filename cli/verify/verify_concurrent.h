// Methods that may run at the same time.

#ifndef ETX_CLI_VERIFY_VERIFY_CONCURRENT_H
#define ETX_CLI_VERIFY_VERIFY_CONCURRENT_H

#include "cli/verify/verify_program_state.h"

// Proves that methods which may run at the same time share no byte of scratch.
ETX_MUST_USE etx_status
etx_verify_concurrent(const etx_verify_program_state* program);


#endif
