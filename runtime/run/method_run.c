// Runs a method: checks inputs, prepares kernels if sizes changed, copies
// planned inputs, calls the kernels, copies mutable inputs back.
//
// The loop goes over an array of function and call, with one indirect call for
// each step. Methods with jumps or late values are run by run_chains.c instead.

#include "runtime/method/method_error.h"
#include "runtime/method/method_names.h"
#include "runtime/method/method_types.h"
#include "runtime/run/method_run.h"
#include "runtime/run/run_chains.h"
#include "runtime/run/run_observer.h"
#include "runtime/run/sized_memory.h"
#include "runtime/run/state_checks.h"
#include "runtime/shapes/late_versions.h"
#include "runtime/shapes/method_shapes.h"
#include "runtime/shapes/method_symbols.h"
#include "runtime/shapes/shape_phase.h"

static etx_status check_ready(const etx_method* method, etx_diag* diag) {
  char name_buffer[ETX_INPUT_NAME_BYTES];
  if (method->state.data != NULL && *method->state.torn != 0) {
    return etx_diag_fail(diag, ETX_TORN_STATE,
                         "method '%t' cannot run: an earlier run left state "
                         "half-written; reset or restore it",
                         etx_pte_plan_name(&method->plan));
  }
  for (size_t i = 0; i < method->input_count; ++i) {
    if (method->inputs[i].is_set) continue;
    return etx_diag_fail(diag, ETX_BAD_STATE,
                         "input '%t' of method '%t' was never set",
                         etx_method_input_name(method, i, name_buffer),
                         etx_pte_plan_name(&method->plan));
  }
  return ETX_OK;
}

static etx_status prepare(etx_method* method, etx_diag* diag) {
  if (!ETX_DYNAMIC || method->is_prepared) return ETX_OK;
  ETX_TRY(etx_method_solve_symbols(method, diag));
  ETX_TRY(etx_method_shape_all(method, diag));
  const etx_status status = etx_method_check_given(method, diag);
  if (status != ETX_OK) method->is_prepared = false;
  ETX_TRY(status);
  method->inputs_moved = false;
  return ETX_OK;
}

static void copy_planned_inputs(etx_method* method) {
  const etx_method_input* const end = method->inputs + method->input_count;
  for (const etx_method_input* input = method->inputs; input < end; ++input) {
    if (!input->is_planned) continue;
    const etx_method_tensor* tensor = &method->tensors[input->tensor];
    const size_t bytes = tensor->bytes;
    if (bytes > 0) memmove(tensor->storage, input->data, bytes);
  }
}

// Copies the new content of mutable inputs that was not written in place.
static void copy_back(etx_method* method) {
  const etx_method_input* const end = method->inputs + method->input_count;
  for (const etx_method_input* input = method->inputs; input < end; ++input) {
    if (input->new_content == NULL || input->tensor == ETX_NO_INDEX) continue;
    const uint8_t* from = (const uint8_t*)input->new_content->as.tensor.data;
    if (from == input->data) continue;
    const etx_method_tensor* tensor = &method->tensors[input->tensor];
    const size_t bytes = tensor->bytes;
    if (bytes > 0) memmove(input->data, from, bytes);
  }
}

// Both loops return the position of the step that failed, or `end`.
size_t etx_method_run_range(const etx_method* method, size_t first, size_t end,
                            etx_status* out_status) {
  const etx_method_step* const steps = method->steps;
  etx_status status = ETX_OK;
  size_t i = first;
  for (; i < end; ++i) {
    status = steps[i].run(steps[i].call);
    if (status != ETX_OK) break;
  }
  *out_status = status;
  return i;
}

static size_t run_range_observed(const etx_method* method, size_t first,
                                 size_t end, etx_status* out_status) {
  for (size_t i = first; i < end; ++i) {
    *out_status =
        etx_run_observer_call(method->observer, method->steps[i].call);
    if (*out_status != ETX_OK) return i;
  }
  return end;
}

// Runs the steps in front of the first write of state, and asks the kernels
// behind it. Returns the position of the step that failed, or that of the first
// write.
static size_t run_up_to_state(etx_method* method, etx_status* out_status,
                              etx_diag* diag) {
  const size_t first = method->first_state_step;
  const size_t end = method->run_range(method, 0, first, out_status);
  if (end == first) *out_status = etx_state_checks_run(method, diag);
  return end;
}

// `torn` is set while a run may write state, so that it stays set even if the
// process stops during the run.
static etx_status run_steps(etx_method* method, etx_diag* diag) {
  const size_t count = method->step_count;
  const bool writes_state = method->first_state_step != SIZE_MAX;
  if (count > method->program->limits.max_steps) {
    return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                         "method '%t' has %z instructions, the limit of a run "
                         "is %u",
                         etx_pte_plan_name(&method->plan), count,
                         method->program->limits.max_steps);
  }
  method->kernel_diag->status = ETX_OK;
  etx_status status = ETX_OK;
  size_t end = 0;
  if (ETX_INDEX_CHECKS && etx_state_checks_exist(method)) {
    end = run_up_to_state(method, &status, diag);
    if (status != ETX_OK && end == method->first_state_step) return status;
  }
  if (status == ETX_OK) {
    if (writes_state) *method->state.torn = 1;
    end = method->run_range(method, end, count, &status);
    const bool is_whole = end == count || end < method->first_state_step;
    if (writes_state && is_whole) *method->state.torn = 0;
  }
  if (end == count) return ETX_OK;
  return etx_method_error_report(
      method, etx_record_of_call(method->steps[end].call), status, diag);
}

// The method whose instructions run: a variant, or the method itself.
static etx_method* choose(etx_method* method, bool runs) {
  return ETX_DYNAMIC && method->choose != NULL ? method->choose(method, runs)
                                               : method;
}

// Runs the instructions of a method whose inputs are set.
static etx_status run_ready(etx_method* method, etx_diag* diag) {
  ETX_TRY(prepare(method, diag));
  if (method->inputs_moved) etx_method_update_pointers(method);
  method->inputs_moved = false;
  if (ETX_CONTROL_FLOW && (method->flow & ETX_FLOW_LATE) != 0 &&
      !etx_late_same_begin(method)) {
    etx_method_restart_late(method);
  }
  if (ETX_DYNAMIC && method->once != NULL) {
    ETX_TRY(method->once->run(method, diag));
  }
  copy_planned_inputs(method);
  if (ETX_INDEX_CHECKS && method->has_new_steps) etx_state_checks_find(method);
  ETX_TRY(ETX_CONTROL_FLOW && etx_method_has_flow(method)
              ? etx_run_chains(method, diag)
              : run_steps(method, diag));
  copy_back(method);
  return ETX_OK;
}

etx_status etx_method_run_entered(etx_method* method, etx_diag* diag) {
  ETX_TRY(check_ready(method, diag));
  return run_ready(choose(method, true), diag);
}

etx_status etx_method_refuse_entry(const etx_method* method, etx_diag* diag) {
  return etx_diag_fail(diag, ETX_BAD_STATE,
                       "method '%t' is in use by another thread",
                       etx_pte_plan_name(&method->plan));
}

etx_status etx_method_run(etx_method* method, etx_diag* diag) {
  etx_status status = etx_method_enter(method, diag);
  if (status == ETX_OK) {
    status = etx_method_run_entered(method, diag);
    etx_method_leave(method);
  }
  return etx_diag_seal(diag, status);
}

void etx_method_observe(etx_method* method, const etx_run_observer* observer) {
  method->observer = observer;
  method->run_range =
      observer == NULL ? etx_method_run_range : run_range_observed;
}

static etx_status prepare_ready(etx_method* method, etx_diag* diag) {
  ETX_TRY(check_ready(method, diag));
  return prepare(choose(method, false), diag);
}

etx_status etx_method_prepare(etx_method* method, etx_diag* diag) {
  etx_status status = etx_method_enter(method, diag);
  if (status == ETX_OK) {
    status = prepare_ready(method, diag);
    etx_method_leave(method);
  }
  return etx_diag_seal(diag, status);
}

static void forget(etx_method* method) {
  for (size_t i = 0; i < method->input_count; ++i) {
    etx_method_input* const input = &method->inputs[i];
    // A fixed number or None is part of the method.
    if (input->tensor != ETX_NO_INDEX || input->varies) input->is_set = false;
  }
  etx_method_observe(method, NULL);
}

etx_status etx_method_forget(etx_method* method, etx_diag* diag) {
  const etx_status status = etx_method_enter(method, diag);
  if (status == ETX_OK) {
    forget(method);
    etx_method_leave(method);
  }
  return etx_diag_seal(diag, status);
}
