// logsumexp: the logarithm of the sum of e^x, without overflow.
//
// Kept on the way: m, the largest element so far, and the sum of e^(x - m).
// Where m grows the sum is scaled. An infinite m is not subtracted: what is
// infinite then comes out by itself, as in PyTorch.

#include "runtime/kernels/simd/elementwise/float_loops.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/math/math_functions.h"
#include "runtime/kernels/reduction/reduce.h"

// In a block: m as value.f64, the sum as other.f64.
static void start_empty(etx_accumulators* folded, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    folded->value.f64[i] = -__builtin_inf();
    folded->other.f64[i] = 0;
  }
}

static double shift_of(double m) {
  return etx_abs_f64(m) == __builtin_inf() ? 0 : m;
}

// Takes note of a larger element; returns what is subtracted from now on.
static double grow(etx_accumulators* folded, size_t at, double largest) {
  const double old = folded->value.f64[at];
  if (largest > old) {
    const double scale = etx_exp_f64(shift_of(old) - shift_of(largest));
    // 0 times an infinite scale would be NaN.
    if (folded->other.f64[at] != 0) folded->other.f64[at] *= scale;
    folded->value.f64[at] = largest;
  }
  return shift_of(folded->value.f64[at]);
}

static void block_f32(etx_accumulators* folded, size_t at, const float* x,
                      size_t count) {
  const etx_softmax_loops* line = &etx_float_loops_best()->line;
  float powers[ETX_BLOCK];
  const float largest = line->scale(powers, x, count, 1.0f, x[0]);
  const float shift = (float)grow(folded, at, (double)largest);
  folded->other.f64[at] += (double)line->raise(powers, x, count, shift);
}

static void row_f32(etx_accumulators* folded, size_t at, const void* elements,
                    size_t count, int64_t before) {
  const float* x = elements;
  (void)before;
  for (size_t done = 0; done < count; done += ETX_BLOCK) {
    const size_t left = count - done;
    block_f32(folded, at, x + done, left < ETX_BLOCK ? left : ETX_BLOCK);
  }
}

static void row_f64(etx_accumulators* folded, size_t at, const void* elements,
                    size_t count, int64_t before) {
  const double* x = elements;
  (void)before;
  for (size_t i = 0; i < count; ++i) {
    const double shift = grow(folded, at, x[i]);
    folded->other.f64[at] += etx_exp_f64(x[i] - shift);
  }
}

static void columns_f32(etx_accumulators* folded, const void* elements,
                        size_t count, int64_t before, size_t rows,
                        ptrdiff_t step) {
  const float* x = elements;
  for (size_t row = 0; row < rows; ++row, x += step) {
    for (size_t i = 0; i < count; ++i) row_f32(folded, i, &x[i], 1, before);
  }
}
static void columns_f64(etx_accumulators* folded, const void* elements,
                        size_t count, int64_t before, size_t rows,
                        ptrdiff_t step) {
  const double* x = elements;
  for (size_t row = 0; row < rows; ++row, x += step) {
    for (size_t i = 0; i < count; ++i) row_f64(folded, i, &x[i], 1, before);
  }
}

static double result_at(const etx_accumulators* folded, size_t i) {
  return etx_log_f64(folded->other.f64[i]) + shift_of(folded->value.f64[i]);
}
static void finish_f32(const etx_reduction* r, etx_accumulators* folded,
                       size_t count) {
  (void)r;
  for (size_t i = 0; i < count; ++i) {
    const double result = result_at(folded, i);
    folded->value.f32[i] = (float)result;
  }
}
static void finish_f64(const etx_reduction* r, etx_accumulators* folded,
                       size_t count) {
  (void)r;
  for (size_t i = 0; i < count; ++i) {
    folded->value.f64[i] = result_at(folded, i);
  }
}

static const etx_fold folds[] = {
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
  r.wide = etx_compute_type_of(r.value->dtype);
  r.fold = &folds[r.wide];
  r.cast = r.self->dtype;
  r.native = etx_compute_type_dtype(r.wide);
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
