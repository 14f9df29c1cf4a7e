// One pass over the steps from the first write on notes which tensors and
// numbers are written there, and adds a kernel to a list if it reads none that
// was noted before. The list goes through `to` of the records, which kernels do
// not use otherwise. So the search takes linear time and no memory.
//
// A value that was computed before the first write and is read behind it keeps
// its memory in between: the planner places it so. In a file whose planner did
// not, a run may be refused that would have been refused later or given wrong
// results; no memory is read that the kernel itself would not read.

#include "runtime/run/state_checks.h"

#include "runtime/method/method_error.h"

// Records with which a new one is compared: a layer asks a few times.
enum { LATEST = 4 };

// Bytes of state that were written; one range that has all of them.
typedef struct state_writes {
  size_t start, end;
} state_writes;

// The tensor in whose memory `value` lies. NULL: it is a number, or it is not
// known.
static const etx_method_tensor* root_of(const etx_method* method,
                                        const etx_value* value) {
  const etx_method_tensor* const tensor = etx_method_tensor_of(method, value);
  return tensor == NULL || tensor->root == ETX_NO_INDEX
             ? NULL
             : &method->tensors[tensor->root];
}

static uint8_t* marks_of(const etx_method* method, const etx_value* value) {
  const etx_method_tensor* const root = root_of(method, value);
  return &method->marks[(root == NULL ? value : root->value) - method->values];
}

static void note_write(const etx_method* method, const etx_value* value,
                       state_writes* writes) {
  const etx_method_tensor* const root = root_of(method, value);
  *marks_of(method, value) |= ETX_MARK_CHANGED;
  if (root == NULL || root->storage_kind != ETX_METHOD_STORAGE_STATE) return;
  const size_t end = root->storage_offset + root->storage_bytes;
  if (root->storage_offset < writes->start) {
    writes->start = root->storage_offset;
  }
  if (end > writes->end) writes->end = end;
}

static void note_writes(const etx_method* method,
                        const etx_method_record* record, state_writes* writes) {
  for (size_t i = 0; i < record->call.argument_count && i < 64; ++i) {
    if ((record->written >> i & 1) == 0) continue;
    etx_value_span values = etx_call_argument_values(&record->call, i);
    for (; values.at != values.end; ++values.at) {
      if (*values.at != NULL) note_write(method, *values.at, writes);
    }
  }
}

// True if a value is the same at the first write of state and now.
static bool is_settled(const etx_method* method, const etx_value* value,
                       const state_writes* writes) {
  const etx_method_tensor* const root = root_of(method, value);
  if (value->kind == ETX_VALUE_TENSOR && root == NULL) return false;
  if ((*marks_of(method, value) & ETX_MARK_CHANGED) != 0) return false;
  return root == NULL || root->storage_kind != ETX_METHOD_STORAGE_STATE ||
         root->storage_offset >= writes->end ||
         root->storage_offset + root->storage_bytes <= writes->start;
}

static bool can_ask(const etx_method* method, const etx_method_record* record,
                    const state_writes* writes) {
  const etx_kernel_check* const check = record->kernel->check;
  if (check == NULL) return false;
  for (size_t i = 0; i < record->call.argument_count && i < 64; ++i) {
    if ((check->reads >> i & 1) == 0) continue;
    etx_value_span values = etx_call_argument_values(&record->call, i);
    for (; values.at != values.end; ++values.at) {
      if (*values.at != NULL && !is_settled(method, *values.at, writes)) {
        return false;
      }
    }
  }
  return true;
}

// True if two arguments that are not read have the same influence on a check:
// sizes and numbers that stay.
static bool are_alike(const etx_method* method, const etx_value* a,
                      const etx_value* b) {
  if (a == b) return true;
  if (a->kind != b->kind) return false;
  if (a->kind == ETX_VALUE_TENSOR) {
    const etx_tensor* const x = &a->as.tensor;
    const etx_tensor* const y = &b->as.tensor;
    return !etx_method_is_dynamic(etx_method_tensor_of(method, a)) &&
           !etx_method_is_dynamic(etx_method_tensor_of(method, b)) &&
           x->rank == y->rank &&
           memcmp(x->sizes, y->sizes, x->rank * sizeof *x->sizes) == 0;
  }
  if (((method->marks[a->position] | method->marks[b->position]) &
       ETX_MARK_VARIES) != 0) {
    return false;
  }
  if (a->kind == ETX_VALUE_INT) return a->as.integer == b->as.integer;
  if (a->kind == ETX_VALUE_BOOL) return a->as.boolean == b->as.boolean;
  return a->kind == ETX_VALUE_NONE;
}

static bool are_same_values(etx_value_span a, etx_value_span b) {
  if (a.end - a.at != b.end - b.at) return false;
  for (; a.at != a.end; ++a.at, ++b.at) {
    if (*a.at != *b.at) return false;
  }
  return true;
}

// True if the kernels of two records refuse the same. The layers of a model
// write rows of caches of one size, at one position.
static bool ask_the_same(const etx_method* method, const etx_method_record* a,
                         const etx_method_record* b) {
  const etx_kernel_check* const check = a->kernel->check;
  if (check != b->kernel->check ||
      a->call.argument_count != b->call.argument_count) {
    return false;
  }
  for (size_t i = 0; i < a->call.argument_count; ++i) {
    const bool is_read = i < 64 && (check->reads >> i & 1) != 0;
    const bool is_same =
        is_read ? are_same_values(etx_call_argument_values(&a->call, i),
                                  etx_call_argument_values(&b->call, i))
                : are_alike(method, a->call.arguments[i], b->call.arguments[i]);
    if (!is_same) return false;
  }
  return true;
}

// The list while it is made.
typedef struct check_list {
  uint32_t* end;            // where the next one is noted
  uint32_t latest[LATEST];  // records that were added last
  size_t count;
} check_list;

// Adds a record, unless one of the latest asks the same.
static void add_check(etx_method* method, check_list* list, uint32_t position) {
  etx_method_record* const record = &method->records[position];
  for (size_t i = 0; i < LATEST && i < list->count; ++i) {
    if (ask_the_same(method, &method->records[list->latest[i]], record)) {
      return;
    }
  }
  list->latest[list->count++ % LATEST] = position;
  *list->end = position;
  list->end = &record->to;
  *list->end = ETX_NO_INDEX;
}

// True for a step that is no jump and does not change where a value lies.
static bool is_plain(const etx_method_record* record) {
  return record->kind == ETX_RECORD_KERNEL && record->late == ETX_RECORD_AHEAD;
}

static bool jumps_before(const etx_method* method, size_t end) {
  for (size_t i = 0; ETX_CONTROL_FLOW && i < end; ++i) {
    const uint8_t kind = etx_record_of_call(method->steps[i].call)->kind;
    if (kind != ETX_RECORD_KERNEL && kind != ETX_RECORD_SCALAR &&
        kind != ETX_RECORD_VIEW) {
      return true;
    }
  }
  return false;
}

void etx_state_checks_find(etx_method* method) {
  check_list list = {.end = &method->first_check};
  state_writes writes = {SIZE_MAX, 0};
  method->has_new_steps = false;
  *list.end = ETX_NO_INDEX;
  if (method->first_state_step == SIZE_MAX ||
      jumps_before(method, method->first_state_step)) {
    return;
  }
  for (size_t i = 0; i < method->value_count; ++i) {
    method->marks[i] &= (uint8_t)~ETX_MARK_CHANGED;
  }
  for (size_t i = method->first_state_step; i < method->step_count; ++i) {
    const size_t position =
        (size_t)(etx_record_of_call(method->steps[i].call) - method->records);
    const etx_method_record* const record = &method->records[position];
    if (!is_plain(record)) return;
    if (can_ask(method, record, &writes)) {
      add_check(method, &list, (uint32_t)position);
    }
    note_writes(method, record, &writes);
  }
}

etx_status etx_state_checks_run(etx_method* method, etx_diag* diag) {
  for (uint32_t at = method->first_check; at != ETX_NO_INDEX;
       at = method->records[at].to) {
    const etx_method_record* const record = &method->records[at];
    const etx_status status = record->kernel->check->refuse(&record->call);
    if (status != ETX_OK) {
      return etx_method_error_report(method, record, status, diag);
    }
  }
  return ETX_OK;
}
