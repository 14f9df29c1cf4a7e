// The largest and smallest elements and where they stand: amax, max, argmax
// and their opposites. NaN counts as the most extreme, and of equal elements
// the first, as in PyTorch.

#include "runtime/kernels/kernels.h"
#include "runtime/kernels/reduce.h"

// True if x takes over from y: more extreme, or the first NaN. A float is
// exact as a double.
static inline bool precedes(double x, double y, bool smallest) {
  return (smallest ? x < y : x > y) || (x != x && y == y);
}

static inline void fold_extreme(etx_wide wide, etx_fold* fold,
                                const void* elements, size_t count,
                                bool smallest) {
  const int64_t* whole = elements;
  const float* single = elements;
  const double* real = elements;
  for (size_t i = 0; i < count; ++i, ++fold->count) {
    bool takes = fold->count == 0;
    if (wide == ETX_WIDE_I64) {
      takes |=
          smallest ? whole[i] < fold->value.i64 : whole[i] > fold->value.i64;
      if (takes) fold->value.i64 = whole[i];
    } else if (wide == ETX_WIDE_F32) {
      takes |= precedes(single[i], fold->value.f32, smallest);
      if (takes) fold->value.f32 = single[i];
    } else {
      takes |= precedes(real[i], fold->value.f64, smallest);
      if (takes) fold->value.f64 = real[i];
    }
    if (takes) fold->index = fold->count;
  }
}

static void fold_largest(etx_wide wide, etx_fold* fold, const void* elements,
                         size_t count) {
  fold_extreme(wide, fold, elements, count, false);
}
static void fold_smallest(etx_wide wide, etx_fold* fold, const void* elements,
                          size_t count) {
  fold_extreme(wide, fold, elements, count, true);
}

static const etx_tensor* last_tensor(const etx_call* call) {
  return etx_call_tensor(call, call->argument_count - 1);
}

// Extremes have no value for no elements.
static etx_status check_elements(const etx_call* call, uint32_t dims) {
  const etx_tensor* self = etx_call_tensor(call, 0);
  if (etx_reduced_count(self, dims) > 0) return ETX_OK;
  return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                         "the extreme of no elements is asked for");
}

static void run_extreme(const etx_call* call, uint32_t dims, bool smallest,
                        const etx_tensor* values, const etx_tensor* indices) {
  etx_reduction r = {.fold = smallest ? fold_smallest : fold_largest,
                     .self = etx_call_tensor(call, 0),
                     .out = values,
                     .indices = indices,
                     .divisor = 1,
                     .dims = dims};
  r.wide = etx_wide_of(r.self->dtype);
  etx_reduce(&r);
}

static etx_status run_amax(etx_call* call) {
  run_extreme(call, etx_reduced_dims(call, 1, true), false, last_tensor(call),
              NULL);
  return ETX_OK;
}
static etx_status run_amin(etx_call* call) {
  run_extreme(call, etx_reduced_dims(call, 1, true), true, last_tensor(call),
              NULL);
  return ETX_OK;
}
static etx_status run_max_all(etx_call* call) {
  run_extreme(call, ETX_ALL_DIMS, false, last_tensor(call), NULL);
  return ETX_OK;
}
static etx_status run_min_all(etx_call* call) {
  run_extreme(call, ETX_ALL_DIMS, true, last_tensor(call), NULL);
  return ETX_OK;
}
static etx_status run_argmax(etx_call* call) {
  run_extreme(call, etx_reduced_dims(call, 1, true), false, NULL,
              last_tensor(call));
  return ETX_OK;
}
static etx_status run_argmin(etx_call* call) {
  run_extreme(call, etx_reduced_dims(call, 1, true), true, NULL,
              last_tensor(call));
  return ETX_OK;
}
static etx_status run_max_dim(etx_call* call) {
  run_extreme(call, etx_reduced_dims(call, 1, true), false,
              etx_call_tensor(call, 3), etx_call_tensor(call, 4));
  return ETX_OK;
}
static etx_status run_min_dim(etx_call* call) {
  run_extreme(call, etx_reduced_dims(call, 1, true), true,
              etx_call_tensor(call, 3), etx_call_tensor(call, 4));
  return ETX_OK;
}

static etx_status prepare_extreme(etx_call* call, uint32_t dims,
                                  etx_kernel_function run) {
  ETX_TRY(etx_call_check_real(call, 0));
  ETX_TRY(check_elements(call, dims));
  call->run = run;
  return ETX_OK;
}

static etx_status prepare_values(etx_call* call, uint32_t dims, size_t out,
                                 etx_kernel_function run) {
  ETX_TRY(etx_call_check_same_dtype(call, 0, out));
  return prepare_extreme(call, dims, run);
}

static etx_status prepare_indices(etx_call* call, etx_kernel_function run) {
  ETX_TRY(
      etx_call_check_dtype(call, call->argument_count - 1, ETX_DTYPE_INT64));
  return prepare_extreme(call, etx_reduced_dims(call, 1, true), run);
}

etx_status etx_kernel_amax_out_prepare(etx_call* call) {
  return prepare_values(call, etx_reduced_dims(call, 1, true), 3, run_amax);
}
etx_status etx_kernel_amin_out_prepare(etx_call* call) {
  return prepare_values(call, etx_reduced_dims(call, 1, true), 3, run_amin);
}
etx_status etx_kernel_max_unary_out_prepare(etx_call* call) {
  return prepare_values(call, ETX_ALL_DIMS, 1, run_max_all);
}
etx_status etx_kernel_min_unary_out_prepare(etx_call* call) {
  return prepare_values(call, ETX_ALL_DIMS, 1, run_min_all);
}
etx_status etx_kernel_argmax_out_prepare(etx_call* call) {
  return prepare_indices(call, run_argmax);
}
etx_status etx_kernel_argmin_out_prepare(etx_call* call) {
  return prepare_indices(call, run_argmin);
}
etx_status etx_kernel_max_dim_max_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_same_dtype(call, 0, 3));
  return prepare_indices(call, run_max_dim);
}
etx_status etx_kernel_min_dim_min_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_same_dtype(call, 0, 3));
  return prepare_indices(call, run_min_dim);
}
