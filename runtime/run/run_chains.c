// Runs a method with jumps or late values (late_values.h).
//
// Steps that are more than the call of a prepared kernel, that is jumps and
// late records, have a function that ends the loop over the steps; they are run
// here and the loop goes on. So a kernel costs as much as in a method without
// jumps.
//
// The number of instructions is limited, so that the run ends. They are counted
// when a jump is taken: the loop ends at the step at which the limit would be
// reached if no further jump were taken.

#include "runtime/run/run_chains.h"

#include "runtime/method/method_error.h"
#include "runtime/method/method_types.h"
#include "runtime/run/run_observer.h"
#include "runtime/run/state_checks.h"
#include "runtime/shapes/flow_steps.h"
#include "runtime/shapes/late_versions.h"
#include "runtime/shapes/method_shapes.h"
#include "runtime/shapes/method_sizes.h"

// A part of the run without a jump that was taken.
typedef struct chain_run {
  etx_method* method;
  size_t first;         // step at which the part starts
  size_t at;            // present step
  size_t first_record;  // record at which the part starts
  uint64_t left;        // instructions that may run from there on
  bool wrote_state;     // before this part, or by a late record
  bool asks;            // the state checks (state_checks.h) are still to do
} chain_run;

// Moves of numbers are never late: flow_steps.c.
static etx_status move(etx_method* method, const etx_method_record* record) {
  return etx_method_rebind(
      method, etx_method_tensor_of(method, &method->values[record->to]),
      etx_method_tensor_of(method, &method->values[record->from]),
      method->kernel_diag);
}

static etx_status call_kernel(const etx_method* method, etx_call* call) {
  return method->observer == NULL
             ? call->run(call)
             : etx_run_observer_call(method->observer, call);
}

// Runs a kernel, which may set the sizes of its outputs.
static etx_status run_kernel(chain_run* r, etx_method_record* record) {
  etx_method* method = r->method;
  const etx_resizer resizer = {etx_method_resize_output, method};
  if (record->writes_state) {
    r->wrote_state = true;
    *method->state.torn = 1;
  }
  record->call.resizer = &resizer;
  const etx_status status = call_kernel(method, &record->call);
  record->call.resizer = NULL;
  return status;
}

// True if a step of this part before `end` writes state. Late records note that
// themselves.
static bool part_writes_state(const chain_run* r, size_t end) {
  for (size_t i = r->first; i < end; ++i) {
    const etx_method_record* record =
        etx_record_of_call(r->method->steps[i].call);
    if (record->late == ETX_RECORD_AHEAD && record->writes_state) return true;
  }
  return false;
}

// The same for a part that ends with a jump. A loop has equal parts, so the
// jump keeps the answer for the last one.
static bool part_before_jump_writes_state(const chain_run* r,
                                          int64_t* prepared) {
  const int64_t key = (int64_t)r->first + 1;
  if (prepared[ETX_JUMP_SEEN_FROM] != key) {
    prepared[ETX_JUMP_SEEN_FROM] = key;
    prepared[ETX_JUMP_SEEN_WRITES] = part_writes_state(r, r->at);
  }
  return prepared[ETX_JUMP_SEEN_WRITES] != 0;
}

// Goes from the present step, a jump, to its destination.
static void take_jump(chain_run* r, int64_t* prepared) {
  if (!r->wrote_state && r->method->first_state_step != SIZE_MAX) {
    r->wrote_state = part_before_jump_writes_state(r, prepared);
  }
  r->left -= (size_t)prepared[ETX_JUMP_END] - r->first_record;
  r->first_record = (size_t)prepared[ETX_JUMP_RECORD];
  r->first = r->at = (size_t)prepared[ETX_JUMP_STEP];
}

// Runs one record, which is prepared.
static etx_status run_record(chain_run* r, etx_method_record* record) {
  etx_method* method = r->method;
  const etx_value* value = &method->values[record->from];
  switch (record->kind) {
    case ETX_RECORD_KERNEL:
      return run_kernel(r, record);
    case ETX_RECORD_MOVE:
      return move(method, record);
    case ETX_RECORD_FREE: {
      etx_method_tensor* tensor = etx_method_tensor_of(method, value);
      tensor->root = ETX_NO_INDEX;
      tensor->value->as.tensor.data = NULL;
      return ETX_OK;
    }
    default:
      return ETX_OK;  // done by the shape phase
  }
}

static etx_status run_late(chain_run* r, etx_method_record* record) {
  etx_method* method = r->method;
  method->kernel_diag->status = ETX_OK;
  if (record->kind == ETX_RECORD_JUMP) {
    const etx_value* condition = &method->values[record->from];
    ETX_TRY(etx_method_check_memory(method, condition, method->kernel_diag));
    if (etx_step_jump(&record->call) == ETX_OK) {
      ++r->at;
    } else {
      take_jump(r, record->call.prepared);
    }
    return ETX_OK;
  }
  const bool is_same = (method->flow & ETX_FLOW_SAME) != 0;
  if (record->late == ETX_RECORD_RESIZES) {
    etx_late_restart_results(method, record);
  }
  if (record->call.op != NULL && record->late != ETX_RECORD_RESIZES) {
    ETX_TRY(etx_late_versions_prepare(method, record));
  }
  ETX_TRY(run_record(r, record));
  // Otherwise etx_late_versions_prepare has compared the results.
  if (is_same || record->is_sized_by_data || record->kind == ETX_RECORD_VIEW) {
    etx_late_compare_results(method, record);
  }
  ++r->at;
  return ETX_OK;
}

// Runs steps up to `end`, or to one that returns something else than ETX_OK.
static inline etx_status run_steps(const etx_method* method, size_t* at,
                                   size_t end) {
  const etx_method_step* steps = method->steps;
  size_t i = *at;
  etx_status status = ETX_OK;
  for (; i < end; ++i) {
    status = steps[i].run(steps[i].call);
    if (status != ETX_OK) break;
  }
  *at = i;
  return status;
}

static etx_status run_steps_observed(const etx_method* method, size_t* at,
                                     size_t end) {
  for (; *at < end; ++*at) {
    const etx_method_step* step = &method->steps[*at];
    const etx_method_record* record = etx_record_of_call(step->call);
    const bool is_kernel =
        record->kind == ETX_RECORD_KERNEL && record->late == ETX_RECORD_AHEAD;
    const etx_status status =
        is_kernel ? call_kernel(method, step->call) : step->run(step->call);
    if (status != ETX_OK) return status;
  }
  return ETX_OK;
}

// The step before which the limit of instructions is reached if no jump is
// taken, or the number of steps.
static size_t end_of_part(const chain_run* r) {
  const size_t rest = r->method->record_count - r->first_record;
  return r->left >= rest
             ? r->method->step_count
             : etx_flow_step_from(r->method, r->first_record + (size_t)r->left);
}

// The step up to which steps run without a look at anything else. A jump may
// lead over the first write of state.
static size_t end_of_stretch(const chain_run* r) {
  const size_t end = end_of_part(r);
  const size_t first = r->method->first_state_step;
  return r->asks && r->at <= first && first < end ? first : end;
}

static etx_status finish(const chain_run* r, etx_diag* diag) {
  etx_method* method = r->method;
  if (r->left < method->record_count - r->first_record) {
    etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                  "the run takes more than %u instructions",
                  method->program->limits.max_steps);
    etx_method_error_locate(
        method, &method->records[r->first_record + (size_t)r->left], diag);
    return ETX_OUT_OF_RANGE;
  }
  return (method->flow & ETX_FLOW_LATE) != 0
             ? etx_method_check_mutated_inputs(method, diag)
             : ETX_OK;
}

// Runs to the end or to a failure. Then the present step is the first that did
// not run.
static etx_status run_parts(chain_run* r, etx_diag* diag) {
  etx_method* method = r->method;
  for (;;) {
    const size_t end = end_of_stretch(r);
    etx_status status = method->observer == NULL
                            ? run_steps(method, &r->at, end)
                            : run_steps_observed(method, &r->at, end);
    if (ETX_INDEX_CHECKS && status == ETX_OK && r->asks &&
        r->at == method->first_state_step) {
      r->asks = false;
      ETX_TRY(etx_state_checks_run(method, diag));
      continue;
    }
    if (status == ETX_OK) return finish(r, diag);
    const etx_method_step* step = &method->steps[r->at];
    if (step->run == etx_step_jump) {
      take_jump(r, step->call->prepared);
      continue;
    }
    const size_t position =
        (size_t)(etx_record_of_call(step->call) - method->records);
    etx_method_record* record = &method->records[position];
    if (step->run == etx_step_late) status = run_late(r, record);
    if (status != ETX_OK) {
      ++r->at;
      return etx_method_error_report(method, record, status, diag);
    }
  }
}

// `torn` is set while a run may write state; see method_run.c.
etx_status etx_run_chains(etx_method* method, etx_diag* diag) {
  chain_run r = {method,
                 0,
                 0,
                 0,
                 method->program->limits.max_steps,
                 false,
                 etx_state_checks_exist(method)};
  const uint64_t clock = method->late_clock;
  if (method->first_state_step != SIZE_MAX) *method->state.torn = 1;
  method->kernel_diag->status = ETX_OK;
  method->flow |= ETX_FLOW_RUNS;
  const etx_status status = run_parts(&r, diag);
  method->flow &= (uint8_t)~ETX_FLOW_RUNS;
  etx_late_same_end(method, status, clock);
  if (method->state.data == NULL) return status;
  const bool is_whole =
      status == ETX_OK || (!r.wrote_state && !part_writes_state(&r, r.at));
  if (is_whole) *method->state.torn = 0;
  return status;
}
