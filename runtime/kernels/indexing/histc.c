// histc: how many elements lie in each of a number of equally wide bins. The
// range is given, or that of the elements if its two ends are equal; elements
// outside of a given range do not count. The bin is computed in the type of
// the elements, as PyTorch does, and the last bin includes its upper end.

#include <float.h>
#include <math.h>
#include <string.h>

#include "runtime/kernels/core/convert.h"
#include "runtime/kernels/core/strided_iterator.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"

typedef struct range {
  double low, high;
} range;

static void start(etx_strided_iterator* it, const etx_tensor* self) {
  etx_strided_iterator_init(it, self->sizes, self->rank);
  etx_strided_iterator_add(it, self);
}

static double element(const etx_strided_iterator* it, etx_dtype dtype,
                      size_t index) {
  const ptrdiff_t at = (ptrdiff_t)index * it->stride[0];
  return dtype == ETX_DTYPE_FLOAT32
             ? (double)((const float*)(const void*)it->data[0])[at]
             : ((const double*)(const void*)it->data[0])[at];
}

// The smallest and the largest element, of which there is at least one; NaN if
// one is NaN.
static range range_of_elements(const etx_tensor* self) {
  etx_strided_iterator it;
  range found = {HUGE_VAL, -HUGE_VAL};
  start(&it, self);
  for (bool more = etx_strided_iterator_start(&it); more;
       more = etx_strided_iterator_next(&it)) {
    for (size_t i = 0; i < it.count; ++i) {
      const double x = element(&it, self->dtype, i);
      if (isnan(x)) return (range){x, x};
      if (x < found.low) found.low = x;
      if (x > found.high) found.high = x;
    }
  }
  return found;
}

static etx_status find_range(const etx_call* call, range* out) {
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_histc_self);
  out->low = etx_call_real(call, ETX_ARG_histc_min);
  out->high = etx_call_real(call, ETX_ARG_histc_max);
  if (out->low == out->high && etx_tensor_numel(self) > 0) {
    *out = range_of_elements(self);
  }
  if (out->low == out->high) {
    out->low -= 1;
    out->high += 1;
  }
  if (!isfinite(out->low) || !isfinite(out->high)) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "the range of the bins is not finite");
  }
  if (out->low < out->high) return ETX_OK;
  return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                         "'max' is smaller than 'min', expected the opposite");
}

// Counts the elements of a row in `bins`, which have the elements' type.
static void count_f32(const etx_strided_iterator* it, range all, int32_t count,
                      float* bins) {
  const float* const row = (const float*)(const void*)it->data[0];
  const float low = (float)all.low, high = (float)all.high;
  for (size_t i = 0; i < it->count; ++i) {
    const float x = row[(ptrdiff_t)i * it->stride[0]];
    if (!(x >= low && x <= high)) continue;
    const float at = (x - low) * (float)count / (high - low);
    ++bins[at < (float)count ? (int32_t)at : count - 1];
  }
}

static void count_f64(const etx_strided_iterator* it, range all, int32_t count,
                      double* bins) {
  const double* const row = (const double*)(const void*)it->data[0];
  for (size_t i = 0; i < it->count; ++i) {
    const double x = row[(ptrdiff_t)i * it->stride[0]];
    if (!(x >= all.low && x <= all.high)) continue;
    const double at = (x - all.low) * count / (all.high - all.low);
    ++bins[at < count ? (int32_t)at : count - 1];
  }
}

static etx_status run_histc(etx_call* call) {
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_histc_self);
  const etx_tensor* out = etx_call_tensor(call, ETX_ARG_histc_out);
  const int32_t count = out->sizes[0];
  etx_strided_iterator it;
  range all;
  ETX_TRY(find_range(call, &all));
  memset(out->data, 0, etx_tensor_bytes(out));
  start(&it, self);
  for (bool more = etx_strided_iterator_start(&it); more;
       more = etx_strided_iterator_next(&it)) {
    if (self->dtype == ETX_DTYPE_FLOAT32) {
      count_f32(&it, all, count, out->data);
    } else {
      count_f64(&it, all, count, out->data);
    }
  }
  return ETX_OK;
}

etx_status etx_kernel_histc_out_prepare(etx_call* call) {
  const etx_dtype dtype = etx_call_tensor(call, ETX_ARG_histc_self)->dtype;
  if (dtype != ETX_DTYPE_FLOAT32 && dtype != ETX_DTYPE_FLOAT64) {
    return etx_call_refuse_dtype(call, ETX_ARG_histc_self,
                                 "float32 or float64");
  }
  ETX_TRY(etx_call_check_dtype(call, ETX_ARG_histc_out, dtype));
  ETX_TRY(etx_call_check_contiguous(call, ETX_ARG_histc_out));
  call->run = run_histc;
  return ETX_OK;
}
