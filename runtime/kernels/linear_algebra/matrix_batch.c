#include "runtime/kernels/linear_algebra/matrix_batch.h"

size_t etx_matrix_count(const etx_tensor* tensor) {
  size_t count = 1;
  for (size_t i = 0; i + 2 < tensor->rank; ++i) {
    count *= (size_t)tensor->sizes[i];
  }
  return count;
}

ptrdiff_t etx_matrix_offset(const etx_tensor* tensor, size_t inner,
                            const etx_tensor* result, size_t index) {
  ptrdiff_t offset = 0;
  const size_t own = tensor->rank - inner;
  for (size_t i = 0; i + 2 < result->rank; ++i) {
    const size_t size = (size_t)result->sizes[result->rank - 3 - i];
    const ptrdiff_t at = (ptrdiff_t)(index % size);
    index /= size;
    if (i >= own || tensor->sizes[own - 1 - i] == 1) continue;
    offset += at * tensor->strides[own - 1 - i];
  }
  return offset;
}

etx_status etx_matrix_check_dtypes(const etx_call* call, size_t a, size_t b) {
  const etx_dtype dtype = etx_call_tensor(call, a)->dtype;
  if (dtype != ETX_DTYPE_FLOAT32 && dtype != ETX_DTYPE_FLOAT64) {
    return etx_call_refuse_dtype(call, a, "float32 or float64");
  }
  return etx_call_check_same_dtype(call, a, b);
}

etx_status etx_matrix_check_results(const etx_call* call, size_t a,
                                    size_t first, size_t last) {
  for (size_t i = first; i <= last; ++i) {
    ETX_TRY(etx_matrix_check_dtypes(call, a, i));
    ETX_TRY(etx_call_check_contiguous(call, i));
  }
  return ETX_OK;
}
