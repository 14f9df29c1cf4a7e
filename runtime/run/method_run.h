// The parts of a run, for runs on other threads and for other loops over the
// steps. Internal to runtime/.

#ifndef ETX_RUNTIME_RUN_METHOD_RUN_H
#define ETX_RUNTIME_RUN_METHOD_RUN_H

#include "runtime/method.h"
#include "runtime/wide_registers.h"

// Runs the steps from `first` to `end`. Returns the position of the one that
// failed, or `end`.
size_t etx_method_run_range(const etx_method* method, size_t first, size_t end,
                            etx_status* out_status);

// Reports that a method is in use. Returns ETX_BAD_STATE.
etx_status etx_method_refuse_entry(const etx_method* method, etx_diag* diag);

// Begins the use of a method by one thread, and ends it, perhaps in another
// thread. ETX_BAD_STATE: the method is in use. Inline, because every run does
// both.
static inline etx_status etx_method_enter(etx_method* method, etx_diag* diag) {
  return __atomic_exchange_n(&method->busy, 1u, __ATOMIC_ACQUIRE) == 0
             ? ETX_OK
             : etx_method_refuse_entry(method, diag);
}

static inline void etx_method_leave(etx_method* method) {
  etx_leave_wide_registers();
  __atomic_store_n(&method->busy, 0u, __ATOMIC_RELEASE);
}

// Runs a method that has been entered, as etx_method_run does.
etx_status etx_method_run_entered(etx_method* method, etx_diag* diag);

#endif
