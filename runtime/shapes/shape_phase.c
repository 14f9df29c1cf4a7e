// The shape phase goes over the records in the file's order, whatever order
// they run in: both branches of a choice, and the body of a loop once. See
// late_values.h for the records that it leaves to the run.

#include "runtime/shapes/shape_phase.h"

#include "runtime/method/method_error.h"
#include "runtime/shapes/late_values.h"
#include "runtime/shapes/method_shapes.h"
#include "runtime/shapes/method_sizes.h"

// Rounds until all records are prepared during the run. The second finds what
// becomes late because of the first; files of exporters need no more.
enum { MAX_ROUNDS = 4 };

bool etx_condition_holds(const etx_value* condition) {
  if (condition->kind == ETX_VALUE_BOOL) return condition->as.boolean;
  const uint8_t* data = (const uint8_t*)condition->as.tensor.data;
  if (condition->as.tensor.rank == 0) return data[0] != 0;
  const size_t count = etx_tensor_numel(&condition->as.tensor);
  for (size_t i = 0; i < count; ++i) {
    if (data[i] == 0) return false;
  }
  return true;
}

etx_status etx_step_jump(etx_call* call) {
  const void* const condition =
      (const void*)(uintptr_t)call->prepared[ETX_JUMP_CONDITION];
  return etx_condition_holds((const etx_value*)condition) ? ETX_OK
                                                          : ETX_INTERNAL;
}

etx_status etx_step_late(etx_call* call) {
  (void)call;
  return ETX_INTERNAL;
}

// A late record sees the values that its arguments have in the run, so they
// must not be changed ahead after it.
static void mark_call_used(etx_method* method,
                           const etx_method_record* record) {
  for (size_t i = 0; i < record->call.argument_count; ++i) {
    etx_value_span values = etx_call_argument_values(&record->call, i);
    for (; values.at != values.end; ++values.at) {
      if (*values.at != NULL) etx_method_mark_used(method, *values.at);
    }
  }
  if (record->slot == ETX_NO_INDEX) return;
  etx_method_mark_used(method, &method->values[record->slot]);
}

static bool is_late_in(const etx_method* method, const etx_value* value,
                       uint8_t bits) {
  return (etx_method_tensor_of(method, value)->late & bits) != 0;
}

// The target of a move has the root of its source only from then on, but often
// the same sizes in the whole run.
static void shape_move(etx_method* method, etx_method_record* record) {
  const etx_value* from = &method->values[record->from];
  const etx_value* to = &method->values[record->to];
  record->late = ETX_RECORD_LATE;
  etx_method_mark_used(method, from);
  if (from->kind != ETX_VALUE_TENSOR) return;
  bool is_late = is_late_in(method, from, ETX_LATE_SIZES);
  if (!is_late && etx_method_is_dynamic(etx_method_tensor_of(method, to)) &&
      !is_late_in(method, to, ETX_LATE_SIZES)) {
    is_late =
        etx_method_resize(method, etx_method_tensor_of(method, to),
                          from->as.tensor.sizes, method->kernel_diag) != ETX_OK;
  }
  if (is_late) etx_late_mark(method, to, ETX_LATE_SIZES);
  etx_method_mark_used(method, to);
}

static void shape_jump(etx_method* method, etx_method_record* record) {
  const etx_value* condition = &method->values[record->from];
  record->late = ETX_RECORD_AHEAD;
  etx_method_mark_used(method, condition);
  if (condition->kind != ETX_VALUE_TENSOR) return;
  if (is_late_in(method, condition, ETX_LATE_SIZES | ETX_LATE_ROOT) ||
      etx_method_check_memory(method, condition, method->kernel_diag) !=
          ETX_OK) {
    record->late = ETX_RECORD_LATE;
  }
}

static etx_status shape_call(etx_method* method, etx_method_record* record) {
  record->late =
      (uint8_t)(etx_method_has_flow(method) ? etx_late_of(method, record)
                                            : ETX_RECORD_AHEAD);
  if (record->late != ETX_RECORD_LATE) {
    const etx_status status = etx_method_shape_record(method, record);
    if (!etx_method_has_flow(method)) return status;
    if (status != ETX_OK || (method->flow & ETX_FLOW_DEFERRED) != 0) {
      record->late = ETX_RECORD_LATE;
    } else if (record->late == ETX_RECORD_AHEAD && record->is_sized_by_data) {
      record->late = (uint8_t)etx_late_of_resizing(method, record);
    }
  }
  if (record->late == ETX_RECORD_AHEAD) return ETX_OK;
  if (record->late == ETX_RECORD_LATE) {
    etx_late_mark_results(method, record);
  } else if (record->late == ETX_RECORD_ROOTS && record->slot != ETX_NO_INDEX) {
    // A view has its sizes already.
    etx_late_mark(method, &method->values[record->slot],
                  record->kind == ETX_RECORD_VIEW
                      ? ETX_LATE_ROOT
                      : ETX_LATE_ROOT | ETX_LATE_SIZES);
  }
  mark_call_used(method, record);
  return ETX_OK;
}

// Messages stay in `kernel_diag`.
static etx_status shape_ahead(etx_method* method, etx_method_record* record) {
  if (!ETX_DYNAMIC) return etx_method_shape_record(method, record);
  method->flow &= (uint8_t)~ETX_FLOW_DEFERRED;
  switch (record->kind) {
    case ETX_RECORD_MOVE:
      shape_move(method, record);
      return ETX_OK;
    case ETX_RECORD_JUMP:
      shape_jump(method, record);
      return ETX_OK;
    case ETX_RECORD_FREE:
      record->late = ETX_RECORD_LATE;
      return ETX_OK;
    default:
      return shape_call(method, record);
  }
}

static void add_step(etx_method* method, etx_method_record* record) {
  const bool is_late = ETX_DYNAMIC && record->late != ETX_RECORD_AHEAD;
  const bool is_jump = ETX_DYNAMIC && record->kind == ETX_RECORD_JUMP;
  if (record->kind != ETX_RECORD_KERNEL && !is_late && !is_jump) return;
  if (record->writes_state && !is_late &&
      method->first_state_step == SIZE_MAX) {
    method->first_state_step = method->step_count;
  }
  etx_method_step* step = &method->steps[method->step_count++];
  step->run = record->call.run;
  step->call = &record->call;
  if (is_jump) step->run = etx_step_jump;
  if (is_late) step->run = etx_step_late;
  if (is_late) method->prepares_during_run = true;
}

size_t etx_method_step_from(const etx_method* method, size_t record) {
  size_t low = 0;
  size_t high = method->step_count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    const etx_method_record* at =
        etx_record_of_call(method->steps[middle].call);
    if ((size_t)(at - method->records) < record) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static void find_destinations(etx_method* method) {
  for (size_t i = 0; i < method->record_count; ++i) {
    etx_method_record* record = &method->records[i];
    if (record->kind != ETX_RECORD_JUMP) continue;
    const size_t to = i - record->instruction + record->to;
    int64_t* prepared = record->call.prepared;
    prepared[ETX_JUMP_CONDITION] =
        (int64_t)(uintptr_t)&method->values[record->from];
    prepared[ETX_JUMP_RECORD] = (int64_t)to;
    prepared[ETX_JUMP_STEP] = (int64_t)etx_method_step_from(method, to);
    prepared[ETX_JUMP_SEEN_FROM] = 0;
  }
}

static etx_status shape_round(etx_method* method, etx_diag* diag) {
  method->step_count = 0;
  method->first_state_step = SIZE_MAX;
  if (ETX_DYNAMIC) method->prepares_during_run = false;
  etx_method_restart(method);
  etx_method_update_pointers(method);
  for (size_t i = 0; i < method->record_count; ++i) {
    etx_method_record* record = &method->records[i];
    const etx_status status = shape_ahead(method, record);
    if (status != ETX_OK) {
      return etx_method_error_report(method, record, status, diag);
    }
    if (!ETX_DYNAMIC && method->prepares_during_run) return ETX_OK;
    add_step(method, record);
  }
  return ETX_OK;
}

// True if the phase must start again.
static bool found_late_values(etx_method* method, size_t rounds) {
  const uint8_t all = ETX_FLOW_ALL_LATE;
  const bool found =
      (method->flow & ETX_FLOW_CHANGED) != 0 && (method->flow & all) == 0;
  method->flow &= (uint8_t) ~(ETX_FLOW_CHANGED | ETX_FLOW_DEFERRED);
  if (found && rounds == MAX_ROUNDS) method->flow |= all;
  return found;
}

etx_status etx_method_shape_all(etx_method* method, etx_diag* diag) {
  size_t rounds = 0;
  method->is_prepared = false;
  do {
    ETX_TRY(shape_round(method, diag));
    if (!ETX_DYNAMIC && method->prepares_during_run) return ETX_OK;
  } while (ETX_DYNAMIC && found_late_values(method, ++rounds));
  if (ETX_DYNAMIC && etx_method_has_flow(method)) find_destinations(method);
  if (!ETX_DYNAMIC || !method->prepares_during_run) {
    ETX_TRY(etx_method_check_mutated_inputs(method, diag));
  }
  method->is_prepared = true;
  return ETX_OK;
}
