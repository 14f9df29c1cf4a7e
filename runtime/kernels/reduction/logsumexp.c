// logsumexp: log(sum(exp(x))), without overflow.
//
// The accumulator has the running maximum m and the sum of exp(x - m). When m
// grows, the sum is rescaled. An infinite m is not subtracted, so infinities
// give the same results as in PyTorch.

#include "runtime/kernels/simd/elementwise/float_loops.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/math/math_functions.h"
#include "runtime/kernels/reduction/reduce.h"

// value.f64 has m, other.f64 has the sum.
static void start_empty(etx_accumulators* acc, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    acc->value.f64[i] = -__builtin_inf();
    acc->other.f64[i] = 0;
  }
}

static double shift_of(double m) {
  return etx_abs_f64(m) == __builtin_inf() ? 0 : m;
}

// Updates m and rescales the sum. Returns what is subtracted from elements.
static double raise_max(etx_accumulators* acc, size_t at, double max) {
  const double old = acc->value.f64[at];
  if (max > old) {
    const double scale = etx_exp_f64(shift_of(old) - shift_of(max));
    // 0 times an infinite scale would be NaN.
    if (acc->other.f64[at] != 0) acc->other.f64[at] *= scale;
    acc->value.f64[at] = max;
  }
  return shift_of(acc->value.f64[at]);
}

static void block_f32(etx_accumulators* acc, size_t at, const float* x,
                      size_t count) {
  const etx_row_loops* loops = &etx_float_loops_best()->rows;
  float exps[ETX_BLOCK];
  const float max = loops->scale(exps, x, count, 1.0f, x[0]);
  const float shift = (float)raise_max(acc, at, (double)max);
  acc->other.f64[at] += (double)loops->raise(exps, x, count, shift);
}

static void row_f32(etx_accumulators* acc, size_t at, const void* elements,
                    size_t count, int64_t before) {
  const float* x = elements;
  (void)before;
  for (size_t done = 0; done < count; done += ETX_BLOCK) {
    const size_t left = count - done;
    block_f32(acc, at, x + done, left < ETX_BLOCK ? left : ETX_BLOCK);
  }
}

static void row_f64(etx_accumulators* acc, size_t at, const void* elements,
                    size_t count, int64_t before) {
  const double* x = elements;
  (void)before;
  for (size_t i = 0; i < count; ++i) {
    const double shift = raise_max(acc, at, x[i]);
    acc->other.f64[at] += etx_exp_f64(x[i] - shift);
  }
}

static void columns_f32(etx_accumulators* acc, const void* elements,
                        size_t count, int64_t before, size_t rows,
                        ptrdiff_t step) {
  const float* x = elements;
  for (size_t row = 0; row < rows; ++row, x += step) {
    for (size_t i = 0; i < count; ++i) row_f32(acc, i, &x[i], 1, before);
  }
}
static void columns_f64(etx_accumulators* acc, const void* elements,
                        size_t count, int64_t before, size_t rows,
                        ptrdiff_t step) {
  const double* x = elements;
  for (size_t row = 0; row < rows; ++row, x += step) {
    for (size_t i = 0; i < count; ++i) row_f64(acc, i, &x[i], 1, before);
  }
}

static double result_at(const etx_accumulators* acc, size_t i) {
  return etx_log_f64(acc->other.f64[i]) + shift_of(acc->value.f64[i]);
}
static void finish_f32(const etx_reduction* r, etx_accumulators* acc,
                       size_t count) {
  (void)r;
  for (size_t i = 0; i < count; ++i) {
    const double result = result_at(acc, i);
    acc->value.f32[i] = (float)result;
  }
}
static void finish_f64(const etx_reduction* r, etx_accumulators* acc,
                       size_t count) {
  (void)r;
  for (size_t i = 0; i < count; ++i) {
    acc->value.f64[i] = result_at(acc, i);
  }
}

static const etx_reducer reducers[] = {
    [ETX_COMPUTE_F32] = {start_empty, row_f32, columns_f32, finish_f32,
                         ETX_COMPUTE_F32, ETX_COMPUTE_NONE},
    [ETX_COMPUTE_F64] = {start_empty, ETX_IF_DTYPE(FLOAT64, row_f64),
                         ETX_IF_DTYPE(FLOAT64, columns_f64),
                         ETX_IF_DTYPE(FLOAT64, finish_f64), ETX_COMPUTE_F64,
                         ETX_COMPUTE_NONE},
};

// (self, dim, keepdim, out)
static etx_status run(etx_call* call) {
  etx_reduction r = {.self = etx_call_tensor(call, ETX_ARG_logsumexp_self),
                     .value = etx_call_tensor(call, ETX_ARG_logsumexp_out),
                     .dims = etx_reduced_dims(call, 1, true)};
  r.compute = etx_compute_type_of(r.value->dtype);
  r.reducer = &reducers[r.compute];
  r.cast = r.self->dtype;
  r.native = etx_compute_type_dtype(r.compute);
  etx_reduce(&r);
  return ETX_OK;
}

etx_status etx_kernel_logsumexp_out_prepare(etx_call* call) {
  const etx_tensor* out = etx_call_tensor(call, ETX_ARG_logsumexp_out);
  ETX_TRY(etx_call_check_real(call, ETX_ARG_logsumexp_self));
  if (etx_compute_type_of(out->dtype) != ETX_COMPUTE_F32 &&
      etx_compute_type_of(out->dtype) != ETX_COMPUTE_F64) {
    return etx_call_refuse_dtype(call, ETX_ARG_logsumexp_out, "a float type");
  }
  call->run = run;
  return ETX_OK;
}
