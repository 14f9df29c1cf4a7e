// A run of a method whose course or sizes depend on data.

#ifndef ETX_RUNTIME_RUN_RUN_CHAINS_H
#define ETX_RUNTIME_RUN_RUN_CHAINS_H

#include "runtime/method.h"

// Runs all chains, record by record, shapes and work together.
ETX_MUST_USE etx_status etx_run_chains(etx_method* method, etx_diag* diag);

#endif
