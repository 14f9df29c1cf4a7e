#include "runtime/run/run_observer.h"

#include "runtime/method/method_types.h"

etx_status etx_run_observer_call(const etx_run_observer* observer,
                                 etx_call* call) {
  const size_t instruction = etx_record_of_call(call)->instruction;
  observer->before(observer->context, instruction, call);
  const etx_status status = call->run(call);
  observer->after(observer->context, instruction, call);
  return status;
}
