// Runs of methods on threads of the caller.
//
// The thread that submits a run enters the method, and the thread that runs it
// leaves it: so the method is in use from the submission on.

#include "runtime/future.h"

#include "runtime/run/method_run.h"

static void run_future(etx_work* work) {
  etx_future* const future = (etx_future*)(void*)work;
  etx_method* const method = future->method;
  future->status = etx_diag_seal(&future->diag,
                                 etx_method_run_entered(method, &future->diag));
  etx_method_leave(method);
  // A waiting thread may end the future's memory after this.
  __atomic_store_n(&work->state, ETX_WORK_DONE, __ATOMIC_SEQ_CST);
}

// Makes the future pending. Refuses one that is pending already.
static etx_status claim(etx_future* future, etx_diag* diag) {
  const uint32_t before = __atomic_exchange_n(
      &future->work.state, ETX_WORK_PENDING, __ATOMIC_ACQ_REL);
  if (before != ETX_WORK_PENDING) return ETX_OK;
  return etx_diag_fail(diag, ETX_BAD_STATE,
                       "the future has a run that is not done");
}

static void release(etx_future* future) {
  __atomic_store_n(&future->work.state, ETX_WORK_NONE, __ATOMIC_RELEASE);
}

static etx_status submit(etx_method* method, const etx_launcher* launcher,
                         etx_future* future, etx_diag* diag) {
  ETX_TRY(etx_method_enter(method, diag));
  const etx_status status = claim(future, diag);
  if (status != ETX_OK) {
    etx_method_leave(method);
    return status;
  }
  future->method = method;
  future->launcher = launcher;
  future->work.run = run_future;
  future->work.next = NULL;
  etx_diag_init(&future->diag);
  if (launcher == NULL) {
    run_future(&future->work);
    return ETX_OK;
  }
  if (launcher->submit(launcher->context, &future->work)) return ETX_OK;
  release(future);
  etx_method_leave(method);
  return etx_diag_fail(diag, ETX_HOST_FAILED,
                       "the launcher did not accept a run of method '%t'",
                       etx_pte_plan_name(&method->plan));
}

etx_status etx_method_run_async(etx_method* method,
                                const etx_launcher* launcher,
                                etx_future* future, etx_diag* diag) {
  return etx_diag_seal(diag, submit(method, launcher, future, diag));
}

bool etx_future_is_done(const etx_future* future) {
  return etx_work_is_done(&future->work);
}

etx_status etx_future_wait(etx_future* future, etx_diag* diag) {
  const uint32_t state = __atomic_load_n(&future->work.state, __ATOMIC_ACQUIRE);
  if (state == ETX_WORK_NONE) {
    return etx_diag_seal(
        diag, etx_diag_fail(diag, ETX_BAD_STATE, "the future has no run"));
  }
  if (!etx_future_is_done(future)) {
    future->launcher->wait(future->launcher->context, &future->work);
  }
  if (diag != NULL && diag->status == ETX_OK && future->status != ETX_OK) {
    *diag = future->diag;
  }
  return future->status;
}
