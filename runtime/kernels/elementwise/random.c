// rand, randn and native_dropout, which draw from the method's random stream
// (kernel.h).
//
// Element i of a call uses block i/4 or i/2 behind the blocks drawn before, so
// its number depends on nothing else.

#include <string.h>

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/math/math_functions.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/math/philox.h"
#include "runtime/kernels/core/strided_iterator.h"

// Two doubles in [0, 1) of 53 bits.
typedef struct uniform_pair {
  double first, second;
} uniform_pair;

static double uniform(uint32_t high, uint32_t low) {
  const uint64_t bits = ((uint64_t)high << 32 | low) >> 11;
  return (double)bits * 1.1102230246251565e-16;  // 2^-53
}

static uniform_pair pair_at(const etx_random_stream* stream, uint64_t block) {
  const etx_philox_block x = etx_philox(stream->seed, block);
  const uniform_pair pair = {uniform(x.words[0], x.words[1]),
                             uniform(x.words[2], x.words[3])};
  return pair;
}

// Truncates to the type's precision, so that rounding never gives 1.
static double cut(double x, etx_dtype dtype) {
  const double units = dtype == ETX_DTYPE_FLOAT16    ? 2048.0
                       : dtype == ETX_DTYPE_BFLOAT16 ? 256.0
                       : dtype == ETX_DTYPE_FLOAT32  ? 16777216.0
                                                     : 9007199254740992.0;
  return etx_floor_f64(x * units) / units;
}

static uniform_pair uniform_of(uniform_pair u, etx_dtype dtype) {
  const uniform_pair pair = {cut(u.first, dtype), cut(u.second, dtype)};
  return pair;
}

// Box and Muller's two independent normal numbers; 1 - u is never 0.
static uniform_pair normal_of(uniform_pair u, etx_dtype dtype) {
  (void)dtype;
  const double radius = etx_sqrt_f64(-2.0 * etx_log_f64(1.0 - u.first));
  const double angle = 6.2831853071795865 * u.second;
  const uniform_pair pair = {radius * etx_cos_f64(angle),
                             radius * etx_sin_f64(angle)};
  return pair;
}

static etx_status fill(etx_call* call,
                       uniform_pair (*change)(uniform_pair, etx_dtype)) {
  const etx_tensor* out = etx_call_tensor(call, ETX_ARG_rand_out);
  etx_random_stream* stream = call->random;
  uint64_t index = 0;
  etx_strided_iterator it;
  etx_strided_iterator_init(&it, out->sizes, out->rank);
  etx_strided_iterator_add(&it, out);
  uniform_pair pair = {0, 0};
  for (bool more = etx_strided_iterator_start(&it); more;
       more = etx_strided_iterator_next(&it)) {
    char* at = it.data[0];
    for (size_t i = 0; i < it.count; ++i, ++index) {
      const bool is_first = index % 2 == 0;
      if (is_first) {
        pair = change(pair_at(stream, stream->drawn + index / 2), out->dtype);
      }
      etx_convert_real(out->dtype, is_first ? pair.first : pair.second, at);
      at += it.stride[0] * it.bytes[0];
    }
  }
  stream->drawn += (index + 1) / 2;
  return ETX_OK;
}

static etx_status run_rand(etx_call* call) { return fill(call, uniform_of); }
static etx_status run_randn(etx_call* call) { return fill(call, normal_of); }

static etx_status check_stream(const etx_call* call) {
  if (call->random != NULL) return ETX_OK;
  return etx_call_refuse(call, ETX_UNSUPPORTED,
                         "random numbers are drawn where a constant is wanted");
}

static etx_status prepare_floats(etx_call* call, etx_kernel_function run) {
  const etx_dtype dtype = etx_call_tensor(call, ETX_ARG_rand_out)->dtype;
  if (etx_dtype_category_of(dtype) != ETX_CATEGORY_FLOATING) {
    return etx_call_refuse_dtype(call, ETX_ARG_rand_out, "a floating type");
  }
  ETX_TRY(check_stream(call));
  call->run = run;
  return ETX_OK;
}

etx_status etx_kernel_rand_out_prepare(etx_call* call) {
  return prepare_floats(call, run_rand);
}
etx_status etx_kernel_randn_out_prepare(etx_call* call) {
  return prepare_floats(call, run_randn);
}

// native_dropout(input, p, train) -> (out0, out1): each element becomes 0 with
// probability p, the others are multiplied by 1/(1 - p); out1 is the mask of
// the others. Without training nothing is dropped. None for `train` means true.
static bool trains(const etx_call* call) {
  return etx_call_is_none(call, ETX_ARG_native_dropout_train) ||
         etx_call_boolean(call, ETX_ARG_native_dropout_train);
}

static void drop_row(const etx_strided_iterator* it, etx_dtype dtype, double p,
                     const etx_random_stream* stream, uint64_t index) {
  const double factor = p < 1 ? 1 / (1 - p) : 0;
  char* out = it->data[0];
  char* mask = it->data[1];
  const char* in = it->data[2];
  uniform_pair pair = pair_at(stream, stream->drawn + index / 2);
  for (size_t i = 0; i < it->count; ++i, ++index) {
    if (index % 2 == 0) pair = pair_at(stream, stream->drawn + index / 2);
    const bool is_kept = (index % 2 == 0 ? pair.first : pair.second) >= p;
    double x;
    etx_convert(ETX_DTYPE_FLOAT64, &x, 1, dtype, in, 1, 1);
    // As in PyTorch, a product with the mask, so that NaN and infinity remain.
    x = x * (is_kept ? 1.0 : 0.0) * factor;
    etx_convert_real(dtype, x, out);
    *mask = is_kept;
    out += it->stride[0] * it->bytes[0];
    mask += it->stride[1];
    in += it->stride[2] * it->bytes[2];
  }
}

// Copies a row; nothing is dropped.
static void keep_row(const etx_strided_iterator* it, etx_dtype dtype) {
  static const int64_t one = 1;
  const bool is_dense = it->stride[0] == 1 && it->stride[2] == 1;
  if (!is_dense) {
    etx_convert(dtype, it->data[0], it->stride[0], dtype, it->data[2],
                it->stride[2], it->count);
  } else if (it->data[0] != it->data[2]) {
    memcpy(it->data[0], it->data[2], it->count * etx_dtype_bytes(dtype));
  }
  if (it->stride[1] == 1) {
    memset(it->data[1], 1, it->count);
  } else {
    etx_convert(ETX_DTYPE_BOOL, it->data[1], it->stride[1], ETX_DTYPE_INT64,
                &one, 0, it->count);
  }
}

static etx_status run_dropout(etx_call* call) {
  const etx_tensor* input = etx_call_tensor(call, ETX_ARG_native_dropout_input);
  const etx_tensor* out = etx_call_tensor(call, ETX_ARG_native_dropout_out0);
  const bool drops = trains(call);
  const double p = etx_call_real(call, ETX_ARG_native_dropout_p);
  uint64_t index = 0;
  etx_strided_iterator it;
  etx_strided_iterator_init(&it, out->sizes, out->rank);
  etx_strided_iterator_add(&it, out);
  etx_strided_iterator_add(&it,
                           etx_call_tensor(call, ETX_ARG_native_dropout_out1));
  etx_strided_iterator_add(&it, input);
  for (bool more = etx_strided_iterator_start(&it); more;
       more = etx_strided_iterator_next(&it)) {
    if (drops) {
      drop_row(&it, input->dtype, p, call->random, index);
    } else {
      keep_row(&it, input->dtype);
    }
    index += it.count;
  }
  if (drops) call->random->drawn += (index + 1) / 2;
  return ETX_OK;
}

etx_status etx_kernel_native_dropout_out_prepare(etx_call* call) {
  const etx_tensor* input = etx_call_tensor(call, ETX_ARG_native_dropout_input);
  const double p = etx_call_real(call, ETX_ARG_native_dropout_p);
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_native_dropout_input,
                                    ETX_ARG_native_dropout_out0));
  if (etx_dtype_category_of(input->dtype) != ETX_CATEGORY_FLOATING) {
    return etx_call_refuse_dtype(call, ETX_ARG_native_dropout_input,
                                 "a floating type");
  }
  if (etx_tensor_numel(input) > 0) {
    ETX_TRY(etx_call_check_dtype(call, ETX_ARG_native_dropout_out1,
                                 ETX_DTYPE_BOOL));
  }
  if (!(p >= 0 && p <= 1)) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "'p' is %f, expected a number from 0 to 1", p);
  }
  if (trains(call)) ETX_TRY(check_stream(call));
  call->run = run_dropout;
  return ETX_OK;
}
