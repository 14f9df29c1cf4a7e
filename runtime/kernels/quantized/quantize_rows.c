// etx::quantize_rows: each row of float32 becomes int8 and a factor, the
// largest magnitude divided by 127. An element is divided by the factor, in
// float32, and rounded to nearest even.

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/core/parallel_for.h"
#include "runtime/kernels/math/math_bits.h"
#include "runtime/kernels/views/strided_view.h"

enum { MOST = 127 };  // the largest magnitude of a result

// The largest magnitude of a row. Bits of magnitudes have the order of the
// numbers, with infinity and NaN behind them: one NaN is enough.
static float largest_of(const float* x, size_t count) {
  uint32_t largest = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t bits = etx_bits_of_f32(x[i]) & UINT32_C(0x7fffffff);
    largest = bits > largest ? bits : largest;
  }
  return etx_f32_of_bits(largest);
}

// Quotients may exceed MOST where the factor was rounded, as subnormal numbers
// are.
static void round_row(const float* x, size_t count, float factor, int8_t* out) {
  const float most = (float)MOST;
  for (size_t i = 0; i < count; ++i) {
    const float y = etx_round_f32(x[i] / factor);
    const float raised = y < -most ? -most : y;
    out[i] = (int8_t)(int32_t)(raised > most ? most : raised);
  }
}

static void quantize_row(const float* x, size_t count, int8_t* out,
                         float* factor) {
  *factor = largest_of(x, count) / (float)MOST;
  if (*factor > 0 && *factor < etx_f32_of_bits(UINT32_C(0x7f800000))) {
    round_row(x, count, *factor, out);
  } else {
    memset(out, 0, count);
  }
}

static void quantize_rows(const void* context, size_t first, size_t end) {
  const etx_call* call = context;
  const etx_tensor* input = etx_call_tensor(call, ETX_ARG_quantize_rows_input);
  const etx_tensor* factors =
      etx_call_tensor(call, ETX_ARG_quantize_rows_factors);
  const size_t last = (size_t)input->rank - 1;
  const size_t count = (size_t)input->sizes[last];
  int8_t* out =
      (int8_t*)etx_call_tensor(call, ETX_ARG_quantize_rows_values)->data;
  for (size_t row = first; row < end; ++row) {
    ptrdiff_t at = 0;
    size_t index = row;
    for (size_t i = last; i-- > 0;) {
      const size_t size = (size_t)input->sizes[i];
      at += (ptrdiff_t)(index % size) * input->strides[i];
      index /= size;
    }
    quantize_row((const float*)input->data + at, count, out + row * count,
                 (float*)factors->data + row);
  }
}

static etx_status run_quantize_rows(etx_call* call) {
  const etx_tensor* factors =
      etx_call_tensor(call, ETX_ARG_quantize_rows_factors);
  const etx_tensor* input = etx_call_tensor(call, ETX_ARG_quantize_rows_input);
  etx_parallel_for(call->parallel, etx_tensor_numel(factors),
                   4.0 * (double)etx_tensor_numel(input), quantize_rows, call);
  return ETX_OK;
}

etx_status etx_kernel_quantize_rows_out_prepare(etx_call* call) {
  const etx_tensor* input = etx_call_tensor(call, ETX_ARG_quantize_rows_input);
  const size_t last = (size_t)input->rank - 1;
  ETX_TRY(etx_call_check_dtype(call, ETX_ARG_quantize_rows_input,
                               ETX_DTYPE_FLOAT32));
  ETX_TRY(
      etx_call_check_dtype(call, ETX_ARG_quantize_rows_values, ETX_DTYPE_INT8));
  ETX_TRY(etx_call_check_dtype(call, ETX_ARG_quantize_rows_factors,
                               ETX_DTYPE_FLOAT32));
  ETX_TRY(etx_call_check_contiguous(call, ETX_ARG_quantize_rows_values));
  ETX_TRY(etx_call_check_contiguous(call, ETX_ARG_quantize_rows_factors));
  if (input->sizes[last] > 1 && input->strides[last] != 1) {
    return etx_call_refuse(call, ETX_UNSUPPORTED,
                           "elements of a row of 'input' are apart");
  }
  call->run = run_quantize_rows;
  return ETX_OK;
}
