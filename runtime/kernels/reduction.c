// Sums, means, products and any.

#include "runtime/kernels/kernels.h"
#include "runtime/kernels/lanes.h"
#include "runtime/kernels/reduce.h"
#include "runtime/kernels/whole_math.h"

static void fold_sum(etx_wide wide, etx_fold* fold, const void* elements,
                     size_t count) {
  const int64_t* whole = elements;
  const double* real = elements;
  if (wide == ETX_WIDE_F32) {
    fold->value.f32 += etx_sum_f32(elements, count);
  } else if (wide == ETX_WIDE_F64) {
    for (size_t i = 0; i < count; ++i) fold->value.f64 += real[i];
  } else {
    for (size_t i = 0; i < count; ++i) {
      fold->value.i64 = etx_wrap_add(fold->value.i64, whole[i]);
    }
  }
}

static void fold_product(etx_wide wide, etx_fold* fold, const void* elements,
                         size_t count) {
  const int64_t* whole = elements;
  const float* single = elements;
  const double* real = elements;
  for (size_t i = 0; i < count; ++i) {
    if (wide == ETX_WIDE_I64) {
      fold->value.i64 = etx_wrap_multiply(fold->value.i64, whole[i]);
    } else if (wide == ETX_WIDE_F32) {
      fold->value.f32 *= single[i];
    } else {
      fold->value.f64 *= real[i];
    }
  }
}

static void fold_any(etx_wide wide, etx_fold* fold, const void* elements,
                     size_t count) {
  const int64_t* whole = elements;
  const float* single = elements;
  const double* real = elements;
  for (size_t i = 0; i < count; ++i) {
    if (wide == ETX_WIDE_I64) {
      fold->value.i64 |= whole[i] != 0;
    } else if (wide == ETX_WIDE_F32) {
      fold->value.i64 |= single[i] != 0;
    } else {
      fold->value.i64 |= real[i] != 0;
    }
  }
}

static const etx_tensor* last_tensor(const etx_call* call) {
  return etx_call_tensor(call, call->argument_count - 1);
}

// Sums and means fold in their result's type.
static etx_status run_sum(etx_call* call) {
  etx_reduction r = {.fold = fold_sum,
                     .self = etx_call_tensor(call, 0),
                     .out = last_tensor(call),
                     .divisor = 1,
                     .dims = etx_reduced_dims(call, 1, true)};
  r.wide = etx_wide_of(r.out->dtype);
  etx_reduce(&r);
  return ETX_OK;
}

static etx_status run_mean(etx_call* call) {
  etx_reduction r = {.fold = fold_sum,
                     .self = etx_call_tensor(call, 0),
                     .out = last_tensor(call),
                     .dims = etx_reduced_dims(call, 1, true)};
  r.wide = etx_wide_of(r.out->dtype);
  r.divisor = (double)etx_reduced_count(r.self, r.dims);
  etx_reduce(&r);
  return ETX_OK;
}

// `dtype` is the argument that may state the result's type.
static etx_status prepare_sum(etx_call* call, size_t dtype,
                              etx_kernel_function run) {
  const etx_tensor* out = last_tensor(call);
  ETX_TRY(etx_call_check_real(call, 0));
  ETX_TRY(etx_call_check_real(call, call->argument_count - 1));
  if (!etx_call_is_none(call, dtype) &&
      etx_call_integer(call, dtype) != (int64_t)out->dtype) {
    return etx_call_refuse(
        call, ETX_BAD_ARGUMENT, "'dtype' is %i, the result has type '%s'",
        etx_call_integer(call, dtype), etx_dtype_name(out->dtype));
  }
  call->run = run;
  return ETX_OK;
}

etx_status etx_kernel_sum_intlist_out_prepare(etx_call* call) {
  return prepare_sum(call, 3, run_sum);
}

etx_status etx_kernel_mean_out_prepare(etx_call* call) {
  if (etx_wide_of(last_tensor(call)->dtype) == ETX_WIDE_I64) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "a mean is written to type '%s'",
                           etx_dtype_name(last_tensor(call)->dtype));
  }
  return prepare_sum(call, 3, run_mean);
}

static void run_product_over(const etx_call* call, uint32_t dims) {
  etx_reduction r = {.fold = fold_product,
                     .self = etx_call_tensor(call, 0),
                     .out = last_tensor(call),
                     .divisor = 1,
                     .dims = dims};
  r.wide = etx_wide_of(r.out->dtype);
  r.start = etx_number_one(r.out->dtype);
  etx_reduce(&r);
}

static etx_status run_prod_dim(etx_call* call) {
  run_product_over(call, etx_reduced_dims(call, 1, true));
  return ETX_OK;
}
static etx_status run_prod_all(etx_call* call) {
  run_product_over(call, ETX_ALL_DIMS);
  return ETX_OK;
}

etx_status etx_kernel_prod_int_out_prepare(etx_call* call) {
  return prepare_sum(call, 3, run_prod_dim);
}
etx_status etx_kernel_prod_out_prepare(etx_call* call) {
  return prepare_sum(call, 1, run_prod_all);
}

static void run_any_over(const etx_call* call, uint32_t dims) {
  etx_reduction r = {.fold = fold_any,
                     .self = etx_call_tensor(call, 0),
                     .out = last_tensor(call),
                     .is_truth = true,
                     .dims = dims};
  r.wide = etx_wide_of(r.self->dtype);
  etx_reduce(&r);
}

static etx_status run_any_dims(etx_call* call) {
  run_any_over(call, etx_reduced_dims(call, 1, false));
  return ETX_OK;
}
static etx_status run_any_all(etx_call* call) {
  run_any_over(call, ETX_ALL_DIMS);
  return ETX_OK;
}

static etx_status prepare_any(etx_call* call, etx_kernel_function run) {
  ETX_TRY(etx_call_check_real(call, 0));
  ETX_TRY(etx_call_check_real(call, call->argument_count - 1));
  call->run = run;
  return ETX_OK;
}

etx_status etx_kernel_any_out_prepare(etx_call* call) {
  return prepare_any(call, run_any_dims);
}
etx_status etx_kernel_any_dims_out_prepare(etx_call* call) {
  return prepare_any(call, run_any_dims);
}
etx_status etx_kernel_any_all_out_prepare(etx_call* call) {
  return prepare_any(call, run_any_all);
}
