// Runs kernels with an observer.

#ifndef ETX_RUNTIME_RUN_RUN_OBSERVER_H
#define ETX_RUNTIME_RUN_RUN_OBSERVER_H

#include "runtime/method.h"

// Calls `before`, the kernel, then `after`.
etx_status etx_run_observer_call(const etx_run_observer* observer,
                                 etx_call* call);

#endif
