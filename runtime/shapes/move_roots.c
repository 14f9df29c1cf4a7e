// A moved tensor uses its own memory until the first move, and then that of a
// source. If the roots of all sources are known, the call is checked with each
// of them, or with each combination if it has several moved tensors.

#include "runtime/shapes/move_roots.h"

#include "runtime/shapes/method_shapes.h"

enum { MAX_TENSORS = 4, MAX_ROOTS = 8, MAX_COMBINATIONS = 16 };

typedef struct moved_tensor {
  etx_method_tensor* tensor;
  uint32_t roots[MAX_ROOTS];
  size_t offsets[MAX_ROOTS];
  size_t count;
} moved_tensor;

typedef struct move_roots {
  etx_method* method;
  moved_tensor moved[MAX_TENSORS];
  size_t count;
} move_roots;

static bool add_root(moved_tensor* m, uint32_t root, size_t offset) {
  for (size_t i = 0; i < m->count; ++i) {
    if (m->roots[i] == root && m->offsets[i] == offset) return true;
  }
  if (m->count == MAX_ROOTS) return false;
  m->roots[m->count] = root;
  m->offsets[m->count++] = offset;
  return true;
}

static bool find_roots(const etx_method* method, etx_method_tensor* tensor,
                       moved_tensor* m) {
  m->tensor = tensor;
  m->count = 0;
  (void)add_root(m, (uint32_t)(tensor - method->tensors), 0);
  uint32_t move = tensor->base;
  for (size_t i = 0; move != ETX_NO_INDEX; ++i) {
    const etx_method_record* record = &method->records[move];
    const etx_method_tensor* source =
        etx_method_tensor_of(method, &method->values[record->from]);
    if (i == MAX_ROOTS || (source->late & ETX_LATE_ROOT) != 0 ||
        !add_root(m, source->root, source->root_offset)) {
      return false;
    }
    move = record->slot;
  }
  return true;
}

// False if a value's roots cannot be tried.
static bool add_value(move_roots* r, const etx_value* value) {
  etx_method_tensor* tensor =
      value == NULL ? NULL : etx_method_tensor_of(r->method, value);
  if (tensor == NULL || (tensor->late & ETX_LATE_ROOT) == 0) return true;
  for (size_t i = 0; i < r->count; ++i) {
    if (r->moved[i].tensor == tensor) return true;
  }
  return r->count < MAX_TENSORS && (tensor->late & ETX_LATE_ANY_ROOT) == 0 &&
         find_roots(r->method, tensor, &r->moved[r->count++]);
}

static bool add_arguments(move_roots* r, const etx_call* call) {
  for (size_t i = 0; i < call->argument_count; ++i) {
    etx_value_span values = etx_call_argument_values(call, i);
    for (; values.at != values.end; ++values.at) {
      if (!add_value(r, *values.at)) return false;
    }
  }
  return true;
}

// Gives each tensor the root that `combination`, a number with one digit for
// each of them, selects.
static void set_roots(const move_roots* r, size_t combination) {
  for (size_t i = 0; i < r->count; ++i) {
    const moved_tensor* m = &r->moved[i];
    const size_t at = combination % m->count;
    combination /= m->count;
    etx_method_set_root(r->method, m->tensor, m->roots[at], m->offsets[at]);
  }
}

bool etx_move_roots_fit(etx_method* method, etx_method_record* record) {
  move_roots r;
  r.method = method;
  r.count = 0;
  if (!add_arguments(&r, &record->call)) return false;
  size_t combinations = 1;
  for (size_t i = 0; i < r.count; ++i) combinations *= r.moved[i].count;
  if (combinations > MAX_COMBINATIONS) return false;
  bool fits = true;
  bool writes_state = false;
  for (size_t i = 0; fits && i < combinations; ++i) {
    set_roots(&r, i);
    method->kernel_diag->status = ETX_OK;
    fits = etx_method_check_arguments(method, record) == ETX_OK;
    writes_state |= record->writes_state;
  }
  set_roots(&r, 0);
  record->writes_state = writes_state;
  return fits;
}
