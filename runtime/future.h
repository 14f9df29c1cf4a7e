// Runs of methods that the caller does not wait for at once.
//
//   etx_future future = {.status = ETX_OK};    // stays where it is
//   etx_method_run_async(&method, &pool.launcher, &future, &diag);
//   ...                                        // other work
//   if (etx_future_wait(&future, &diag) == ETX_OK) ...  // read the outputs
//
// A run that is pending has its method: inputs, outputs and memory that the
// method shares with others must not be used until it is done. So two methods
// that run at the same time have scratch and temporary memory of their own, and
// state too, unless neither of them writes it.
//
// Ownership  the future belongs to the caller. It is zero before its first run,
//            and it and its launcher stay until the run is done. It may then be
//            used again.
// Threads    any thread may ask and wait, several at the same time.

#ifndef ETX_RUNTIME_FUTURE_H
#define ETX_RUNTIME_FUTURE_H

#include "runtime/launcher.h"
#include "runtime/method.h"

// A run of a method, and how it ended. Fields are private.
typedef struct etx_future {
  etx_work work;                 // what the launcher gets; it comes first
  etx_method* method;            // that runs
  const etx_launcher* launcher;  // NULL: the run was done inline
  etx_status status;             // of the run, once it is done
  etx_diag diag;                 // the same
} etx_future;

// Submits a run of the method to the launcher. The run itself is that of
// etx_method_run; its failure is what etx_future_wait returns. `launcher` may
// be NULL: the method is run before this function returns, with the same
// results. ETX_BAD_STATE: the method is in use, or the future has a run that is
// not done; ETX_HOST_FAILED: the launcher did not accept the run. After such a
// failure nothing was run, and nothing is pending that was not before.
ETX_MUST_USE etx_status etx_method_run_async(etx_method* method,
                                             const etx_launcher* launcher,
                                             etx_future* future,
                                             etx_diag* diag);

// True if the future's run is done; false if it is pending or there is none.
bool etx_future_is_done(const etx_future* future);

// Waits until the run is done. Returns its status and copies its message, as
// etx_method_run would have left them; waiting again gives the same.
// ETX_BAD_STATE: there is no run.
ETX_MUST_USE etx_status etx_future_wait(etx_future* future, etx_diag* diag);

#endif
