#include "runtime/kernels/core/complex_as_real.h"

etx_status etx_call_check_complex_as_real(const etx_call* call, size_t index) {
  const etx_tensor* tensor = etx_call_tensor(call, index);
  bool fits = tensor->rank < ETX_MAX_RANK;
  for (size_t i = 0; i < tensor->rank; ++i) {
    fits = fits && tensor->strides[i] <= INT32_MAX / 2 &&
           tensor->strides[i] >= INT32_MIN / 2;
  }
  if (fits) return ETX_OK;
  return etx_call_refuse(call, ETX_UNSUPPORTED,
                         "a complex tensor has %i dimensions or spans more "
                         "than 2^30 elements",
                         (int64_t)tensor->rank);
}

const etx_tensor* etx_complex_as_real_of(const etx_tensor* complex,
                                         etx_complex_as_real* parts) {
  const size_t rank = complex->rank;
  for (size_t i = 0; i < rank; ++i) {
    parts->sizes[i] = complex->sizes[i];
    parts->strides[i] = 2 * complex->strides[i];
  }
  parts->sizes[rank] = 2;
  parts->strides[rank] = 1;
  parts->tensor = (etx_tensor){.data = complex->data,
                               .sizes = parts->sizes,
                               .strides = parts->strides,
                               .rank = (uint8_t)(rank + 1),
                               .dtype = etx_complex_part_dtype(complex->dtype)};
  return &parts->tensor;
}
