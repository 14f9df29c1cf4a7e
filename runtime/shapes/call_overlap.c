// Outputs against the other arguments of a call.
//
// Kernels are written with restrict pointers and read an index once to check
// it and once to use it; a file whose output lies on an index tensor would turn
// that into a way out of bounds. So an output shares bytes with another
// argument only if the operator's row allows it, and then exactly the same
// bytes in the same order of elements. What the caller lends is the caller's
// promise (see etx_method_set_input): such tensors are compared only with
// themselves.

#include "runtime/shapes/call_overlap.h"

// Where a tensor's bytes are: addresses, or positions in memory that the caller
// lends. Positions are compared only with those of the same lender.
typedef struct range {
  const etx_method_tensor* tensor;
  const etx_method_tensor* lender;  // NULL: not lent
  uintptr_t start, end;
} range;

static bool find_range(const etx_method* method, const etx_value* value,
                       range* out) {
  if (value == NULL || value->kind != ETX_VALUE_TENSOR) return false;
  const etx_method_tensor* tensor = etx_method_tensor_of(method, value);
  if (tensor->bytes == 0 || tensor->root == ETX_NO_INDEX) return false;
  const etx_method_tensor* root = &method->tensors[tensor->root];
  const bool is_lent = root->home_kind == ETX_HOME_INPUT;
  out->tensor = tensor;
  out->lender = is_lent ? root : NULL;
  out->start = tensor->root_offset + (is_lent ? 0 : (uintptr_t)root->home);
  out->end = out->start + tensor->bytes;
  return true;
}

// The argument that an operator with ETX_IN_PLACE_SELF may overwrite. A copy
// onto itself is no harm either.
static bool may_be_self(const etx_call* call, size_t argument) {
  const bool is_copy =
      call->op->id == ETX_OP_copy_in_place || call->op->id == ETX_OP_copy_out;
  for (size_t i = 0; i < argument; ++i) {
    if (call->arguments[i]->kind == ETX_VALUE_TENSOR) return is_copy && i == 0;
  }
  return true;
}

// True if `other`, at position `argument`, may lie exactly where an output is.
static bool may_share(const etx_call* call, size_t argument,
                      const range* output, const range* other) {
  const etx_value_kind kind = call->arguments[argument]->kind;
  const bool is_list = kind == ETX_VALUE_TENSORS &&
                       call->op->in_place == ETX_IN_PLACE_ELEMENTWISE;
  if (kind != ETX_VALUE_TENSOR && !is_list) return false;
  const etx_dtype from = other->tensor->value->as.tensor.dtype;
  const etx_dtype to = output->tensor->value->as.tensor.dtype;
  switch (call->op->in_place) {
    case ETX_IN_PLACE_ELEMENTWISE:
      return from == to || etx_dtype_bytes(from) == etx_dtype_bytes(to);
    case ETX_IN_PLACE_SELF:
      return may_be_self(call, argument);
    default:
      return false;
  }
}

// True if element i of the one lies where element i of the other does.
static bool lie_alike(const range* a, const range* b) {
  const etx_tensor* x = &a->tensor->value->as.tensor;
  const etx_tensor* y = &b->tensor->value->as.tensor;
  bool are_equal = x->rank == y->rank;
  for (size_t i = 0; are_equal && i < x->rank; ++i) {
    are_equal = x->sizes[i] == y->sizes[i] && x->strides[i] == y->strides[i];
  }
  return are_equal ||
         (etx_tensor_is_contiguous(x) && etx_tensor_is_contiguous(y));
}

static inline bool overlap(const range* a, const range* b) {
  return a->lender == b->lender && a->start < b->end && b->start < a->end;
}

// Two that overlap.
static etx_status compare(const etx_method_record* record, size_t argument,
                          const range* output, const range* other,
                          etx_diag* diag) {
  const bool is_written = (record->written >> argument & 1) != 0;
  if (output->start == other->start && output->end == other->end &&
      !is_written && may_share(&record->call, argument, output, other) &&
      lie_alike(output, other)) {
    return ETX_OK;
  }
  return etx_diag_fail(diag, ETX_BAD_FILE,
                       "argument %z lies in the same memory as an output",
                       argument);
}

// An output with the values of an argument. If the argument is written it is
// one of them, and need not be compared with itself.
static etx_status compare_values(const etx_method* method,
                                 const etx_method_record* record,
                                 size_t argument, const range* output,
                                 etx_diag* diag) {
  etx_value_span values = etx_call_argument_values(&record->call, argument);
  bool is_itself = (record->written >> argument & 1) == 0;
  for (; values.at != values.end; ++values.at) {
    const etx_value* item = *values.at;
    range other;
    if (!is_itself && item == output->tensor->value) {
      is_itself = true;
    } else if (find_range(method, item, &other) && overlap(output, &other)) {
      ETX_TRY(compare(record, argument, output, &other, diag));
    }
  }
  return ETX_OK;
}

#ifdef __OPTIMIZE_SIZE__
enum { ASKS_ADDRESSES = 0 };  // one way for all
#else
enum { ASKS_ADDRESSES = 1 };
#endif

// True where addresses alone tell that an argument has no byte from `start` up
// to `end`: of most, and sooner than by who lends what. Lists are left to that,
// and so is what a lender has not brought yet: all at NULL.
static inline bool is_apart(const etx_method* method, const etx_value* value,
                            uintptr_t start, uintptr_t end) {
  if (value->kind != ETX_VALUE_TENSOR) return value->kind != ETX_VALUE_TENSORS;
  const uintptr_t other = (uintptr_t)value->as.tensor.data;
  return end <= other ||
         other + method->tensors[value->position].bytes <= start;
}

static etx_status check_output(const etx_method* method,
                               const etx_method_record* record,
                               const etx_value* value, etx_diag* diag) {
  range output;
  if (!find_range(method, value, &output)) return ETX_OK;
  const uintptr_t start = (uintptr_t)value->as.tensor.data;
  const uintptr_t end = start + output.tensor->bytes;
  const size_t count = record->call.argument_count;
  for (size_t i = 0; i < count; ++i) {
    const etx_value* argument = record->call.arguments[i];
    if (ASKS_ADDRESSES &&
        (is_apart(method, argument, start, end) ||
         (argument == value && (record->written >> i & 1) != 0))) {
      continue;
    }
    ETX_TRY(compare_values(method, record, i, &output, diag));
  }
  return ETX_OK;
}

etx_status etx_method_check_overlap(const etx_method* method,
                                    const etx_method_record* record,
                                    etx_diag* diag) {
  for (uint64_t left = record->written; left != 0; left &= left - 1) {
    etx_value_span values =
        etx_call_argument_values(&record->call, (size_t)__builtin_ctzll(left));
    for (; values.at != values.end; ++values.at) {
      ETX_TRY(check_output(method, record, *values.at, diag));
    }
  }
  return ETX_OK;
}
