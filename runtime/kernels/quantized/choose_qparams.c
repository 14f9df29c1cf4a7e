// Each step is one operation on numbers of the input's type, computed in double
// and rounded to that type. This gives the same result as an operation in that
// type, because the 53 bits of a double are more than 2 * 24 + 2.

#include "runtime/kernels/quantized/choose_qparams.h"

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/simd/vector/striped_sum.h"
#include "runtime/kernels/math/math_functions.h"
#include "runtime/kernels/views/strided_view.h"
#include "runtime/kernels/core/strided_iterator.h"

static double rounded(etx_dtype dtype, double x) {
  char narrow[8];
  double out;
  if (dtype == ETX_DTYPE_FLOAT64) return x;
  if (dtype == ETX_DTYPE_FLOAT32) return (double)(float)x;
  etx_convert_real(dtype, x, narrow);
  etx_convert(ETX_DTYPE_FLOAT64, &out, 1, dtype, narrow, 1, 1);
  return out;
}

// The smallest and the largest of some numbers.
typedef struct value_range {
  double low, high;
  bool has_nan;
} value_range;

// The same for each lane. Comparisons ignore NaN, which is tested separately.
typedef struct range_lanes {
  etx_f32x4 low, high;
  etx_i32x4 nans;
} range_lanes;

static inline void update_lanes(range_lanes* e, etx_f32x4 x) {
  e->low = -etx_f32x4_max(-x, -e->low);
  e->high = etx_f32x4_max(x, e->high);
  e->nans |= x != x;
}

// Contiguous floats, eight at a time.
static void update_range_f32(const float* x, size_t count, value_range* e) {
  range_lanes lanes[2] = {0};
  size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    update_lanes(&lanes[0], etx_f32x4_load(x + i));
    update_lanes(&lanes[1], etx_f32x4_load(x + i + 4));
  }
  for (; i < count; ++i) update_lanes(&lanes[0], etx_f32x4_broadcast(x[i]));
  for (int part = 0; part < 2; ++part) {
    for (int k = 0; k < 4; ++k) {
      const double low = (double)lanes[part].low[k];
      const double high = (double)lanes[part].high[k];
      e->low = low < e->low ? low : e->low;
      e->high = high > e->high ? high : e->high;
      e->has_nan |= lanes[part].nans[k] != 0;
    }
  }
}

static void update_range(etx_dtype dtype, const void* data, ptrdiff_t stride,
                         size_t count, value_range* e) {
  const ptrdiff_t bytes = (ptrdiff_t)etx_dtype_bytes(dtype);
  if (dtype == ETX_DTYPE_FLOAT32 && stride == 1 && count > 0) {
    update_range_f32(data, count, e);
    return;
  }
  const char* at = data;
  while (count > 0) {
    const size_t part = count < ETX_BLOCK ? count : ETX_BLOCK;
    etx_block block;
    etx_block_load(&block, ETX_COMPUTE_F64, dtype, at, stride, part);
    for (size_t i = 0; i < part; ++i) {
      const double y = block.f64[i];
      e->low = y < e->low ? y : e->low;
      e->high = y > e->high ? y : e->high;
      e->has_nan |= y != y;
    }
    at += stride * bytes * (ptrdiff_t)part;
    count -= part;
  }
}

static double nan_of_f64(void) {
  return etx_f64_of_bits(UINT64_C(0x7ff8000000000000));
}
static double low_of(const value_range* e) {
  return e->has_nan ? nan_of_f64() : e->low;
}
static double high_of(const value_range* e) {
  return e->has_nan ? nan_of_f64() : e->high;
}

// The range of zero elements. A range always includes 0.
static value_range empty_range(void) {
  const value_range e = {0, 0, false};
  return e;
}

static etx_qparams qparams_of_range(etx_dtype computed, double low,
                                    double high) {
  const double span = rounded(computed, rounded(computed, high - low) / 255.0);
  const double least = rounded(computed, 1.1920928955078125e-07);
  const double scale = span < least ? least : span;
  const double low_steps = rounded(computed, low / scale);
  const double high_steps = rounded(computed, high / scale);
  const double low_error = rounded(computed, -128.0 + low_steps);
  const double high_error = rounded(computed, 127.0 + high_steps);
  double zero = rounded(computed, low_error + high_error) > 0
                    ? rounded(computed, -128.0 - low_steps)
                    : rounded(computed, 127.0 - high_steps);
  zero = zero < -128.0 ? -128.0 : (zero > 127.0 ? 127.0 : zero);
  zero = etx_round_f64(zero);
  const etx_qparams out = {scale, zero == zero ? (int64_t)zero : INT64_MIN};
  return out;
}

// The same steps for four rows. Adding 1.5 * 2^23 rounds to the nearest
// integer, which is then in the low bits.
void etx_qparams_of_ranges(const float* low, const float* high,
                           float* out_scales, int32_t* out_zero_points) {
  const etx_f32x4 first = etx_f32x4_load(low), last = etx_f32x4_load(high);
  const etx_f32x4 least = etx_f32x4_broadcast(1.1920928955078125e-07f);
  const etx_f32x4 whole = etx_f32x4_broadcast(12582912.0f);
  const etx_f32x4 scales = etx_f32x4_max(least, (last - first) / 255.0f);
  const etx_f32x4 low_steps = first / scales, high_steps = last / scales;
  const etx_i32x4 from_low =
      (low_steps - 128.0f) + (high_steps + 127.0f) > 0.0f;
  const etx_f32x4 zeros =
      (etx_f32x4)((from_low & (etx_i32x4)(-128.0f - low_steps)) |
                  (~from_low & (etx_i32x4)(127.0f - high_steps)));
  const etx_f32x4 most = etx_f32x4_max(zeros, etx_f32x4_broadcast(-128.0f));
  const etx_f32x4 clamped = -etx_f32x4_max(-most, etx_f32x4_broadcast(-127.0f));
  const etx_i32x4 zero_points =
      ((etx_i32x4)(clamped + whole) - (etx_i32x4)whole) & (zeros == zeros);
  etx_f32x4_store(out_scales, scales);
  memcpy(out_zero_points, &zero_points, sizeof(zero_points));
}

etx_qparams etx_qparams_of_row(etx_dtype computed, etx_dtype dtype,
                               const void* data, ptrdiff_t stride,
                               size_t count) {
  value_range e = empty_range();
  update_range(dtype, data, stride, count, &e);
  return qparams_of_range(computed, low_of(&e), high_of(&e));
}

// (input, dtype, scale_out, zero_point_out)
static etx_status run_per_token(etx_call* call) {
  const etx_tensor* input =
      etx_call_tensor(call, ETX_ARG_choose_qparams_per_token_asymmetric_input);
  const size_t last = (size_t)input->rank - 1;
  const etx_strided_view scales = etx_strided_view_of(etx_call_tensor(
      call, ETX_ARG_choose_qparams_per_token_asymmetric_scale_out));
  const etx_strided_view zeros = etx_strided_view_of(etx_call_tensor(
      call, ETX_ARG_choose_qparams_per_token_asymmetric_zero_point_out));
  etx_strided_view rows = etx_strided_view_of(input);
  etx_strided_view_slice(&rows, last, 0, 1, 1);
  etx_strided_iterator iterator;
  etx_strided_iterator_init(&iterator, rows.sizes, rows.rank);
  etx_strided_iterator_add_strided(&iterator, rows.data,
                                   etx_dtype_bytes(rows.dtype), rows.strides);
  etx_strided_iterator_add_strided(&iterator, scales.data, sizeof(double),
                                   scales.strides);
  etx_strided_iterator_add_strided(&iterator, zeros.data, sizeof(int64_t),
                                   zeros.strides);
  for (bool more = etx_strided_iterator_start(&iterator); more;
       more = etx_strided_iterator_next(&iterator)) {
    for (size_t i = 0; i < iterator.count; ++i) {
      const ptrdiff_t n = (ptrdiff_t)i;
      const etx_qparams q = etx_qparams_of_row(
          input->dtype, input->dtype,
          iterator.data[0] + n * iterator.stride[0] * iterator.bytes[0],
          input->strides[last], (size_t)input->sizes[last]);
      ((double*)(void*)iterator.data[1])[n * iterator.stride[1]] = q.scale;
      ((int64_t*)(void*)iterator.data[2])[n * iterator.stride[2]] =
          q.zero_point;
    }
  }
  return ETX_OK;
}

static etx_status check_outputs(const etx_call* call, size_t scale) {
  const etx_compute_type compute = etx_compute_type_of(
      etx_call_tensor(call, ETX_ARG_choose_qparams_tensor_input)->dtype);
  if (compute != ETX_COMPUTE_F32 && compute != ETX_COMPUTE_F64) {
    return etx_call_refuse_dtype(call, ETX_ARG_choose_qparams_tensor_input,
                                 "floats");
  }
  ETX_TRY(etx_call_check_dtype(call, scale, ETX_DTYPE_FLOAT64));
  return etx_call_check_dtype(call, scale + 1, ETX_DTYPE_INT64);
}

etx_status etx_kernel_choose_qparams_per_token_asymmetric_out_prepare(
    etx_call* call) {
  ETX_TRY(check_outputs(call, 2));
  call->run = run_per_token;
  return ETX_OK;
}

// As in PyTorch's determine_qparams, the quotient is rounded to float32, and
// the zero point is computed in int32 arithmetic that wraps.
static etx_qparams qparams_of(etx_dtype dtype, const value_range* e,
                              int64_t least, int64_t most, double eps) {
  const double low = low_of(e);
  const double span =
      rounded(dtype, rounded(dtype, high_of(e) - low) / (double)(most - least));
  const double floor = (double)(float)eps;
  const double scale = span < floor ? floor : span;
  const double quotient = (double)(float)(low / scale);
  const double whole = etx_round_f64(quotient);
  const bool fits = whole >= -2147483648.0 && whole < 2147483648.0;
  const int32_t low_steps = fits ? (int32_t)whole : INT32_MIN;
  int64_t zero = (int32_t)((uint32_t)least - (uint32_t)low_steps);
  zero = zero < least ? least : (zero > most ? most : zero);
  const etx_qparams out = {scale, zero};
  return out;
}

// (input, quant_min, quant_max, eps, dtype, scale_out, zero_point_out)
static etx_status run_per_tensor(etx_call* call) {
  const etx_tensor* input =
      etx_call_tensor(call, ETX_ARG_choose_qparams_tensor_input);
  value_range e = empty_range();
  etx_strided_iterator iterator;
  etx_strided_iterator_init(&iterator, input->sizes, input->rank);
  etx_strided_iterator_add(&iterator, input);
  for (bool more = etx_strided_iterator_start(&iterator); more;
       more = etx_strided_iterator_next(&iterator)) {
    update_range(input->dtype, iterator.data[0], iterator.stride[0],
                 iterator.count, &e);
  }
  const etx_qparams q = qparams_of(
      input->dtype, &e,
      etx_call_integer(call, ETX_ARG_choose_qparams_tensor_quant_min),
      etx_call_integer(call, ETX_ARG_choose_qparams_tensor_quant_max),
      etx_call_real(call, ETX_ARG_choose_qparams_tensor_eps));
  *(double*)etx_call_tensor(call, ETX_ARG_choose_qparams_tensor_scale_out)
       ->data = q.scale;
  *(int64_t*)etx_call_tensor(call, ETX_ARG_choose_qparams_tensor_zero_point_out)
       ->data = q.zero_point;
  return ETX_OK;
}

etx_status etx_kernel_choose_qparams_tensor_out_prepare(etx_call* call) {
  if (etx_call_tensor(call, ETX_ARG_choose_qparams_tensor_input)->dtype ==
      ETX_DTYPE_FLOAT64) {
    return etx_call_refuse_dtype(call, ETX_ARG_choose_qparams_tensor_input,
                                 "floats of at most 32 bits");
  }
  if (etx_tensor_numel(
          etx_call_tensor(call, ETX_ARG_choose_qparams_tensor_input)) == 0) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT, "'input' has no element");
  }
  ETX_TRY(check_outputs(call, 5));
  call->run = run_per_tensor;
  return ETX_OK;
}
