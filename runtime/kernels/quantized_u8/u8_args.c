#include "runtime/kernels/quantized_u8/u8_args.h"

static etx_status check_contiguous(const etx_call* call, size_t index,
                                   etx_dtype dtype) {
  ETX_TRY(etx_call_check_dtype(call, index, dtype));
  return etx_call_check_contiguous(call, index);
}

etx_status etx_u8_check(const etx_call* call, size_t weight, size_t channels) {
  const size_t out = call->argument_count - 1;
  ETX_TRY(check_contiguous(call, 0, ETX_DTYPE_UINT8));
  ETX_TRY(check_contiguous(call, weight, ETX_DTYPE_INT8));
  ETX_TRY(check_contiguous(call, channels, ETX_DTYPE_INT32));
  ETX_TRY(check_contiguous(call, channels + 1, ETX_DTYPE_FLOAT32));
  if (!etx_call_is_none(call, channels + 2)) {
    ETX_TRY(check_contiguous(call, channels + 2, ETX_DTYPE_FLOAT32));
  }
  return check_contiguous(call, out,
                          (etx_dtype)etx_call_integer(call, out - 1));
}

void etx_u8_requantize_bounds_read(const etx_call* call, size_t results,
                                   etx_u8_requantize* out) {
  const int64_t zero = etx_call_integer(call, results);
  out->zero = (int32_t)zero;
  out->low = (float)(etx_call_integer(call, results + 1) - zero);
  out->high = (float)(etx_call_integer(call, results + 2) - zero);
  out->fits_int32 = false;
  out->is_float = etx_call_integer(call, results + 3) == ETX_DTYPE_FLOAT32;
}

// True if scales and biases are so small that |sum * scale + bias| < 2^31 for
// every int32 sum.
static bool fits_int32(const etx_u8_requantize* r, size_t channels) {
  bool fits = true;
  for (size_t i = 0; i < channels; ++i) {
    const float scale = r->scales[i], bias = r->bias == NULL ? 0 : r->bias[i];
    fits &= scale >= -0.25f && scale <= 0.25f;
    fits &= bias >= -0x1p29f && bias <= 0x1p29f;
  }
  return fits;
}

void etx_u8_requantize_read(const etx_call* call, size_t channels,
                            size_t results, etx_u8_requantize* out) {
  out->offsets = etx_call_tensor(call, channels)->data;
  out->scales = etx_call_tensor(call, channels + 1)->data;
  out->bias = etx_call_is_none(call, channels + 2)
                  ? NULL
                  : etx_call_tensor(call, channels + 2)->data;
  etx_u8_requantize_bounds_read(call, results, out);
  out->fits_int32 =
      fits_int32(out, etx_tensor_numel(etx_call_tensor(call, channels)));
}
