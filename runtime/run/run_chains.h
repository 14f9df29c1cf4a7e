// Runs methods whose control flow or sizes depend on data.

#ifndef ETX_RUNTIME_RUN_RUN_CHAINS_H
#define ETX_RUNTIME_RUN_RUN_CHAINS_H

#include "runtime/method.h"

// Runs all chains; each record is prepared just before it runs.
ETX_MUST_USE etx_status etx_run_chains(etx_method* method, etx_diag* diag);

#endif
