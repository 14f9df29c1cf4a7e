// Operators that change tensor headers: views at run time, and a row that is
// written into a growing tensor.

#include <string.h>

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/views/strided_view.h"

// Makes out a header over the data of self.
static etx_status run_et_view(etx_call* call) {
  etx_call_out(call, ETX_ARG_et_view_default_out)->as.tensor.data =
      etx_call_tensor(call, ETX_ARG_et_view_default_self)->data;
  return ETX_OK;
}

etx_status etx_kernel_et_view_default_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_et_view_default_self,
                                    ETX_ARG_et_view_default_out));
  ETX_TRY(etx_call_check_contiguous(call, ETX_ARG_et_view_default_self));
  ETX_TRY(etx_call_check_contiguous(call, ETX_ARG_et_view_default_out));
  call->run = run_et_view;
  return ETX_OK;
}

// The same from element `start` on.
static etx_status run_part_view(etx_call* call) {
  const etx_tensor* self =
      etx_call_tensor(call, ETX_ARG_part_view_default_self);
  uint8_t* const data = self->data;
  const size_t start =
      (size_t)etx_call_integer(call, ETX_ARG_part_view_default_start);
  etx_call_out(call, ETX_ARG_part_view_default_out)->as.tensor.data =
      data == NULL ? NULL : data + start * etx_dtype_bytes(self->dtype);
  return ETX_OK;
}

etx_status etx_kernel_part_view_default_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_part_view_default_self,
                                    ETX_ARG_part_view_default_out));
  ETX_TRY(etx_call_check_contiguous(call, ETX_ARG_part_view_default_self));
  ETX_TRY(etx_call_check_contiguous(call, ETX_ARG_part_view_default_out));
  call->run = run_part_view;
  return ETX_OK;
}

// The same from the end of `previous` on. The runtime binds views itself; this
// is for callers that run a kernel alone.
static etx_status run_part_after(etx_call* call) {
  const etx_value* previous =
      etx_call_value(call, ETX_ARG_part_after_default_previous);
  uint8_t* data = etx_call_tensor(call, ETX_ARG_part_after_default_self)->data;
  if (previous->kind == ETX_VALUE_TENSOR) {
    const etx_tensor* before = &previous->as.tensor;
    data = before->data;
    if (data != NULL) data += etx_tensor_bytes(before);
  }
  etx_call_out(call, ETX_ARG_part_after_default_out)->as.tensor.data = data;
  return ETX_OK;
}

etx_status etx_kernel_part_after_default_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_part_after_default_self,
                                    ETX_ARG_part_after_default_out));
  ETX_TRY(etx_call_check_contiguous(call, ETX_ARG_part_after_default_self));
  ETX_TRY(etx_call_check_contiguous(call, ETX_ARG_part_after_default_out));
  call->run = run_part_after;
  return ETX_OK;
}

// The shape rule has given copy_to index + 1 rows.
static etx_status run_et_copy_index(etx_call* call) {
  const etx_strided_view from = etx_strided_view_of(
      etx_call_tensor(call, ETX_ARG_et_copy_index_tensor_copy_from));
  etx_strided_view row = etx_strided_view_of(
      etx_call_tensor(call, ETX_ARG_et_copy_index_tensor_copy_to));
  etx_strided_view_select(
      &row, 0, etx_call_integer(call, ETX_ARG_et_copy_index_tensor_index));
  etx_strided_view_copy(&row, &from);
  return ETX_OK;
}

etx_status etx_kernel_et_copy_index_tensor_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_et_copy_index_tensor_copy_to,
                                    ETX_ARG_et_copy_index_tensor_copy_from));
  call->run = run_et_copy_index;
  return ETX_OK;
}
