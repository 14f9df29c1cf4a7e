#include "runtime/kernels/quantized/linear_input.h"

#include "runtime/kernels/core/convert.h"

size_t etx_linear_input_inner(const etx_tensor* input) {
  return (size_t)input->sizes[input->rank - 1];
}

size_t etx_linear_input_rows(const etx_tensor* input) {
  size_t rows = 1;
  for (size_t i = 0; i + 1 < input->rank; ++i) rows *= (size_t)input->sizes[i];
  return rows;
}

const char* etx_linear_input_row(const etx_tensor* input, size_t index) {
  ptrdiff_t at = 0;
  for (size_t i = (size_t)input->rank - 1; i-- > 0;) {
    const size_t size = (size_t)input->sizes[i];
    at += (ptrdiff_t)(index % size) * input->strides[i];
    index /= size;
  }
  return (const char*)input->data +
         at * (ptrdiff_t)etx_dtype_bytes(input->dtype);
}

bool etx_linear_input_is_dense(const etx_tensor* input) {
  return input->strides[input->rank - 1] == 1 &&
         input->dtype == ETX_DTYPE_FLOAT32;
}

void etx_linear_input_load(const etx_tensor* input, const char* row,
                           size_t first, size_t count, float* out) {
  const ptrdiff_t stride = input->strides[input->rank - 1];
  const ptrdiff_t bytes = (ptrdiff_t)etx_dtype_bytes(input->dtype);
  etx_convert(ETX_DTYPE_FLOAT32, out, 1, input->dtype,
              row + (ptrdiff_t)first * stride * bytes, stride, count);
}

etx_qparams etx_linear_input_qparams(const etx_tensor* input, const char* row) {
  const size_t inner = etx_linear_input_inner(input);
  if (inner == 0) return (etx_qparams){1, 0};
  etx_qparams q = etx_qparams_of_row(ETX_DTYPE_FLOAT32, input->dtype, row,
                                     input->strides[input->rank - 1], inner);
  if (q.zero_point < -128) q.zero_point = 0;
  return q;
}
