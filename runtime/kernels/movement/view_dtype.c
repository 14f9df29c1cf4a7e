// view of another type: a copy of the bytes.

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/views/strided_view.h"

static etx_status run_view_dtype(etx_call* call) {
  const etx_strided_view from =
      etx_strided_view_of(etx_call_tensor(call, ETX_ARG_view_dtype_self));
  etx_strided_view to = from;
  ptrdiff_t stride = 1;
  to.data = etx_call_tensor(call, ETX_ARG_view_dtype_out)->data;
  to.offset = 0;
  for (size_t i = to.rank; i-- > 0; stride *= to.sizes[i]) {
    to.strides[i] = stride;
  }
  etx_strided_view_copy(&to, &from);
  return ETX_OK;
}

etx_status etx_kernel_view_dtype_out_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_dtype(
      call, ETX_ARG_view_dtype_out,
      (etx_dtype)etx_call_integer(call, ETX_ARG_view_dtype_dtype)));
  ETX_TRY(etx_call_check_contiguous(call, ETX_ARG_view_dtype_out));
  call->run = run_view_dtype;
  return ETX_OK;
}
