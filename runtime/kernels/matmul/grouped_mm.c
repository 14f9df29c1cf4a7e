// grouped_mm: the rows of a matrix are in groups, and each group is multiplied
// by a matrix of its own, as the sorted tokens of a mixture of experts are.
// Element i of `offs` is the row behind group i, so the sizes of the groups
// are known only while the method runs.

#include <string.h>

#include "runtime/kernels/core/index_tensor.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/matmul/gemm.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/registry/temporary_kernels.h"

// The row behind group `group`.
static int64_t end_of_group(const etx_tensor* offs, size_t group) {
  const ptrdiff_t at = (ptrdiff_t)group * offs->strides[0];
  return offs->dtype == ETX_DTYPE_INT32
             ? ((const int32_t*)(const void*)offs->data)[at]
             : ((const int64_t*)(const void*)offs->data)[at];
}

static etx_status check_groups(const etx_call* call) {
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_grouped_mm_self);
  const etx_tensor* offs = etx_call_tensor(call, ETX_ARG_grouped_mm_offs);
  int64_t before = 0;
  for (size_t i = 0; i < (size_t)offs->sizes[0]; ++i) {
    const int64_t end = end_of_group(offs, i);
    if (end < before || end > self->sizes[0]) {
      return etx_call_refuse(call, ETX_OUT_OF_RANGE,
                             "'offs' has %i at index %z, expected %i to %i",
                             end, i, before, (int64_t)self->sizes[0]);
    }
    before = end;
  }
  return ETX_OK;
}

// (self [M, K], mat2 [G, K, N], offs [G], out [M, N]): rows behind the last
// group are zero.
static etx_status run_groups(etx_call* call) {
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_grouped_mm_self);
  const etx_tensor* mat2 = etx_call_tensor(call, ETX_ARG_grouped_mm_mat2);
  const etx_tensor* offs = etx_call_tensor(call, ETX_ARG_grouped_mm_offs);
  const etx_tensor* out = etx_call_tensor(call, ETX_ARG_grouped_mm_out);
  const ptrdiff_t bytes = (ptrdiff_t)etx_dtype_bytes(self->dtype);
  etx_gemm product = {.columns = (size_t)mat2->sizes[2],
                      .inner = (size_t)self->sizes[1],
                      .dtype = self->dtype,
                      .right_dtype = mat2->dtype,
                      .left = self->data,
                      .left_row = self->strides[0],
                      .left_inner = self->strides[1],
                      .right = mat2->data,
                      .right_inner = mat2->strides[1],
                      .right_column = mat2->strides[2],
                      .out = out->data,
                      .out_row = out->sizes[1]};
  const ptrdiff_t out_row = product.out_row * bytes;
  int64_t row = 0;
  ETX_TRY(check_groups(call));
  if (product.columns == 0) return ETX_OK;
  for (size_t i = 0; i < (size_t)offs->sizes[0]; ++i) {
    const int64_t end = end_of_group(offs, i);
    product.rows = (size_t)(end - row);
    if (product.rows > 0) {
      etx_gemm_run(&product, call->parallel, call->temporary);
    }
    product.left += (ptrdiff_t)(end - row) * product.left_row * bytes;
    product.out += (ptrdiff_t)(end - row) * out_row;
    product.right += mat2->strides[0] * bytes;
    row = end;
  }
  memset(product.out, 0, (size_t)((self->sizes[0] - row) * out_row));
  return ETX_OK;
}

etx_status etx_kernel_grouped_mm_out_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_real(call, ETX_ARG_grouped_mm_self));
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_grouped_mm_self,
                                    ETX_ARG_grouped_mm_mat2));
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_grouped_mm_self,
                                    ETX_ARG_grouped_mm_out));
  ETX_TRY(etx_call_check_contiguous(call, ETX_ARG_grouped_mm_out));
  ETX_TRY(etx_index_check_dtype(
      call, etx_call_tensor(call, ETX_ARG_grouped_mm_offs)));
  if (etx_call_tensor(call, ETX_ARG_grouped_mm_self)->dtype == ETX_DTYPE_BOOL) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "truth values are multiplied");
  }
  // A group has at most all rows, and fewer rows need no more memory.
  if (!etx_call_is_again(call)) {
    ETX_TRY(etx_temporary_product(call, &call->temporary_bytes));
  }
  call->run = run_groups;
  return ETX_OK;
}
