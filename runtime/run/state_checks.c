// One pass over the steps from the first write on notes which tensors and
// numbers are written there, and adds a kernel to a list if it reads none that
// was noted before. The list goes through `to` of the records, which kernels do
// not use otherwise. So the search takes linear time and no memory.
//
// Jumps may skip steps. A step is asked only if no jump between the first write
// and the step leads behind it, since every run that reaches the first write
// reaches it then. A run that jumps over the first write asks nothing.
//
// A value that was computed before the first write and is read behind it keeps
// its memory in between: the planner places it so. In a file whose planner did
// not, a run may be refused that would have been refused later or given wrong
// results; no memory is read that the kernel itself would not read.

#include "runtime/run/state_checks.h"

#include "runtime/method/method_error.h"
#include "runtime/shapes/flow_steps.h"

enum {
  LATEST = 4,  // records with which a new one is compared: a layer asks a few
               // times
  RANGES = 8   // of written bytes that are told apart
};

typedef struct written_bytes {
  size_t start, end;
} written_bytes;

// Bytes of state that were written. The last range has all that did not fit.
typedef struct state_writes {
  written_bytes ranges[RANGES];
  size_t count;
} state_writes;

// Widens the range that the bytes touch, or begins one.
static void add_range(state_writes* writes, written_bytes range) {
  written_bytes* const ranges = writes->ranges;
  size_t i = 0;
  while (i < writes->count &&
         (ranges[i].start > range.end || range.start > ranges[i].end)) {
    ++i;
  }
  if (i == RANGES) --i;
  if (i == writes->count) ranges[writes->count++] = range;
  if (range.start < ranges[i].start) ranges[i].start = range.start;
  if (range.end > ranges[i].end) ranges[i].end = range.end;
}

static written_bytes range_of(const etx_method_tensor* root) {
  return (written_bytes){root->storage_offset,
                         root->storage_offset + root->storage_bytes};
}

static bool is_written(const state_writes* writes, written_bytes range) {
  for (size_t i = 0; i < writes->count; ++i) {
    if (writes->ranges[i].start < range.end &&
        range.start < writes->ranges[i].end) {
      return true;
    }
  }
  return false;
}

// The tensor in whose memory a tensor lies. NULL: it has no elements, or its
// memory is known only during the run.
static const etx_method_tensor* root_of(const etx_method* method,
                                        const etx_value* value) {
  const etx_method_tensor* const tensor = etx_method_tensor_of(method, value);
  if (tensor->root == ETX_NO_INDEX ||
      (tensor->late & (ETX_LATE_ROOT | ETX_STAYS_LATE_ROOT)) != 0) {
    return NULL;
  }
  return &method->tensors[tensor->root];
}

static uint8_t* marks_of(const etx_method* method,
                         const etx_method_tensor* root) {
  return &method->marks[root->value - method->values];
}

// False: the memory that is written is not known.
static bool note_write(const etx_method* method, const etx_value* value,
                       state_writes* writes) {
  const etx_method_tensor* const root = root_of(method, value);
  if (root == NULL) return false;
  *marks_of(method, root) |= ETX_MARK_CHANGED;
  if (root->storage_kind == ETX_METHOD_STORAGE_STATE) {
    add_range(writes, range_of(root));
  }
  return true;
}

// Calls write tensors only; moves and jumps write none. A number that changes
// during the run makes all records late that read it, and these are not asked.
static bool note_writes(const etx_method* method,
                        const etx_method_record* record, state_writes* writes) {
  etx_value_cursor written = etx_record_written_values(record);
  for (const etx_value* value; (value = etx_value_next(&written)) != NULL;) {
    if (!note_write(method, value, writes)) return false;
  }
  return true;
}

// True if a value is the same at the first write of state and now.
static bool is_settled(const etx_method* method, const etx_value* value,
                       const state_writes* writes) {
  if (value->kind != ETX_VALUE_TENSOR) return true;
  const etx_method_tensor* const root = root_of(method, value);
  if (root == NULL || (*marks_of(method, root) & ETX_MARK_CHANGED) != 0) {
    return false;
  }
  return root->storage_kind != ETX_METHOD_STORAGE_STATE ||
         !is_written(writes, range_of(root));
}

static bool can_ask(const etx_method* method, const etx_method_record* record,
                    const state_writes* writes) {
  const etx_kernel_check* const check = record->kernel->check;
  if (check == NULL) return false;
  etx_value_cursor read = etx_call_values_of(&record->call, check->reads);
  for (const etx_value* value; (value = etx_value_next(&read)) != NULL;) {
    if (!is_settled(method, value, writes)) return false;
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
    const bool is_read = (check->reads >> i & 1) != 0;
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

// The search through the steps.
typedef struct check_search {
  etx_method* method;
  state_writes writes;
  size_t noted;  // the writes of the steps from here on are noted
  size_t join;   // steps in front of this one may be skipped by a jump
} check_search;

static const etx_method_record* record_at(const etx_method* method,
                                          size_t step) {
  return etx_record_of_call(method->steps[step].call);
}

static bool is_jump(const etx_method_record* record) {
  return ETX_CONTROL_FLOW && record->kind == ETX_RECORD_JUMP;
}

// True for the call of a kernel that is prepared before the run.
static bool is_ready(const etx_method_record* record) {
  return record->kind == ETX_RECORD_KERNEL && record->late == ETX_RECORD_AHEAD;
}

static void note_join(check_search* s, const etx_method_record* jump) {
  const size_t to = (size_t)jump->call.prepared[ETX_JUMP_STEP];
  if (to > s->join) s->join = to;
}

// Notes what a step writes. False: the memory is not known.
static bool note_step(check_search* s, size_t step) {
  return note_writes(s->method, record_at(s->method, step), &s->writes);
}

// A jump that leads back to steps in front of the first write: they may run
// again before the steps behind the jump do.
static bool note_repeated(check_search* s, const etx_method_record* jump) {
  const size_t to = (size_t)jump->call.prepared[ETX_JUMP_STEP];
  while (to < s->noted) {
    if (!note_step(s, --s->noted)) return false;
  }
  return true;
}

static void forget_marks(const etx_method* method) {
  for (size_t i = 0; i < method->value_count; ++i) {
    method->marks[i] &= (uint8_t)~ETX_MARK_CHANGED;
  }
}

void etx_state_checks_find(etx_method* method) {
  const size_t first = method->first_state_step;
  check_list list = {.end = &method->first_check};
  check_search s = {.method = method, .noted = first};
  method->has_new_steps = false;
  *list.end = ETX_NO_INDEX;
  if (first == SIZE_MAX) return;
  forget_marks(method);
  for (size_t i = first; i < method->step_count; ++i) {
    const etx_method_record* const record = record_at(method, i);
    if (is_jump(record)) {
      note_join(&s, record);
      if (!note_repeated(&s, record)) return;
    } else if (i >= s.join && is_ready(record) &&
               can_ask(method, record, &s.writes)) {
      add_check(method, &list, (uint32_t)(record - method->records));
    }
    if (!note_step(&s, i)) return;
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
