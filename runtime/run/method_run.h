// The parts of a run, for runs on other threads and for other loops over the
// steps. Internal to runtime/.

#ifndef ETX_RUNTIME_RUN_METHOD_RUN_H
#define ETX_RUNTIME_RUN_METHOD_RUN_H

#include "runtime/method.h"

// Runs all steps. Returns the position of the one that failed, or their number.
size_t etx_method_run_all(const etx_method* method, etx_status* out_status);

// Begins the use of a method by one thread, and ends it, perhaps in another
// thread. ETX_BAD_STATE: the method is in use.
etx_status etx_method_enter(etx_method* method, etx_diag* diag);
void etx_method_leave(etx_method* method);

// Runs a method that has been entered, as etx_method_run does.
etx_status etx_method_run_entered(etx_method* method, etx_diag* diag);

#endif
