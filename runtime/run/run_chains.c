// Runs a method whose control flow or sizes depend on data: each record is
// prepared just before it runs. The number of steps is limited, so that the run
// ends.

#include "runtime/run/run_chains.h"

#include "runtime/method/method_error.h"
#include "runtime/method/method_types.h"
#include "runtime/run/run_observer.h"
#include "runtime/shapes/method_shapes.h"
#include "runtime/shapes/method_sizes.h"

static bool all_true(const etx_value* value) {
  if (value->kind == ETX_VALUE_BOOL) return value->as.boolean;
  const uint8_t* data = (const uint8_t*)value->as.tensor.data;
  const size_t count = etx_tensor_numel(&value->as.tensor);
  for (size_t i = 0; i < count; ++i) {
    if (data[i] == 0) return false;
  }
  return true;
}

static etx_status move(etx_method* method, const etx_method_record* record) {
  const etx_value* from = &method->values[record->from];
  etx_value* to = &method->values[record->to];
  if (from->kind == ETX_VALUE_TENSOR) {
    return etx_method_rebind(method, etx_method_tensor_of(method, to),
                             etx_method_tensor_of(method, from),
                             method->kernel_diag);
  }
  to->as = from->as;  // of the same kind
  return ETX_OK;
}

// Runs a kernel, which may set the sizes of its outputs.
static etx_status run_kernel(etx_method* method, etx_method_record* record) {
  const etx_resizer resizer = {etx_method_resize_output, method};
  if (record->writes_state) *method->state.torn = 1;
  record->call.resizer = &resizer;
  const etx_status status =
      method->observer == NULL
          ? record->call.run(&record->call)
          : etx_run_observer_call(method->observer, &record->call);
  record->call.resizer = NULL;
  return status;
}

// Runs one record, which is prepared. A jump sets `next`, the position of the
// next record.
static etx_status run_record(etx_method* method, etx_method_record* record,
                             const size_t chain_start, size_t* next) {
  switch (record->kind) {
    case ETX_RECORD_KERNEL:
      return run_kernel(method, record);
    case ETX_RECORD_MOVE:
      return move(method, record);
    case ETX_RECORD_JUMP: {
      const etx_value* condition = &method->values[record->from];
      if (condition->kind == ETX_VALUE_TENSOR) {
        ETX_TRY(
            etx_method_check_memory(method, condition, method->kernel_diag));
      }
      if (!all_true(condition)) *next = chain_start + record->to;
      return ETX_OK;
    }
    case ETX_RECORD_FREE: {
      etx_method_tensor* tensor =
          etx_method_tensor_of(method, &method->values[record->from]);
      tensor->root = ETX_NO_INDEX;
      tensor->value->as.tensor.data = NULL;
      return ETX_OK;
    }
    default:
      return ETX_OK;  // done in the shape phase
  }
}

static etx_status run_chain(etx_method* method, size_t chain, uint64_t* steps,
                            etx_diag* diag) {
  const size_t start = method->chain_starts[chain];
  const size_t end = method->chain_starts[chain + 1];
  const uint64_t limit = method->program->limits.max_steps;
  for (size_t at = start; at < end;) {
    etx_method_record* record = &method->records[at++];
    if ((*steps)++ == limit) {
      etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                    "the run takes more than %u instructions", limit);
      etx_method_error_locate(method, record, diag);
      return ETX_OUT_OF_RANGE;
    }
    ETX_TRY(etx_method_shape_record(method, record, diag));
    method->kernel_diag->status = ETX_OK;
    const etx_status status = run_record(method, record, start, &at);
    if (status != ETX_OK)
      return etx_method_error_report(method, record, status, diag);
  }
  return ETX_OK;
}

etx_status etx_run_chains(etx_method* method, etx_diag* diag) {
  uint64_t steps = 0;
  for (size_t i = 0; i < method->chain_count; ++i) {
    ETX_TRY(run_chain(method, i, &steps, diag));
  }
  ETX_TRY(etx_method_check_mutated_inputs(method, diag));
  if (method->state.data != NULL) *method->state.torn = 0;
  return ETX_OK;
}
