#include "runtime/shapes/late_versions.h"

#include "format/base/reachability.h"
#include "runtime/shapes/flow_steps.h"
#include "runtime/shapes/method_shapes.h"
#include "runtime/shapes/method_sizes.h"

static etx_late_version* version_of(const etx_method* method,
                                    const etx_value* value) {
  return &method->versions[value - method->values];
}

static int32_t* sizes_of(const etx_method* method,
                         const etx_late_version* version) {
  return &method->late_sizes[version->first_size];
}

void etx_late_versions_init(etx_method* method) {
  uint32_t sizes = 0;
  method->late_clock = 1;
  for (size_t i = 0; i < method->version_count; ++i) {
    etx_late_version* version = &method->versions[i];
    memset(version, 0, sizeof *version);
    const etx_value* value = &method->values[i];
    const etx_method_tensor* tensor = etx_method_tensor_of(method, value);
    if (tensor == NULL || !etx_method_is_dynamic(tensor)) continue;
    const size_t rank = value->as.tensor.rank;
    version->first_size = sizes;
    memcpy(&method->late_sizes[sizes], tensor->bounds,
           rank * sizeof *method->late_sizes);
    sizes += (uint32_t)rank;
  }
  etx_late_versions_restart(method);
}

void etx_late_versions_restart(etx_method* method) {
  for (size_t i = 0; i < method->prepared_count; ++i) {
    method->prepared_at[i] = 0;
  }
}

static int64_t bits_of_number(const etx_value* value) {
  int64_t bits = 0;
  switch (value->kind) {
    case ETX_VALUE_INT:
      return value->as.integer;
    case ETX_VALUE_BOOL:
      return value->as.boolean;
    case ETX_VALUE_DOUBLE:
      memcpy(&bits, &value->as.real, sizeof bits);
      return bits;
    default:
      return 0;
  }
}

// Notes the present content of a value if it is late. Returns the time of its
// last change, or 0. Sizes are compared only with `with_sizes`.
static uint64_t see(etx_method* method, const etx_value* value,
                    bool with_sizes) {
  const etx_method_tensor* tensor = etx_method_tensor_of(method, value);
  etx_late_version* version = version_of(method, value);
  bool is_equal = true;
  if (tensor == NULL) {
    if ((method->marks[value->position] & ETX_MARK_LATE) == 0) return 0;
    const int64_t bits = bits_of_number(value);
    is_equal = version->content == bits;
    version->content = bits;
  } else {
    if ((tensor->late & (ETX_LATE_SIZES | ETX_LATE_ROOT)) == 0) return 0;
    if ((tensor->late & ETX_LATE_ROOT) != 0) {
      is_equal = version->root == tensor->root &&
                 version->content == (int64_t)tensor->root_offset;
      version->root = tensor->root;
      version->content = (int64_t)tensor->root_offset;
    }
    if (with_sizes && (tensor->late & ETX_LATE_SIZES) != 0 &&
        !etx_method_has_sizes(tensor, sizes_of(method, version))) {
      is_equal = false;
      memcpy(sizes_of(method, version), tensor->sizes,
             value->as.tensor.rank * sizeof *tensor->sizes);
    }
  }
  if (!is_equal) version->changed = ++method->late_clock;
  return version->changed;
}

// The number of arguments that a call reads, which come first. An operator that
// changes arguments reads their sizes: it may have nothing but these before its
// outputs, so at most as many written arguments as it has outputs count as
// such. The last argument of a view is its result, which is at its bounds again
// in each run: to compare that would be a change in each run.
static size_t count_reads(const etx_method_record* record) {
  const etx_op_result result = record->call.op->result;
  size_t count = record->call.argument_count;
  if (record->kind == ETX_RECORD_VIEW) return count - 1;
  if (result == ETX_RESULT_SELF || result == ETX_RESULT_NONE) return count;
  if (result == ETX_RESULT_OUT) {
    return count - (record->written >> (count - 1) & 1);
  }
  while (count > 0 && (record->written >> (count - 1) & 1) != 0) --count;
  return count;
}

// Sees all late values in the arguments from `first` to before `end`; returns
// the last time at which one changed.
static uint64_t see_arguments(etx_method* method,
                              const etx_method_record* record, size_t first,
                              size_t end, bool with_sizes) {
  uint64_t last = 0;
  for (size_t i = first; i < end; ++i) {
    etx_value_span values = etx_call_argument_values(&record->call, i);
    for (; values.at != values.end; ++values.at) {
      if (*values.at == NULL) continue;
      const uint64_t changed = see(method, *values.at, with_sizes);
      if (changed > last) last = changed;
    }
  }
  return last;
}

// The first of the arguments that are only written. The result of a view is in
// its slot.
static size_t first_output(const etx_method_record* record, size_t reads) {
  return record->kind == ETX_RECORD_KERNEL ? reads
                                           : record->call.argument_count;
}

// True if the root of an output is late. Outputs are tensors, without gaps.
static bool has_late_root(const etx_method* method,
                          const etx_method_record* record, size_t first) {
  for (size_t i = first; i < record->call.argument_count; ++i) {
    etx_value_span values = etx_call_argument_values(&record->call, i);
    for (; values.at != values.end; ++values.at) {
      const int late = etx_method_tensor_of(method, *values.at)->late;
      if ((late & ETX_LATE_ROOT) != 0) return true;
    }
  }
  return false;
}

// True if nothing has changed since the record was prepared.
static bool holds(etx_method* method, const etx_method_record* record,
                  size_t reads, uint64_t prepared_at) {
  const size_t count = record->call.argument_count;
  const size_t outputs = first_output(record, reads);
  uint64_t last = see_arguments(method, record, 0, reads, true);
  if (record->is_sized_by_data) {
    // The next records see other sizes of its outputs than it was prepared
    // with, so the times of changes tell nothing about their roots.
    if (has_late_root(method, record, outputs)) return false;
  } else {
    const uint64_t changed =
        see_arguments(method, record, outputs, count, false);
    if (changed > last) last = changed;
    if (record->kind == ETX_RECORD_VIEW) {
      // Its root is bound anew in any case.
      const uint64_t view =
          version_of(method, &method->values[record->slot])->changed;
      if (view > last) last = view;
    }
  }
  return prepared_at != 0 && last <= prepared_at;
}

// Notes that the record was prepared, with the sizes that its outputs have now.
static void keep(etx_method* method, const etx_method_record* record,
                 size_t reads) {
  const size_t count = record->call.argument_count;
  const size_t outputs = first_output(record, reads);
  uint64_t* prepared_at = &method->prepared_at[record - method->records];
  const uint64_t before = method->late_clock;
  (void)see_arguments(method, record, 0, reads, true);
  if (method->late_clock != before) return;  // it changed what it reads
  if (!record->is_sized_by_data) {
    (void)see_arguments(method, record, outputs, count, true);
  }
  if (record->kind == ETX_RECORD_VIEW) {
    (void)see(method, &method->values[record->slot], true);
  }
  *prepared_at = method->late_clock;
}

static void restore_sizes(const etx_method* method, const etx_value* value) {
  etx_method_tensor* tensor = etx_method_tensor_of(method, value);
  if ((tensor->late & ETX_LATE_SIZES) == 0) return;
  const int32_t* sizes = sizes_of(method, version_of(method, value));
  if (!etx_method_has_sizes(tensor, sizes)) etx_method_set_sizes(tensor, sizes);
}

// Gives outputs the sizes that they had when the record was prepared.
static etx_status restore(etx_method* method, etx_method_record* record,
                          size_t reads) {
  if (record->kind == ETX_RECORD_VIEW) {
    restore_sizes(method, &method->values[record->slot]);
    return ETX_OK;
  }
  if (record->is_sized_by_data) {
    return etx_method_size_outputs(method, record, NULL);
  }
  for (size_t i = reads; i < record->call.argument_count; ++i) {
    etx_value_span values = etx_call_argument_values(&record->call, i);
    for (; values.at != values.end; ++values.at) {
      restore_sizes(method, *values.at);
    }
  }
  return ETX_OK;
}

static etx_status prepare_all(etx_method* method, etx_method_record* record) {
  return record->late == ETX_RECORD_LATE
             ? etx_method_shape_record(method, record)
             : etx_method_bind_record(method, record);
}

etx_status etx_late_versions_prepare(etx_method* method,
                                     etx_method_record* record) {
  // A number is computed in any case, and its operator is prepared once. The
  // root of a view costs less to bind than to compare.
  const bool is_cheap =
      record->kind == ETX_RECORD_SCALAR ||
      (record->kind == ETX_RECORD_VIEW && record->late == ETX_RECORD_ROOTS);
  if (method->version_count == 0 || is_cheap) {
    return prepare_all(method, record);
  }
  const size_t reads = count_reads(record);
  uint64_t* prepared_at = &method->prepared_at[record - method->records];
  if (!holds(method, record, reads, *prepared_at)) {
    *prepared_at = 0;
    ETX_TRY(prepare_all(method, record));
    keep(method, record, reads);
    return ETX_OK;
  }
  if (record->late == ETX_RECORD_LATE) {
    const etx_status status = restore(method, record, reads);
    // These sizes were set when the record was prepared.
    if (ETX_NEVER(status != ETX_OK)) return status;
  }
  return etx_method_bind_checked(method, record);
}

// ---- runs with the late values of the last one ----

typedef bool (*late_visitor)(etx_method* method, const etx_value* value);

// Visits the values whose number, sizes or root a record reads, until one visit
// returns false; or those that it sets, and then each visit returns true.
static bool visit_values(etx_method* method, const etx_method_record* record,
                         bool results, late_visitor visit) {
  const bool changes_self = record->call.op->result == ETX_RESULT_SELF;
  size_t count = record->call.argument_count;
  if (record->kind == ETX_RECORD_SCALAR) --count;  // the last one is its slot
  for (size_t i = 0; i < count; ++i) {
    const bool is_result = !changes_self && (record->written >> i & 1) != 0;
    if (is_result != results) continue;
    etx_value_span values = etx_call_argument_values(&record->call, i);
    for (; values.at != values.end; ++values.at) {
      if (*values.at != NULL && !visit(method, *values.at)) return false;
    }
  }
  if (results && record->slot != ETX_NO_INDEX) {
    (void)visit(method, &method->values[record->slot]);
  }
  return true;
}

// True if the value is not late, or some record has computed it.
static bool is_computed(etx_method* method, const etx_value* value) {
  const etx_method_tensor* tensor = etx_method_tensor_of(method, value);
  const int late = tensor == NULL
                       ? method->marks[value->position] & ETX_MARK_LATE
                       : tensor->late & (ETX_LATE_SIZES | ETX_LATE_ROOT);
  return late == 0 || version_of(method, value)->changed != 0;
}

static bool compute(etx_method* method, const etx_value* value) {
  version_of(method, value)->changed = 1;
  return true;
}

static bool restart_value(etx_method* method, const etx_value* value) {
  etx_method_restart_value(method, value);
  return true;
}

static bool see_value(etx_method* method, const etx_value* value) {
  (void)see(method, value, true);
  return true;
}

static void forget_changes(etx_method* method) {
  for (size_t i = 0; i < method->version_count; ++i) {
    method->versions[i].changed = 0;
  }
}

// True if every run computes each late value before a record reads it. Uses the
// times of changes, which are not needed while all records are prepared.
static bool computes_before_reads(etx_method* method) {
  bool is_ordered = true;
  forget_changes(method);
  for (size_t i = 0; is_ordered && i < method->record_count; ++i) {
    const etx_method_record* record = &method->records[i];
    is_ordered = record->kind <= ETX_RECORD_VIEW &&
                 visit_values(method, record, false, is_computed);
    if (is_ordered) (void)visit_values(method, record, true, compute);
  }
  forget_changes(method);
  return is_ordered;
}

static etx_status step_nothing(etx_call* call) {
  (void)call;
  return ETX_OK;
}

// Begins or ends the use of equal late values. Steps of late records that need
// nothing then are set, or set back. A view of fixed sizes is bound anew and
// compared, because etx_late_versions_prepare does not compare it.
static void switch_same(etx_method* method) {
  method->flow ^= ETX_FLOW_SAME;
  const bool is_same = (method->flow & ETX_FLOW_SAME) != 0;
  for (size_t i = 0; i < method->step_count; ++i) {
    etx_method_step* step = &method->steps[i];
    const etx_method_record* record = etx_record_of_call(step->call);
    if (record->late == ETX_RECORD_AHEAD) continue;
    step->run = etx_step_late;
    if (!is_same || record->is_sized_by_data || record->writes_state) continue;
    if (record->kind == ETX_RECORD_KERNEL) step->run = record->call.run;
    if (record->kind == ETX_RECORD_VIEW && record->late == ETX_RECORD_LATE) {
      step->run = step_nothing;
    }
  }
}

bool etx_late_same_begin(etx_method* method) {
  if ((method->flow & ETX_FLOW_SAME) == 0) return false;
  if (method->observer == NULL) return true;
  switch_same(method);
  return false;
}

void etx_late_restart_results(etx_method* method,
                              const etx_method_record* record) {
  (void)visit_values(method, record, true, restart_value);
}

void etx_late_compare_results(etx_method* method,
                              const etx_method_record* record) {
  const uint64_t before = method->late_clock;
  if (method->version_count == 0) return;
  (void)visit_values(method, record, true, see_value);
  if (method->late_clock != before && (method->flow & ETX_FLOW_SAME) != 0) {
    switch_same(method);
  }
}

void etx_late_same_end(etx_method* method, etx_status status, uint64_t clock) {
  const int may_be = method->flow & (ETX_FLOW_LATE | ETX_FLOW_UNLIKE);
  if ((method->flow & ETX_FLOW_SAME) != 0) {
    if (status != ETX_OK) switch_same(method);
  } else if (status == ETX_OK && method->late_clock == clock &&
             method->version_count != 0 && may_be == ETX_FLOW_LATE) {
    if (computes_before_reads(method)) {
      switch_same(method);
    } else {
      method->flow |= ETX_FLOW_UNLIKE;
    }
  }
}
