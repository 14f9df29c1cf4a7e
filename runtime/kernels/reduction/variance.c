// var, std and var_mean, from moments (moments.h).

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/math/math_functions.h"
#include "runtime/kernels/reduction/moments.h"

// Converts moments to results: `value` becomes the variance or its square root,
// `other` the mean. In place, upwards: float i ends before double i + 1.
static void finish(const etx_reduction* r, etx_accumulators* acc, size_t count,
                   bool is_root) {
  for (size_t i = 0; i < count; ++i) {
    const double mean = acc->value.f64[i];
    const double variance = acc->other.f64[i] / r->divisor;
    const double value = is_root ? etx_sqrt_f64(variance) : variance;
    if (!etx_is_f64(r->compute)) {
      acc->value.f32[i] = (float)value;
      acc->other.f32[i] = (float)mean;
    } else {
      acc->value.f64[i] = value;
      acc->other.f64[i] = mean;
    }
  }
}
static void finish_variance(const etx_reduction* r, etx_accumulators* acc,
                            size_t count) {
  finish(r, acc, count, false);
}
static void finish_deviation(const etx_reduction* r, etx_accumulators* acc,
                             size_t count) {
  finish(r, acc, count, true);
}

// The squares are divided by count - correction.
static etx_status run_over(const etx_call* call, bool is_root,
                           double correction, const etx_tensor* mean) {
  etx_reduction r = {.self = etx_call_tensor(call, ETX_ARG_var_correction_self),
                     .value = etx_call_tensor(call, ETX_ARG_var_correction_out),
                     .other = mean,
                     .dims = etx_reduced_dims(call, 1, true)};
  const double left = (double)etx_reduced_count(r.self, r.dims) - correction;
  r.divisor = left > 0 ? left : 0;
  r.compute = etx_compute_type_of(r.self->dtype);
  etx_reducer fold = etx_moments_reducers[r.compute];
  fold.finish = is_root ? finish_deviation : finish_variance;
  fold.value_type = fold.other_type = r.compute;
  r.reducer = &fold;
  r.cast = r.self->dtype;
  r.native = etx_compute_type_dtype(r.compute);
  etx_reduce(&r);
  return ETX_OK;
}

// Short contiguous rows: the same results without the setup of the general
// reduction. prepare stores the sizes in etx_call.prepared; COUNT is 0 for
// others.
enum { ROWS, COUNT };

static etx_status run_short_rows(const etx_call* call, bool is_root,
                                 double correction, const etx_tensor* mean) {
  const float* x = etx_call_tensor(call, ETX_ARG_var_correction_self)->data;
  float* out = etx_call_tensor(call, ETX_ARG_var_correction_out)->data;
  float* means = mean == NULL ? NULL : mean->data;
  const size_t rows = (size_t)call->prepared[ROWS];
  const size_t count = (size_t)call->prepared[COUNT];
  const double left = (double)count - correction;
  for (size_t i = 0; i < rows; ++i, x += count) {
    etx_moments m = {0};
    etx_moments_add(&m, ETX_COMPUTE_F32, x, count);
    const double variance = m.squares / (left > 0 ? left : 0);
    out[i] = (float)(is_root ? etx_sqrt_f64(variance) : variance);
    if (means != NULL) means[i] = (float)m.mean;
  }
  return ETX_OK;
}

static bool find_short_rows(etx_call* call) {
  size_t rows, count;
  const uint32_t dims = etx_reduced_dims(call, 1, true);
  for (size_t i = 4; i < call->argument_count; ++i) {
    if (!etx_has_short_f32_rows(etx_call_tensor(call, ETX_ARG_var_self),
                                etx_call_tensor(call, i), dims, &rows,
                                &count)) {
      return false;
    }
  }
  call->prepared[ROWS] = (int64_t)rows;
  call->prepared[COUNT] = (int64_t)count;
  return true;
}

static etx_status run_rows(const etx_call* call, bool is_root,
                           double correction, const etx_tensor* mean) {
  return call->prepared[COUNT] > 0
             ? run_short_rows(call, is_root, correction, mean)
             : run_over(call, is_root, correction, mean);
}

static double correction_of(const etx_call* call) {
  return etx_call_is_none(call, ETX_ARG_var_correction_correction)
             ? 1
             : etx_call_real(call, ETX_ARG_var_correction_correction);
}

// (self, dim, unbiased, keepdim, out)
static etx_status run_var(etx_call* call) {
  return run_rows(call, false,
                  etx_call_boolean(call, ETX_ARG_var_unbiased) ? 1 : 0, NULL);
}
// (self, dim, correction, keepdim, out)
static etx_status run_var_correction(etx_call* call) {
  return run_rows(call, false, correction_of(call), NULL);
}
static etx_status run_std(etx_call* call) {
  return run_rows(call, true, correction_of(call), NULL);
}
// (self, dim, correction, keepdim, variance, mean)
static etx_status run_var_mean(etx_call* call) {
  return run_rows(call, false, correction_of(call),
                  etx_call_tensor(call, ETX_ARG_var_mean_correction_out1));
}

static etx_status prepare(etx_call* call, etx_kernel_function run) {
  const etx_compute_type compute =
      etx_compute_type_of(etx_call_tensor(call, ETX_ARG_var_self)->dtype);
  if (compute != ETX_COMPUTE_F32 && compute != ETX_COMPUTE_F64) {
    return etx_call_refuse_dtype(call, ETX_ARG_var_self, "a float type");
  }
  for (size_t i = 4; i < call->argument_count; ++i) {
    ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_var_self, i));
  }
  call->run = run;
  call->prepared[COUNT] = 0;
  (void)find_short_rows(call);
  return ETX_OK;
}

etx_status etx_kernel_var_out_prepare(etx_call* call) {
  return prepare(call, run_var);
}
etx_status etx_kernel_var_correction_out_prepare(etx_call* call) {
  return prepare(call, run_var_correction);
}
etx_status etx_kernel_std_correction_out_prepare(etx_call* call) {
  return prepare(call, run_std);
}
etx_status etx_kernel_var_mean_correction_out_prepare(etx_call* call) {
  return prepare(call, run_var_mean);
}
