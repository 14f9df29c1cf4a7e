#include "runtime/run/run_observer.h"

#include "runtime/method_internal.h"

etx_status etx_method_run_observed(const etx_run_observer* observer,
                                   etx_call* call) {
  const size_t instruction = etx_record_of_call(call)->instruction;
  observer->before(observer->context, instruction, call);
  const etx_status status = call->run(call);
  observer->after(observer->context, instruction, call);
  return status;
}
