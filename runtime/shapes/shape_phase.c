// The shape phase goes over the records in the file's order, whatever order
// they run in: both branches of a choice, and the body of a loop once. See
// late_values.h for the records that it leaves to the run.

#include "runtime/shapes/shape_phase.h"

#include "runtime/method/method_error.h"
#include "runtime/shapes/flow_steps.h"
#include "runtime/shapes/late_values.h"
#include "runtime/shapes/late_versions.h"
#include "runtime/shapes/method_shapes.h"
#include "runtime/shapes/method_sizes.h"
#include "runtime/shapes/move_roots.h"
#include "runtime/shapes/scratch_compaction.h"
#include "runtime/shapes/size_program.h"

// Rounds until all records are prepared during the run. The second finds what
// becomes late because of the first; files of exporters need no more.
enum { MAX_ROUNDS = 4 };

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

// The target of a move has the root of its source only from then on, but mostly
// the same sizes in the whole run.
static void shape_move(etx_method* method, etx_method_record* record) {
  const etx_value* from = &method->values[record->from];
  const etx_value* to = &method->values[record->to];
  record->late = ETX_RECORD_AHEAD;
  etx_method_mark_used(method, from);
  if (from->kind != ETX_VALUE_TENSOR) return;
  if (is_late_in(method, from, ETX_LATE_SIZES) ||
      is_late_in(method, to, ETX_LATE_SIZES) ||
      etx_method_resize(method, etx_method_tensor_of(method, to),
                        from->as.tensor.sizes, method->kernel_diag) != ETX_OK ||
      (method->flow & ETX_FLOW_DEFERRED) != 0) {
    record->late = ETX_RECORD_LATE;
    etx_late_mark(method, to, ETX_LATE_SIZES);
  }
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
  if (etx_method_has_flow(method)) {
    record->late = (uint8_t)etx_late_of(method, record);
  }
  if (record->late != ETX_RECORD_LATE) {
    const etx_status status = etx_method_shape_record(method, record);
    if (!etx_method_has_flow(method)) return status;
    if (status != ETX_OK || (method->flow & ETX_FLOW_DEFERRED) != 0) {
      record->late = ETX_RECORD_LATE;
    } else if (record->is_sized_by_data) {
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

static etx_status shape_with_flow(etx_method* method,
                                  etx_method_record* record) {
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

// Messages stay in `kernel_diag`.
static etx_status shape_ahead(etx_method* method, etx_method_record* record) {
  return ETX_CONTROL_FLOW ? shape_with_flow(method, record)
                          : etx_method_shape_record(method, record);
}

static void add_step(etx_method* method, etx_method_record* record) {
  const bool is_late = ETX_CONTROL_FLOW && record->late != ETX_RECORD_AHEAD;
  if (ETX_DYNAMIC && record->is_idle && !is_late) return;
  etx_kernel_function run = record->call.run;
  if (is_late || record->kind != ETX_RECORD_KERNEL) {
    run = ETX_CONTROL_FLOW ? etx_flow_step_of(record) : NULL;
    if (run == NULL) return;
  }
  if (record->writes_state && !is_late &&
      method->first_state_step == SIZE_MAX) {
    method->first_state_step = method->step_count;
  }
  if (is_late) method->prepares_during_run = true;
  etx_method_step* step = &method->steps[method->step_count++];
  step->run = run;
  step->call = &record->call;
}

// Calls that need no check when they run, whatever moves did before. None of
// them sets sizes by data: these are never left with late memory alone.
static void settle_roots(etx_method* method) {
  for (size_t i = 0; i < method->record_count; ++i) {
    etx_method_record* record = &method->records[i];
    if (record->late == ETX_RECORD_ROOTS && record->kind == ETX_RECORD_KERNEL &&
        record->slot == ETX_NO_INDEX && etx_move_roots_fit(method, record)) {
      record->late = ETX_RECORD_AHEAD;
    }
  }
}

static void start_steps(etx_method* method) {
  if (ETX_DYNAMIC) {
    method->steps -= method->once_count;
    method->once_count = 0;
  }
  method->step_count = 0;
  method->first_state_step = SIZE_MAX;
  if (ETX_INDEX_CHECKS) method->has_new_steps = true;
}

// Adds all steps, which depend on later records if there is control flow.
static void add_steps(etx_method* method) {
  start_steps(method);
  method->prepares_during_run = false;
  for (size_t i = 0; i < method->record_count; ++i) {
    add_step(method, &method->records[i]);
  }
}

// For the same steps, with other functions of their kernels.
static void renew_functions(const etx_method* method) {
  etx_method_step* const end = method->steps + method->step_count;
  etx_method_step* step = method->steps - method->once_count;
  for (; step != end; ++step) step->run = step->call->run;
}

static etx_status shape_round(etx_method* method, etx_diag* diag) {
  start_steps(method);
  etx_method_restart(method);
  if (ETX_DYNAMIC && etx_scratch_is_compacted(method)) {
    etx_scratch_compaction_restart(method);
  }
  etx_method_update_pointers(method);
  for (size_t i = 0; i < method->record_count; ++i) {
    etx_method_record* record = &method->records[i];
    const etx_status status = shape_ahead(method, record);
    if (status != ETX_OK) {
      return etx_method_error_report(method, record, status, diag);
    }
    if (!ETX_CONTROL_FLOW && method->prepares_during_run) return ETX_OK;
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

// What is left for a method with jumps or late values when all its late records
// are known.
static void finish_flow(etx_method* method) {
  settle_roots(method);
  add_steps(method);
  etx_flow_steps_link(method);
  etx_late_versions_restart(method);
}

// The phase without a size program.
static etx_status shape_records(etx_method* method, etx_diag* diag) {
  size_t rounds = 0;
  if (ETX_CONTROL_FLOW) {
    method->flow &= (uint8_t) ~(ETX_FLOW_SAME | ETX_FLOW_UNLIKE);
  } else if (ETX_DYNAMIC) {
    method->prepares_during_run = false;
  }
  do {
    ETX_TRY(shape_round(method, diag));
  } while (ETX_CONTROL_FLOW && found_late_values(method, ++rounds));
  if (!ETX_CONTROL_FLOW && method->prepares_during_run) {
    return etx_method_refuse_late(method, diag);
  }
  if (ETX_SIZE_PROGRAMS) etx_size_program_build(method);
  return ETX_OK;
}

// Begins a phase with the size program of a method with jumps or late values:
// late ones are as before the run.
static void restart_flow(etx_method* method) {
  method->flow &= (uint8_t) ~(ETX_FLOW_SAME | ETX_FLOW_UNLIKE);
  etx_method_restart_late(method);
}

// True if all records are prepared.
static bool run_size_program(etx_method* method) {
  if (!method->sizes.is_used) return false;
  const bool has_flow = etx_method_has_flow(method);
  if (ETX_CONTROL_FLOW && has_flow) restart_flow(method);
  if (has_flow && etx_scratch_is_compacted(method)) {
    etx_scratch_compaction_restart(method);
  }
  // After sizes that the program did not take, values may have become late.
  if (method->flow != method->sizes.flow || !etx_size_program_run(method)) {
    etx_size_program_detach(method);
    // With what is left to the run at these sizes, it is built again.
    if (has_flow) method->sizes.is_tried = method->sizes.is_used = false;
    return false;
  }
  if (method->inputs_moved) etx_method_update_pointers(method);
  if (has_flow) return true;  // its steps are added when all is known
  if (method->sizes.has_new_steps) {
    add_steps(method);
  } else if (method->sizes.has_new_functions) {
    renew_functions(method);
  }
  method->sizes.has_new_steps = method->sizes.has_new_functions = false;
  return true;
}

static void compact(etx_method* method) {
  etx_scratch_compact(method);
  if (ETX_SIZE_PROGRAMS && method->has_scratch_lists) {
    ++method->address_updates;
    return;
  }
  etx_method_update_pointers(method);
  // The first phase, that of loading, builds no program: it is not known yet
  // what is kept.
  if (ETX_SIZE_PROGRAMS && method->sizes.is_used &&
      !etx_method_has_flow(method) && method->scratch.data != NULL) {
    etx_scratch_lists_make(method);
  }
}

etx_status etx_method_shape_all(etx_method* method, etx_diag* diag) {
  method->is_prepared = false;
  if (ETX_DYNAMIC) ++method->phases;
  if (!(ETX_SIZE_PROGRAMS && run_size_program(method))) {
    ETX_TRY(shape_records(method, diag));
  }
  if (ETX_DYNAMIC && etx_scratch_is_compacted(method)) compact(method);
  if (ETX_CONTROL_FLOW && etx_method_has_flow(method)) finish_flow(method);
  if (!ETX_CONTROL_FLOW || (method->flow & ETX_FLOW_LATE) == 0) {
    ETX_TRY(etx_method_check_mutated_inputs(method, diag));
  }
  if (ETX_DYNAMIC && method->once != NULL && !etx_method_has_flow(method)) {
    method->once->split(method);
  }
  method->is_prepared = true;
  return ETX_OK;
}
