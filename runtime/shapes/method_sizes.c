// Sizes of outputs: computed by the shape function, checked against the bounds
// in the file, and set.

#include "runtime/shapes/method_sizes.h"

#include "format/tensor/layout.h"
#include "runtime/shapes/call_shape.h"
#include "runtime/shapes/late_values.h"

void etx_method_set_sizes(etx_method_tensor* tensor, const int32_t* sizes) {
  const etx_tensor* view = &tensor->value->as.tensor;
  const size_t rank = view->rank;
  if (rank > 0) memcpy(tensor->sizes, sizes, rank * sizeof *sizes);
  tensor->bytes = etx_tensor_bytes(view);
  // The caller has checked that strides fit.
  (void)etx_layout_strides(sizes, tensor->dim_order, rank, tensor->strides);
}

bool etx_method_defer_if_used(etx_method* method, const etx_value* value,
                              uint8_t bits) {
  if (ETX_CONTROL_FLOW) return etx_late_defer_if_used(method, value, bits);
  if (method->prepares_during_run) return false;
  method->prepares_during_run =
      value->kind == ETX_VALUE_TENSOR
          ? etx_method_tensor_of(method, value)->is_used
          : (method->marks[value->position] & ETX_MARK_USED) != 0;
  return method->prepares_during_run;
}

// Checks the sizes of a tensor that is not dynamic; the ranks are equal.
static etx_status check_fixed(const etx_method* method,
                              const etx_method_tensor* tensor,
                              const int32_t* sizes, etx_diag* diag) {
  for (size_t i = 0; i < tensor->value->as.tensor.rank; ++i) {
    if (sizes[i] == tensor->bounds[i]) continue;
    return etx_diag_fail(diag, ETX_BAD_ARGUMENT,
                         "output (value %u) has fixed size %i in dimension "
                         "%z, found %i",
                         etx_method_number(method, tensor),
                         (int64_t)tensor->bounds[i], i, (int64_t)sizes[i]);
  }
  return ETX_OK;
}

// Checks that a dynamic tensor has memory for the sizes.
static etx_status check_capacity(const etx_method* method,
                                 const etx_method_tensor* tensor,
                                 const int32_t* sizes, etx_diag* diag) {
  uint64_t numel = 1;
  for (size_t i = 0; i < tensor->value->as.tensor.rank; ++i) {
    // Both factors stay below 2^31, so the product cannot wrap; a zero later
    // on may still make it small again.
    if (numel <= INT32_MAX || sizes[i] == 0) numel *= (uint64_t)sizes[i];
  }
  const size_t most = etx_method_bound_numel(tensor);
  if (numel <= most) return ETX_OK;
  return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                       "output (value %u) has room for %z elements, found %u",
                       etx_method_number(method, tensor), most, numel);
}

bool etx_method_has_sizes(const etx_method_tensor* tensor,
                          const int32_t* sizes) {
  const etx_tensor* view = &tensor->value->as.tensor;
  for (size_t i = 0; i < view->rank; ++i) {
    if (view->sizes[i] != sizes[i]) return false;
  }
  return true;
}

etx_status etx_method_resize(etx_method* method, etx_method_tensor* tensor,
                             const int32_t* sizes, etx_diag* diag) {
  if (!etx_method_is_dynamic(tensor)) {
    return check_fixed(method, tensor, sizes, diag);
  }
  ETX_TRY(check_capacity(method, tensor, sizes, diag));
  if (etx_method_has_sizes(tensor, sizes)) return ETX_OK;
  if (tensor->input != ETX_NO_INDEX) {
    // The caller's data has the sizes that were set.
    return etx_diag_fail(diag, ETX_BAD_FILE, "an input (value %u) is resized",
                         etx_method_number(method, tensor));
  }
  if (etx_method_defer_if_used(method, tensor->value, ETX_LATE_SIZES)) {
    return ETX_OK;
  }
  if (ETX_DYNAMIC && etx_method_runs(method) &&
      (tensor->late & ETX_LATE_SIZES) == 0) {
    return etx_diag_fail(diag, ETX_INTERNAL,
                         "value %u was sized before the run and changes",
                         etx_method_number(method, tensor));
  }
  int32_t strides[ETX_MAX_RANK];
  if (!etx_layout_strides(sizes, tensor->dim_order,
                          tensor->value->as.tensor.rank, strides)) {
    return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                         "strides of output (value %u) do not fit in 32 bits",
                         etx_method_number(method, tensor));
  }
  etx_method_set_sizes(tensor, sizes);
  return ETX_OK;
}

// The same with the result of a shape function.
static etx_status resize_to(etx_method* method, etx_method_tensor* tensor,
                            const etx_shape* shape) {
  etx_diag* const diag = method->kernel_diag;
  const size_t rank = tensor->value->as.tensor.rank;
  int32_t sizes[ETX_MAX_RANK];
  if (shape->rank != rank) {
    return etx_diag_fail(
        diag, ETX_BAD_ARGUMENT, "output (value %u) has rank %i, found %i",
        etx_method_number(method, tensor), (int64_t)rank, (int64_t)shape->rank);
  }
  for (size_t i = 0; i < rank; ++i) {
    const int64_t size = shape->dims[i];
    if (size < 0 || size > INT32_MAX) {
      return etx_diag_fail(diag, ETX_OUT_OF_RANGE,
                           "size %i of dimension %z is outside 0 to 2147483647",
                           size, i);
    }
    sizes[i] = (int32_t)size;
  }
  return etx_method_resize(method, tensor, sizes, diag);
}

// For an output whose sizes depend on data: until the kernel has run, its sizes
// are its upper bounds, so that all of its memory is checked. They are late
// (late_values.h). An output may also be an input that the call writes in
// place. Then its bytes are the caller's, and the sizes that were set stay.
static etx_status size_at_bounds(etx_method* method, etx_method_tensor* tensor,
                                 const etx_shape* most) {
  etx_shape whole = *most;
  for (size_t i = 0; i < most->rank && i < tensor->value->as.tensor.rank; ++i) {
    whole.dims[i] = tensor->input == ETX_NO_INDEX
                        ? tensor->bounds[i]
                        : tensor->value->as.tensor.sizes[i];
  }
  if (etx_method_is_dynamic(tensor)) {
    if (ETX_CONTROL_FLOW) {
      etx_late_mark(method, tensor->value, ETX_LATE_SIZES);
    } else {
      method->prepares_during_run = true;
    }
  }
  return resize_to(method, tensor, &whole);
}

typedef struct method_sizing {
  etx_method* method;
  bool by_data;  // an output has only upper bounds
} method_sizing;

static etx_status resize_output(void* context, const etx_value* output,
                                const etx_shape* shape, bool at_most) {
  method_sizing* s = (method_sizing*)context;
  etx_method_tensor* tensor = etx_method_tensor_of(s->method, output);
  s->by_data |= at_most;
  if (at_most) return size_at_bounds(s->method, tensor, shape);
  return resize_to(s->method, tensor, shape);
}

etx_status etx_method_resize_output(void* context, const etx_value* output,
                                    const int32_t* sizes) {
  etx_method* method = (etx_method*)context;
  for (size_t i = 0; i < output->as.tensor.rank; ++i) {
    if (sizes[i] >= 0) continue;
    return etx_diag_fail(method->kernel_diag, ETX_OUT_OF_RANGE,
                         "size %i of dimension %z is outside 0 to 2147483647",
                         (int64_t)sizes[i], i);
  }
  return etx_method_resize(method, etx_method_tensor_of(method, output), sizes,
                           method->kernel_diag);
}

// Takes over the sizes of the result of `cached`, an equal earlier call whose
// result has other sizes or strides: so the call has one result.
static etx_status reuse_sizes(etx_method* method, etx_method_record* record,
                              const etx_method_record* cached) {
  const etx_call* call = &record->call;
  const size_t last = call->argument_count - 1;
  record->is_sized_by_data = false;
  const int32_t* const sizes = etx_call_tensor(&cached->call, last)->sizes;
  const etx_method_tensor* out =
      etx_method_tensor_of(method, call->arguments[last]);
  if (etx_method_has_sizes(out, sizes)) return ETX_OK;
  return etx_method_resize_output(method, call->arguments[last], sizes);
}

etx_status etx_method_size_outputs(etx_method* method,
                                   etx_method_record* record,
                                   const etx_method_record* cached) {
  if (cached != NULL) return reuse_sizes(method, record, cached);
  method_sizing s = {method, false};
  ETX_TRY(
      etx_call_size_outputs(&record->call, record->written, resize_output, &s));
  if (ETX_DYNAMIC) record->is_sized_by_data = s.by_data;
  if (ETX_DYNAMIC && s.by_data && !record->call.op->may_size_by_data) {
    // Memory for the records that this makes late was counted at load only if
    // the method has an operator of the list (method_layout.c).
    return etx_diag_fail(method->kernel_diag, ETX_INTERNAL,
                         "'%s' is not in the list of operators whose sizes "
                         "depend on elements",
                         record->call.op->name);
  }
  return ETX_OK;
}

static etx_status keep_shape(void* context, const etx_value* output,
                             const etx_shape* shape, bool at_most) {
  (void)output;
  (void)at_most;
  *(etx_shape*)context = *shape;
  return ETX_OK;
}

etx_status etx_method_size_view(etx_method* method,
                                const etx_method_record* record,
                                etx_method_tensor* target) {
  etx_shape shape = {target->value->as.tensor.dtype, 0, {0}};
  ETX_TRY(etx_call_size_outputs(&record->call, record->written, keep_shape,
                                &shape));
  return resize_to(method, target, &shape);
}
