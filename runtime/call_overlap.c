// Outputs against the other arguments of a call.
//
// Kernels are written with restrict pointers and read an index once to check
// it and once to use it; a file whose output lies on an index tensor would turn
// that into a way out of bounds. So an output shares bytes with another
// argument only if the operator's row allows it, and then exactly the same
// bytes in the same order of elements. What the caller lends is the caller's
// promise (see etx_method_set_input): such tensors are compared only with
// themselves.

#include "runtime/method_internal.h"

typedef struct range {
  const etx_method_tensor* tensor;
  const etx_method_tensor* root;
} range;

static bool find_range(const etx_method* method, const etx_value* value,
                       range* out) {
  if (value == NULL || value->kind != ETX_VALUE_TENSOR) return false;
  out->tensor = etx_method_tensor_of(method, value);
  if (out->tensor->bytes == 0 || out->tensor->root == ETX_NO_INDEX) {
    return false;
  }
  out->root = &method->tensors[out->tensor->root];
  return true;
}

// Comparable addresses of two ranges; false if nothing can be said.
static bool find_starts(const range* a, const range* b, uintptr_t* out_a,
                        uintptr_t* out_b) {
  *out_a = a->tensor->root_offset;
  *out_b = b->tensor->root_offset;
  if (a->root == b->root) return true;
  if (a->root->home_kind == ETX_HOME_INPUT ||
      b->root->home_kind == ETX_HOME_INPUT) {
    return false;
  }
  *out_a += (uintptr_t)a->root->home;
  *out_b += (uintptr_t)b->root->home;
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
  switch (call->op->in_place) {
    case ETX_IN_PLACE_ELEMENTWISE:
      return etx_dtype_bytes(other->tensor->value->as.tensor.dtype) ==
             etx_dtype_bytes(output->tensor->value->as.tensor.dtype);
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
  if (etx_tensor_is_contiguous(x) && etx_tensor_is_contiguous(y)) return true;
  const size_t bytes = x->rank * sizeof *x->sizes;
  return x->rank == y->rank && memcmp(x->sizes, y->sizes, bytes) == 0 &&
         memcmp(x->strides, y->strides, bytes) == 0;
}

static etx_status compare(const etx_method_record* record, size_t argument,
                          const range* output, const range* other,
                          etx_diag* diag) {
  uintptr_t a = 0;
  uintptr_t b = 0;
  if (!find_starts(output, other, &a, &b)) return ETX_OK;
  const size_t bytes = output->tensor->bytes;
  if (a + bytes <= b || b + other->tensor->bytes <= a) return ETX_OK;
  const bool is_written = (record->written >> argument & 1) != 0;
  if (a == b && bytes == other->tensor->bytes && !is_written &&
      may_share(&record->call, argument, output, other) &&
      lie_alike(output, other)) {
    return ETX_OK;
  }
  return etx_diag_fail(diag, ETX_BAD_FILE,
                       "argument %z lies in the same memory as an output",
                       argument);
}

static etx_status check_output(const etx_method* method,
                               const etx_method_record* record,
                               const etx_value* value, etx_diag* diag) {
  range output;
  range other;
  if (!find_range(method, value, &output)) return ETX_OK;
  for (size_t i = 0; i < record->call.argument_count; ++i) {
    const etx_value* argument = record->call.arguments[i];
    const bool is_list = argument->kind == ETX_VALUE_TENSORS;
    const bool is_written = (record->written >> i & 1) != 0;
    const size_t count = is_list ? argument->as.tensors.count : 1;
    bool is_itself = false;
    for (size_t item = 0; item < count; ++item) {
      const etx_value* at =
          is_list ? argument->as.tensors.items[item] : argument;
      // An output is compared with itself once and need not be.
      if (is_written && at == value && !is_itself) {
        is_itself = true;
        continue;
      }
      if (!find_range(method, at, &other)) continue;
      ETX_TRY(compare(record, i, &output, &other, diag));
    }
  }
  return ETX_OK;
}

etx_status etx_method_check_overlap(const etx_method* method,
                                    const etx_method_record* record,
                                    etx_diag* diag) {
  for (size_t i = 0; i < record->call.argument_count; ++i) {
    if ((record->written >> i & 1) == 0) continue;
    const etx_value* value = record->call.arguments[i];
    if (value->kind == ETX_VALUE_TENSOR) {
      ETX_TRY(check_output(method, record, value, diag));
      continue;
    }
    if (value->kind != ETX_VALUE_TENSORS) continue;
    for (size_t item = 0; item < value->as.tensors.count; ++item) {
      ETX_TRY(
          check_output(method, record, value->as.tensors.items[item], diag));
    }
  }
  return ETX_OK;
}
