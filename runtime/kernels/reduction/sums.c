// Sums, means and products.
//
// Floats are summed in float for up to ROW_CHUNK elements of a row or
// COLUMN_CHUNK of a column, and these partial sums in double: fast, and without
// the rounding error of a long float sum. Products of floats are computed in
// double, so that intermediate products do not overflow. Integers wrap.

#include "runtime/kernels/core/complex_as_real.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/simd/vector/striped_sum.h"
#include "runtime/kernels/reduction/reduce.h"
#include "runtime/kernels/math/wrapping_math.h"

enum { ROW_CHUNK = 1024, COLUMN_CHUNK = 128 };

static void start_zero(etx_accumulators* acc, size_t count) {
  // 0 has the same bits in all types.
  for (size_t i = 0; i < count; ++i) acc->value.i64[i] = 0;
  for (size_t i = 0; i < count; ++i) acc->other.f32[i] = 0;
}

static void start_one_f64(etx_accumulators* acc, size_t count) {
  for (size_t i = 0; i < count; ++i) acc->value.f64[i] = 1;
}
static void start_one_i64(etx_accumulators* acc, size_t count) {
  for (size_t i = 0; i < count; ++i) acc->value.i64[i] = 1;
}

static void sum_row_f32(etx_accumulators* acc, size_t at, const void* elements,
                        size_t count, int64_t before) {
  const float* x = elements;
  double sum = acc->value.f64[at];
  (void)before;
  for (size_t done = 0; done < count; done += ROW_CHUNK) {
    const size_t left = count - done;
    sum += (double)etx_striped_sum_f32(x + done,
                                       left < ROW_CHUNK ? left : ROW_CHUNK);
  }
  acc->value.f64[at] = sum;
}
// Adds the partial float sums, which are in `other`, to the sums in double.
static void flush_f32_sums(etx_accumulators* acc, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    acc->value.f64[i] += (double)acc->other.f32[i];
    acc->other.f32[i] = 0;
  }
}
static void sum_columns_f32(etx_accumulators* acc, const void* elements,
                            size_t count, int64_t before, size_t rows,
                            ptrdiff_t step) {
  const float* x = elements;
  float* sums = acc->other.f32;
  size_t row = 0;
  for (; row + 4 <= rows; row += 4, x += 4 * step) {
    const float *y = x + step, *z = y + step, *w = z + step;
    for (size_t i = 0; i < count; ++i) {
      sums[i] += (x[i] + y[i]) + (z[i] + w[i]);
    }
  }
  for (; row < rows; ++row, x += step) {
    for (size_t i = 0; i < count; ++i) sums[i] += x[i];
  }
  const int64_t after = before + (int64_t)rows;
  if (before / COLUMN_CHUNK != after / COLUMN_CHUNK) flush_f32_sums(acc, count);
}

static void sum_row_f64(etx_accumulators* acc, size_t at, const void* elements,
                        size_t count, int64_t before) {
  (void)before;
  acc->value.f64[at] += etx_striped_sum_f64(elements, count);
}
static void sum_columns_f64(etx_accumulators* acc, const void* elements,
                            size_t count, int64_t before, size_t rows,
                            ptrdiff_t step) {
  const double* x = elements;
  (void)before;
  for (size_t row = 0; row < rows; ++row, x += step) {
    for (size_t i = 0; i < count; ++i) acc->value.f64[i] += x[i];
  }
}

static void sum_row_i64(etx_accumulators* acc, size_t at, const void* elements,
                        size_t count, int64_t before) {
  const int64_t* x = elements;
  int64_t sum = 0;
  (void)before;
  for (size_t i = 0; i < count; ++i) sum = etx_wrap_add(sum, x[i]);
  acc->value.i64[at] = etx_wrap_add(acc->value.i64[at], sum);
}
static void sum_columns_i64(etx_accumulators* acc, const void* elements,
                            size_t count, int64_t before, size_t rows,
                            ptrdiff_t step) {
  const int64_t* x = elements;
  (void)before;
  for (size_t row = 0; row < rows; ++row, x += step) {
    for (size_t i = 0; i < count; ++i) {
      acc->value.i64[i] = etx_wrap_add(acc->value.i64[i], x[i]);
    }
  }
}

// Four partial products, multiplied in a fixed order in the end.
static inline double product_f32(double start, const float* x, size_t count) {
  double part[4] = {start, 1, 1, 1};
  size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    for (size_t j = 0; j < 4; ++j) part[j] *= (double)x[i + j];
  }
  for (; i < count; ++i) part[0] *= (double)x[i];
  return (part[0] * part[1]) * (part[2] * part[3]);
}
static void multiply_row_f32(etx_accumulators* acc, size_t at,
                             const void* elements, size_t count,
                             int64_t before) {
  (void)before;
  acc->value.f64[at] = product_f32(acc->value.f64[at], elements, count);
}
static void multiply_columns_f32(etx_accumulators* acc, const void* elements,
                                 size_t count, int64_t before, size_t rows,
                                 ptrdiff_t step) {
  const float* x = elements;
  (void)before;
  for (size_t row = 0; row < rows; ++row, x += step) {
    for (size_t i = 0; i < count; ++i) acc->value.f64[i] *= (double)x[i];
  }
}

// Element by element: partial products could overflow although the product does
// not.
static void multiply_row_f64(etx_accumulators* acc, size_t at,
                             const void* elements, size_t count,
                             int64_t before) {
  const double* x = elements;
  (void)before;
  for (size_t i = 0; i < count; ++i) acc->value.f64[at] *= x[i];
}
static void multiply_columns_f64(etx_accumulators* acc, const void* elements,
                                 size_t count, int64_t before, size_t rows,
                                 ptrdiff_t step) {
  const double* x = elements;
  (void)before;
  for (size_t row = 0; row < rows; ++row, x += step) {
    for (size_t i = 0; i < count; ++i) acc->value.f64[i] *= x[i];
  }
}

static void multiply_row_i64(etx_accumulators* acc, size_t at,
                             const void* elements, size_t count,
                             int64_t before) {
  const int64_t* x = elements;
  int64_t product = acc->value.i64[at];
  (void)before;
  for (size_t i = 0; i < count; ++i) {
    product = etx_wrap_multiply(product, x[i]);
  }
  acc->value.i64[at] = product;
}
static void multiply_columns_i64(etx_accumulators* acc, const void* elements,
                                 size_t count, int64_t before, size_t rows,
                                 ptrdiff_t step) {
  const int64_t* x = elements;
  (void)before;
  for (size_t row = 0; row < rows; ++row, x += step) {
    for (size_t i = 0; i < count; ++i) {
      acc->value.i64[i] = etx_wrap_multiply(acc->value.i64[i], x[i]);
    }
  }
}

// Converts doubles to floats in place, upwards: float i ends before double i
// + 1.
static void finish_sum_f32(const etx_reduction* r, etx_accumulators* acc,
                           size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const double sum = acc->value.f64[i] + (double)acc->other.f32[i];
    acc->value.f32[i] = (float)(sum / r->divisor);
  }
}
static void finish_f32(const etx_reduction* r, etx_accumulators* acc,
                       size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const double value = acc->value.f64[i] / r->divisor;
    acc->value.f32[i] = (float)value;
  }
}
static void finish_f64(const etx_reduction* r, etx_accumulators* acc,
                       size_t count) {
  for (size_t i = 0; i < count; ++i) acc->value.f64[i] /= r->divisor;
}

static const etx_reducer sums[] = {
    [ETX_COMPUTE_I64] = {start_zero, sum_row_i64, sum_columns_i64, NULL,
                         ETX_COMPUTE_I64, ETX_COMPUTE_NONE},
    [ETX_COMPUTE_F32] = {start_zero, sum_row_f32, sum_columns_f32,
                         finish_sum_f32, ETX_COMPUTE_F32, ETX_COMPUTE_NONE},
    [ETX_COMPUTE_F64] = {start_zero, ETX_IF_DTYPE(FLOAT64, sum_row_f64),
                         ETX_IF_DTYPE(FLOAT64, sum_columns_f64),
                         ETX_IF_DTYPE(FLOAT64, finish_f64), ETX_COMPUTE_F64,
                         ETX_COMPUTE_NONE},
};

static const etx_reducer products[] = {
    [ETX_COMPUTE_I64] = {start_one_i64, multiply_row_i64, multiply_columns_i64,
                         NULL, ETX_COMPUTE_I64, ETX_COMPUTE_NONE},
    [ETX_COMPUTE_F32] = {start_one_f64, multiply_row_f32, multiply_columns_f32,
                         finish_f32, ETX_COMPUTE_F32, ETX_COMPUTE_NONE},
    [ETX_COMPUTE_F64] = {ETX_IF_DTYPE(FLOAT64, start_one_f64),
                         ETX_IF_DTYPE(FLOAT64, multiply_row_f64),
                         ETX_IF_DTYPE(FLOAT64, multiply_columns_f64),
                         ETX_IF_DTYPE(FLOAT64, finish_f64), ETX_COMPUTE_F64,
                         ETX_COMPUTE_NONE},
};

static const etx_tensor* last_tensor(const etx_call* call) {
  return etx_call_tensor(call, call->argument_count - 1);
}

// Reduces in the type of the result. Real and imaginary parts of complex
// numbers are a dimension that is kept.
static void reduce_over(const etx_call* call, const etx_reducer* reducers,
                        uint32_t dims, double divisor) {
  etx_complex_as_real self, out;
  etx_reduction r = {.self = etx_call_tensor(call, ETX_ARG_sum_intlist_self),
                     .value = last_tensor(call),
                     .divisor = divisor,
                     .dims = dims};
  if (etx_dtype_is_complex(r.self->dtype)) {
    r.self = etx_complex_as_real_of(r.self, &self);
    r.value = etx_complex_as_real_of(r.value, &out);
  }
  r.compute = etx_compute_type_of(r.value->dtype);
  r.reducer = &reducers[r.compute];
  r.cast = r.value->dtype;
  r.native = etx_compute_type_dtype(r.compute);
  etx_reduce(&r);
}

static uint32_t all_dims(const etx_call* call) {
  const size_t rank = etx_call_tensor(call, ETX_ARG_mean_dtype_self)->rank;
  return rank == 0 ? 0 : (UINT32_C(2) << (rank - 1)) - 1;
}

static etx_status run_sum(etx_call* call) {
  reduce_over(call, sums, etx_reduced_dims(call, 1, true), 1);
  return ETX_OK;
}

static void mean_over(const etx_call* call, uint32_t dims) {
  const size_t count =
      etx_reduced_count(etx_call_tensor(call, ETX_ARG_mean_self), dims);
  reduce_over(call, sums, dims, (double)count);
}
static etx_status run_mean(etx_call* call) {
  mean_over(call, etx_reduced_dims(call, 1, true));
  return ETX_OK;
}
static etx_status run_mean_all(etx_call* call) {
  mean_over(call, all_dims(call));
  return ETX_OK;
}

// Short contiguous rows of float32, the common case: the same sums without the
// setup of the general reduction. prepare stores the sizes in call->prepared.
enum { ROWS, COUNT };

static bool find_short_rows(etx_call* call, uint32_t dims) {
  size_t rows, count;
  if (!etx_has_short_f32_rows(etx_call_tensor(call, ETX_ARG_sum_intlist_self),
                              last_tensor(call), dims, &rows, &count)) {
    return false;
  }
  call->prepared[ROWS] = (int64_t)rows;
  call->prepared[COUNT] = (int64_t)count;
  return true;
}

static void sum_short_rows(const etx_call* call, double divisor) {
  const float* x = etx_call_tensor(call, ETX_ARG_sum_intlist_self)->data;
  float* out = last_tensor(call)->data;
  const size_t rows = (size_t)call->prepared[ROWS];
  const size_t count = (size_t)call->prepared[COUNT];
  for (size_t i = 0; i < rows; ++i, x += count) {
    out[i] = (float)((double)etx_striped_sum_f32(x, count) / divisor);
  }
}
static etx_status run_short_sum(etx_call* call) {
  sum_short_rows(call, 1);
  return ETX_OK;
}
static etx_status run_short_mean(etx_call* call) {
  sum_short_rows(call, (double)call->prepared[COUNT]);
  return ETX_OK;
}

// Short columns of at most ETX_BLOCK results: one call of sum_columns_f32.
static bool find_short_columns(etx_call* call, uint32_t dims) {
  enum {
    MIN = 4
  };  // fewest rows and columns; below, the reduction order may differ
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_sum_intlist_self);
  const etx_tensor* out = last_tensor(call);
  size_t rows = 1, count = 1;
  if (self->dtype != ETX_DTYPE_FLOAT32 || out->dtype != ETX_DTYPE_FLOAT32 ||
      !etx_tensor_is_contiguous(self) || !etx_tensor_is_contiguous(out)) {
    return false;
  }
  for (size_t i = 0; i < self->rank; ++i) {
    const size_t size = (size_t)self->sizes[i];
    const bool is_reduced = (dims >> i & 1) != 0;
    if (is_reduced && size != 1 && count != 1) return false;
    *(is_reduced ? &rows : &count) *= size;
  }
  call->prepared[ROWS] = (int64_t)rows;
  call->prepared[COUNT] = (int64_t)count;
  return rows >= MIN && rows < COLUMN_CHUNK && count >= MIN &&
         count <= ETX_BLOCK;
}

static void sum_short_columns(const etx_call* call, double divisor) {
  float* out = last_tensor(call)->data;
  const size_t count = (size_t)call->prepared[COUNT];
  etx_accumulators acc;
  float* sums_f32 = acc.other.f32;
  for (size_t i = 0; i < count; ++i) sums_f32[i] = 0;
  sum_columns_f32(&acc, etx_call_tensor(call, ETX_ARG_sum_intlist_self)->data,
                  count, 0, (size_t)call->prepared[ROWS], (ptrdiff_t)count);
  for (size_t i = 0; i < count; ++i) {
    out[i] = (float)((double)sums_f32[i] / divisor);
  }
}
static etx_status run_short_column_sum(etx_call* call) {
  sum_short_columns(call, 1);
  return ETX_OK;
}
static etx_status run_short_column_mean(etx_call* call) {
  sum_short_columns(call, (double)call->prepared[ROWS]);
  return ETX_OK;
}

static etx_status run_short_prod(etx_call* call) {
  const float* x = etx_call_tensor(call, ETX_ARG_prod_int_self)->data;
  float* out = last_tensor(call)->data;
  const size_t rows = (size_t)call->prepared[ROWS];
  const size_t count = (size_t)call->prepared[COUNT];
  for (size_t i = 0; i < rows; ++i, x += count) {
    out[i] = (float)product_f32(1, x, count);
  }
  return ETX_OK;
}

static etx_status run_prod(etx_call* call) {
  reduce_over(call, products, etx_reduced_dims(call, 1, true), 1);
  return ETX_OK;
}
static etx_status run_prod_all(etx_call* call) {
  reduce_over(call, products, all_dims(call), 1);
  return ETX_OK;
}

// `dtype` is the position of the optional argument with the result's type.
static etx_status prepare(etx_call* call, size_t dtype,
                          etx_kernel_function run) {
  const etx_tensor* out = last_tensor(call);
  const size_t last = call->argument_count - 1;
  if (!etx_call_is_none(call, dtype) &&
      etx_call_integer(call, dtype) != (int64_t)out->dtype) {
    return etx_call_refuse(
        call, ETX_BAD_ARGUMENT, "'dtype' is %i, but the result has type '%s'",
        etx_call_integer(call, dtype), etx_dtype_name(out->dtype));
  }
  call->run = run;
  if (etx_dtype_is_complex(out->dtype)) {
    ETX_TRY(etx_call_check_same_dtype(call, last, 0));
    ETX_TRY(etx_call_check_complex_as_real(call, last));
    return etx_call_check_complex_as_real(call, ETX_ARG_sum_intlist_self);
  }
  ETX_TRY(etx_call_check_real(call, ETX_ARG_sum_intlist_self));
  return etx_call_check_real(call, last);
}

static etx_status prepare_mean(etx_call* call, size_t dtype,
                               etx_kernel_function run) {
  if (etx_compute_type_of(last_tensor(call)->dtype) == ETX_COMPUTE_I64) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "a mean has type '%s', expected floats",
                           etx_dtype_name(last_tensor(call)->dtype));
  }
  return prepare(call, dtype, run);
}

static etx_status prepare_product(etx_call* call, size_t dtype,
                                  etx_kernel_function run) {
  ETX_TRY(etx_call_check_real(call, ETX_ARG_prod_int_self));
  return prepare(call, dtype, run);
}

etx_status etx_kernel_sum_intlist_out_prepare(etx_call* call) {
  ETX_TRY(prepare(call, 3, run_sum));
  const uint32_t dims = etx_reduced_dims(call, 1, true);
  if (find_short_rows(call, dims)) {
    call->run = run_short_sum;
  } else if (find_short_columns(call, dims)) {
    call->run = run_short_column_sum;
  }
  return ETX_OK;
}
etx_status etx_kernel_mean_out_prepare(etx_call* call) {
  ETX_TRY(prepare_mean(call, 3, run_mean));
  const uint32_t dims = etx_reduced_dims(call, 1, true);
  if (find_short_rows(call, dims)) {
    call->run = run_short_mean;
  } else if (find_short_columns(call, dims)) {
    call->run = run_short_column_mean;
  }
  return ETX_OK;
}
etx_status etx_kernel_mean_dtype_out_prepare(etx_call* call) {
  ETX_TRY(prepare_mean(call, 1, run_mean_all));
  if (find_short_rows(call, all_dims(call))) call->run = run_short_mean;
  return ETX_OK;
}
etx_status etx_kernel_prod_int_out_prepare(etx_call* call) {
  ETX_TRY(prepare_product(call, 3, run_prod));
  if (find_short_rows(call, etx_reduced_dims(call, 1, true))) {
    call->run = run_short_prod;
  }
  return ETX_OK;
}
etx_status etx_kernel_prod_out_prepare(etx_call* call) {
  ETX_TRY(prepare_product(call, 1, run_prod_all));
  if (find_short_rows(call, all_dims(call))) call->run = run_short_prod;
  return ETX_OK;
}
