// How the records that run once for each change of sizes are run: see
// size_values.c.

#ifndef ETX_RUNTIME_LOAD_SIZE_VALUES_RUN_H
#define ETX_RUNTIME_LOAD_SIZE_VALUES_RUN_H

#include "runtime/method/method_types.h"

// Moves their steps in front of the others, which `steps` then starts with.
void etx_once_split_steps(etx_method* method);

// Runs them, if sizes have changed since they ran.
ETX_MUST_USE etx_status etx_once_run(etx_method* method, etx_diag* diag);

#endif
