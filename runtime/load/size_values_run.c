#include "runtime/load/size_values_run.h"

#include "runtime/method/method_error.h"
#include "runtime/run/method_run.h"

static bool runs_once(const etx_method_step* step) {
  return etx_record_of_call(step->call)->runs_once;
}

void etx_once_split_steps(etx_method* method) {
  etx_method_step* const steps = method->steps;
  size_t count = 0;
  method->once_is_due = true;
  if (method->once_count > 0) return;
  for (size_t i = 0; i < method->step_count; ++i) {
    if (!runs_once(&steps[i])) continue;
    const etx_method_step step = steps[i];
    memmove(&steps[count + 1], &steps[count], (i - count) * sizeof step);
    steps[count++] = step;
  }
  method->once_count = count;
  method->steps += count;
  method->step_count -= count;
  method->first_state_step = SIZE_MAX;
  for (size_t i = 0; i < method->step_count; ++i) {
    if (!etx_record_of_call(method->steps[i].call)->writes_state) continue;
    method->first_state_step = i;
    return;
  }
}

etx_status etx_once_run(etx_method* method, etx_diag* diag) {
  etx_status status = ETX_OK;
  if (!method->once_is_due) return ETX_OK;
  const size_t all = method->once_count;
  method->kernel_diag->status = ETX_OK;
  method->steps -= all;
  const size_t end = method->observer == NULL
                         ? etx_method_run_range(method, 0, all, &status)
                         : method->run_range(method, 0, all, &status);
  method->steps += all;
  method->once_is_due = end != all;
  if (!method->once_is_due) return ETX_OK;
  const etx_method_step* const failed = &method->steps[end] - all;
  return etx_method_error_report(method, etx_record_of_call(failed->call),
                                 status, diag);
}
