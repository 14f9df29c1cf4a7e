// A kernel called between the two functions of an observer.

#ifndef ETX_RUNTIME_RUN_RUN_OBSERVER_H
#define ETX_RUNTIME_RUN_RUN_OBSERVER_H

#include "runtime/method.h"

// Calls the kernel of a record between the two of an observer.
etx_status etx_run_observer_call(const etx_run_observer* observer,
                                 etx_call* call);

#endif
