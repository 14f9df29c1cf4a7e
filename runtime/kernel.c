// Finds kernels; functions with which kernels read and check their arguments.

#include "runtime/kernel.h"

const etx_kernel* etx_kernel_find(const etx_kernel_table* table, etx_op_id op) {
  // In the whole table, rows are in the order of their ids.
  if ((size_t)op < table->count && table->kernels[op].op->id == op) {
    return &table->kernels[op];
  }
  for (size_t i = 0; i < table->count; ++i) {
    if (table->kernels[i].op->id == op) return &table->kernels[i];
  }
  return NULL;
}

const etx_kernel* etx_kernel_find_named(const etx_kernel_table* table,
                                        const etx_op_name* name) {
  const etx_kernel* const end = table->kernels + table->count;
  for (const etx_kernel* row = table->kernels; row != end; ++row) {
    if (etx_op_is_named(row->op, name)) return row;
  }
  return NULL;
}

double etx_call_real(const etx_call* call, size_t index) {
  const etx_value* value = call->arguments[index];
  switch (value->kind) {
    case ETX_VALUE_INT:
      return (double)value->as.integer;
    case ETX_VALUE_BOOL:
      return value->as.boolean ? 1 : 0;
    default:
      return value->as.real;
  }
}

// Name of an argument, for messages. A slot behind those of the schema is the
// result.
static etx_text argument_name(const etx_call* call, size_t index) {
  etx_argument_cursor cursor = etx_argument_first(call->op->arguments);
  etx_argument argument;
  for (size_t i = 0; etx_argument_next(&cursor, &argument); ++i) {
    if (i == index) return argument.name;
  }
  return (etx_text){"result", 6};
}

etx_status(etx_call_refuse)(const etx_call* call, etx_status status,
                            const char* format, ...) {
  char text[ETX_DIAG_TEXT_BYTES];
  va_list list;
  va_start(list, format);
  etx_format_text_list(text, sizeof(text), format, list);
  va_end(list);
  const char* point = call->op->overload[0] == '\0' ? "" : ".";
  return etx_diag_fail(call->diag, status, "%s, in '%s%s%s'", text,
                       call->op->name, point, call->op->overload);
}

etx_status etx_argument_refuse_dtype(etx_text argument, etx_dtype dtype,
                                     const etx_op* op, etx_diag* diag) {
  const char* point = op->overload[0] == '\0' ? "" : ".";
  return etx_diag_fail(
      diag, ETX_UNSUPPORTED,
      "argument '%t' of '%s%s%s' has type '%s', which this build leaves out: "
      "add '%s' to the CMake option ETX_DTYPES",
      argument, op->name, point, op->overload, etx_dtype_name(dtype),
      etx_dtype_name(dtype));
}

static inline etx_status check_built(const etx_call* call, size_t index,
                                     const etx_value* value) {
  if (value == NULL || value->kind != ETX_VALUE_TENSOR) return ETX_OK;
  const etx_dtype dtype = value->as.tensor.dtype;
  if (etx_dtype_is_built(dtype)) return ETX_OK;
  return etx_argument_refuse_dtype(argument_name(call, index), dtype, call->op,
                                   call->diag);
}

static inline etx_status check_types(const etx_call* call) {
  for (size_t i = 0; i < call->argument_count; ++i) {
    const etx_value* value = call->arguments[i];
    ETX_TRY(check_built(call, i, value));
    const size_t items =
        value->kind == ETX_VALUE_TENSORS ? value->as.tensors.count : 0;
    for (size_t k = 0; k < items; ++k) {
      ETX_TRY(check_built(call, i, value->as.tensors.items[k]));
    }
  }
  return ETX_OK;
}

etx_status etx_kernel_prepare(const etx_kernel* kernel, etx_call* call) {
  if (ETX_DYNAMIC) call->run = NULL;  // see etx_call_is_again
  if (!ETX_KNOWS_ALL_TYPES) ETX_TRY(check_types(call));
  return kernel->prepare(call);
}

static etx_status check_sizes(const etx_call* call, size_t index,
                              const int32_t* sizes) {
  const etx_tensor* out = etx_call_tensor(call, index);
  for (size_t i = 0; i < out->rank; ++i) {
    if (out->sizes[i] == sizes[i]) continue;
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "'%t' has size %i in dimension %z, found %i",
                           argument_name(call, index), (int64_t)out->sizes[i],
                           i, (int64_t)sizes[i]);
  }
  return ETX_OK;
}

etx_status etx_call_resize_out(const etx_call* call, size_t index,
                               const int32_t* sizes) {
  const etx_resizer* resizer = call->resizer;
  if (resizer == NULL) return check_sizes(call, index, sizes);
  return resizer->resize(resizer->context, call->arguments[index], sizes);
}

etx_status etx_call_refuse_dtype(const etx_call* call, size_t index,
                                 const char* expected) {
  return etx_call_refuse(
      call, ETX_UNSUPPORTED, "'%t' has type '%s', expected %s",
      argument_name(call, index),
      etx_dtype_name(etx_call_tensor(call, index)->dtype), expected);
}

etx_status etx_call_check_dtype(const etx_call* call, size_t index,
                                etx_dtype expected) {
  if (etx_call_tensor(call, index)->dtype == expected) return ETX_OK;
  return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                         "'%t' has type '%s', expected '%s'",
                         argument_name(call, index),
                         etx_dtype_name(etx_call_tensor(call, index)->dtype),
                         etx_dtype_name(expected));
}

etx_status etx_call_check_same_dtype(const etx_call* call, size_t a, size_t b) {
  return etx_call_check_dtype(call, b, etx_call_tensor(call, a)->dtype);
}

// A function of its own, so that the check saves no registers for it.
static __attribute__((noinline)) etx_status refuse_strides(const etx_call* call,
                                                           size_t index) {
  return etx_call_refuse(call, ETX_UNSUPPORTED, "'%t' is not contiguous",
                         argument_name(call, index));
}

etx_status etx_call_check_contiguous(const etx_call* call, size_t index) {
  return etx_tensor_is_contiguous(etx_call_tensor(call, index))
             ? ETX_OK
             : refuse_strides(call, index);
}
