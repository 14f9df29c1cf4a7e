#include "runtime/shapes/idle_calls.h"

// True if concatenating along `dimension` puts operands one after the other:
// all dimensions in front of it have size 1.
static bool is_outermost(const etx_tensor* out, int64_t dimension) {
  if (dimension < 0) dimension += out->rank;
  for (int64_t i = 0; i < dimension; ++i) {
    if (out->sizes[i] != 1) return false;
  }
  return true;
}

bool etx_call_joins_in_place(const etx_method* method, const etx_call* call) {
  const etx_method_tensor* out =
      etx_method_tensor_of(method, call->arguments[call->argument_count - 1]);
  const etx_tensor* joined = &out->value->as.tensor;
  const etx_value* list = call->arguments[0];
  size_t end = 0;
  if (out->root == ETX_NO_INDEX || !etx_tensor_is_contiguous(joined) ||
      !is_outermost(joined, call->arguments[1]->as.integer)) {
    return false;
  }
  for (size_t i = 0; i < list->as.tensors.count; ++i) {
    const etx_method_tensor* part =
        etx_method_tensor_of(method, list->as.tensors.items[i]);
    const etx_tensor* from = &part->value->as.tensor;
    if (part->bytes == 0) continue;
    if (part->root != out->root || from->dtype != joined->dtype ||
        part->root_offset != out->root_offset + end ||
        !etx_tensor_is_contiguous(from)) {
      return false;
    }
    end += part->bytes;
  }
  return end == out->bytes;
}

// True for a tensor of indices, which a kernel may refuse when it runs.
static bool has_indices(const etx_tensor* tensor) {
  return (tensor->dtype == ETX_DTYPE_INT64 ||
          tensor->dtype == ETX_DTYPE_INT32) &&
         etx_tensor_numel(tensor) != 0;
}

// Groups of regions are found once for all sizes, so with regions the steps of
// a method must not depend on sizes.
static bool may_depend_on_sizes(const etx_method* method) {
  return method->regions == NULL;
}

static bool reads_indices(const etx_method* method,
                          const etx_method_record* record) {
  for (size_t i = 0; i < record->call.argument_count; ++i) {
    if ((record->written >> i & 1) != 0) continue;
    etx_value_span values = etx_call_argument_values(&record->call, i);
    for (; values.at != values.end; ++values.at) {
      const etx_method_tensor* tensor =
          *values.at == NULL ? NULL : etx_method_tensor_of(method, *values.at);
      if (tensor != NULL && has_indices(&tensor->value->as.tensor)) return true;
    }
  }
  return false;
}

bool etx_call_without_elements_is_idle(const etx_method* method,
                                       const etx_method_record* record) {
  return may_depend_on_sizes(method) && record->written != 0 &&
         !reads_indices(method, record);
}
