// Runs methods with jumps or late values.

#ifndef ETX_RUNTIME_RUN_RUN_CHAINS_H
#define ETX_RUNTIME_RUN_RUN_CHAINS_H

#include "runtime/method.h"

// Runs all chains of a prepared method, whose planned inputs are copied.
ETX_MUST_USE etx_status etx_run_chains(etx_method* method, etx_diag* diag);

#endif
