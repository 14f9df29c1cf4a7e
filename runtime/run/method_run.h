// The loop over the steps of a prepared method.

#ifndef ETX_RUNTIME_RUN_METHOD_RUN_H
#define ETX_RUNTIME_RUN_METHOD_RUN_H

#include "runtime/method.h"

// Runs all steps. Returns the position of the one that failed, or their number.
size_t etx_method_run_all(const etx_method* method, etx_status* out_status);

#endif
