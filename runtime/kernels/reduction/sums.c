// Sums, means and products.
//
// Floats are summed in their own type up to RUN elements of a row or ROWS_RUN
// of a column, and these sums in double: fast, and without the drift of a long
// float sum. Products of floats are taken in double, which no row overflows on
// the way. Integers wrap.

#include "runtime/kernels/core/complex_as_real.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/simd/vector/striped_sum.h"
#include "runtime/kernels/reduction/reduce.h"
#include "runtime/kernels/math/wrapping_math.h"

enum { RUN = 1024, ROWS_RUN = 128 };

static void start_zero(etx_accumulators* folded, size_t count) {
  // 0 has the same bits in all types.
  for (size_t i = 0; i < count; ++i) folded->value.i64[i] = 0;
  for (size_t i = 0; i < count; ++i) folded->other.f32[i] = 0;
}

static void start_one_f64(etx_accumulators* folded, size_t count) {
  for (size_t i = 0; i < count; ++i) folded->value.f64[i] = 1;
}
static void start_one_i64(etx_accumulators* folded, size_t count) {
  for (size_t i = 0; i < count; ++i) folded->value.i64[i] = 1;
}

static void sum_row_f32(etx_accumulators* folded, size_t at,
                        const void* elements, size_t count, int64_t before) {
  const float* x = elements;
  double sum = folded->value.f64[at];
  (void)before;
  for (size_t done = 0; done < count; done += RUN) {
    const size_t left = count - done;
    sum += (double)etx_striped_sum_f32(x + done, left < RUN ? left : RUN);
  }
  folded->value.f64[at] = sum;
}
// The present sums of floats stand in `other`.
static void settle_f32(etx_accumulators* folded, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    folded->value.f64[i] += (double)folded->other.f32[i];
    folded->other.f32[i] = 0;
  }
}
static void sum_columns_f32(etx_accumulators* folded, const void* elements,
                            size_t count, int64_t before, size_t rows,
                            ptrdiff_t step) {
  const float* x = elements;
  float* sums = folded->other.f32;
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
  if (before / ROWS_RUN != after / ROWS_RUN) settle_f32(folded, count);
}

static void sum_row_f64(etx_accumulators* folded, size_t at,
                        const void* elements, size_t count, int64_t before) {
  (void)before;
  folded->value.f64[at] += etx_striped_sum_f64(elements, count);
}
static void sum_columns_f64(etx_accumulators* folded, const void* elements,
                            size_t count, int64_t before, size_t rows,
                            ptrdiff_t step) {
  const double* x = elements;
  (void)before;
  for (size_t row = 0; row < rows; ++row, x += step) {
    for (size_t i = 0; i < count; ++i) folded->value.f64[i] += x[i];
  }
}

static void sum_row_i64(etx_accumulators* folded, size_t at,
                        const void* elements, size_t count, int64_t before) {
  const int64_t* x = elements;
  int64_t sum = 0;
  (void)before;
  for (size_t i = 0; i < count; ++i) sum = etx_wrap_add(sum, x[i]);
  folded->value.i64[at] = etx_wrap_add(folded->value.i64[at], sum);
}
static void sum_columns_i64(etx_accumulators* folded, const void* elements,
                            size_t count, int64_t before, size_t rows,
                            ptrdiff_t step) {
  const int64_t* x = elements;
  (void)before;
  for (size_t row = 0; row < rows; ++row, x += step) {
    for (size_t i = 0; i < count; ++i) {
      folded->value.i64[i] = etx_wrap_add(folded->value.i64[i], x[i]);
    }
  }
}

// Four partial products, multiplied in the end: the order is written out.
static inline double product_f32(double start, const float* x, size_t count) {
  double part[4] = {start, 1, 1, 1};
  size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    for (size_t j = 0; j < 4; ++j) part[j] *= (double)x[i + j];
  }
  for (; i < count; ++i) part[0] *= (double)x[i];
  return (part[0] * part[1]) * (part[2] * part[3]);
}
static void multiply_row_f32(etx_accumulators* folded, size_t at,
                             const void* elements, size_t count,
                             int64_t before) {
  (void)before;
  folded->value.f64[at] = product_f32(folded->value.f64[at], elements, count);
}
static void multiply_columns_f32(etx_accumulators* folded, const void* elements,
                                 size_t count, int64_t before, size_t rows,
                                 ptrdiff_t step) {
  const float* x = elements;
  (void)before;
  for (size_t row = 0; row < rows; ++row, x += step) {
    for (size_t i = 0; i < count; ++i) folded->value.f64[i] *= (double)x[i];
  }
}

// One by one: partial products could overflow where the product does not.
static void multiply_row_f64(etx_accumulators* folded, size_t at,
                             const void* elements, size_t count,
                             int64_t before) {
  const double* x = elements;
  (void)before;
  for (size_t i = 0; i < count; ++i) folded->value.f64[at] *= x[i];
}
static void multiply_columns_f64(etx_accumulators* folded, const void* elements,
                                 size_t count, int64_t before, size_t rows,
                                 ptrdiff_t step) {
  const double* x = elements;
  (void)before;
  for (size_t row = 0; row < rows; ++row, x += step) {
    for (size_t i = 0; i < count; ++i) folded->value.f64[i] *= x[i];
  }
}

static void multiply_row_i64(etx_accumulators* folded, size_t at,
                             const void* elements, size_t count,
                             int64_t before) {
  const int64_t* x = elements;
  int64_t product = folded->value.i64[at];
  (void)before;
  for (size_t i = 0; i < count; ++i) {
    product = etx_wrap_multiply(product, x[i]);
  }
  folded->value.i64[at] = product;
}
static void multiply_columns_i64(etx_accumulators* folded, const void* elements,
                                 size_t count, int64_t before, size_t rows,
                                 ptrdiff_t step) {
  const int64_t* x = elements;
  (void)before;
  for (size_t row = 0; row < rows; ++row, x += step) {
    for (size_t i = 0; i < count; ++i) {
      folded->value.i64[i] = etx_wrap_multiply(folded->value.i64[i], x[i]);
    }
  }
}

// From double to float, in place: float i lies below double i.
static void finish_sum_f32(const etx_reduction* r, etx_accumulators* folded,
                           size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const double sum = folded->value.f64[i] + (double)folded->other.f32[i];
    folded->value.f32[i] = (float)(sum / r->divisor);
  }
}
static void finish_f32(const etx_reduction* r, etx_accumulators* folded,
                       size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const double value = folded->value.f64[i] / r->divisor;
    folded->value.f32[i] = (float)value;
  }
}
static void finish_f64(const etx_reduction* r, etx_accumulators* folded,
                       size_t count) {
  for (size_t i = 0; i < count; ++i) folded->value.f64[i] /= r->divisor;
}

static const etx_fold sums[] = {
    [ETX_COMPUTE_I64] = {start_zero, sum_row_i64, sum_columns_i64, NULL,
                         ETX_COMPUTE_I64, ETX_COMPUTE_NONE},
    [ETX_COMPUTE_F32] = {start_zero, sum_row_f32, sum_columns_f32,
                         finish_sum_f32, ETX_COMPUTE_F32, ETX_COMPUTE_NONE},
    [ETX_COMPUTE_F64] = {start_zero, ETX_IF_DTYPE(FLOAT64, sum_row_f64),
                         ETX_IF_DTYPE(FLOAT64, sum_columns_f64),
                         ETX_IF_DTYPE(FLOAT64, finish_f64), ETX_COMPUTE_F64,
                         ETX_COMPUTE_NONE},
};

static const etx_fold products[] = {
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

// Folds in the type of the result. Parts of complex numbers are a dimension
// that is kept.
static void fold_over(const etx_call* call, const etx_fold* folds,
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
  r.wide = etx_compute_type_of(r.value->dtype);
  r.fold = &folds[r.wide];
  r.cast = r.value->dtype;
  r.native = etx_compute_type_dtype(r.wide);
  etx_reduce(&r);
}

static uint32_t all_dims(const etx_call* call) {
  const size_t rank = etx_call_tensor(call, ETX_ARG_mean_dtype_self)->rank;
  return rank == 0 ? 0 : (UINT32_C(2) << (rank - 1)) - 1;
}

static etx_status run_sum(etx_call* call) {
  fold_over(call, sums, etx_reduced_dims(call, 1, true), 1);
  return ETX_OK;
}

static void mean_over(const etx_call* call, uint32_t dims) {
  const size_t count =
      etx_reduced_count(etx_call_tensor(call, ETX_ARG_mean_self), dims);
  fold_over(call, sums, dims, (double)count);
}
static etx_status run_mean(etx_call* call) {
  mean_over(call, etx_reduced_dims(call, 1, true));
  return ETX_OK;
}
static etx_status run_mean_all(etx_call* call) {
  mean_over(call, all_dims(call));
  return ETX_OK;
}

// Short dense rows of float32, as most means are: what they sum to by the folds
// above, without what those do for everything else.
enum { ROWS, COUNT };  // left in etx_call.prepared

static bool find_short_rows(etx_call* call, uint32_t dims) {
  size_t rows, count;
  if (!etx_reduces_short_rows(etx_call_tensor(call, ETX_ARG_sum_intlist_self),
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

// Short columns of a few results: as sum_columns_f32 folds them, all at once.
static bool find_short_columns(etx_call* call, uint32_t dims) {
  enum { FEWEST = 4 };  // of both; fewer may be folded in another order
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
  return rows >= FEWEST && rows < ROWS_RUN && count >= FEWEST &&
         count <= ETX_BLOCK;
}

static void sum_short_columns(const etx_call* call, double divisor) {
  float* out = last_tensor(call)->data;
  const size_t count = (size_t)call->prepared[COUNT];
  etx_accumulators folded;
  float* each = folded.other.f32;
  for (size_t i = 0; i < count; ++i) each[i] = 0;
  sum_columns_f32(&folded,
                  etx_call_tensor(call, ETX_ARG_sum_intlist_self)->data, count,
                  0, (size_t)call->prepared[ROWS], (ptrdiff_t)count);
  for (size_t i = 0; i < count; ++i) {
    out[i] = (float)((double)each[i] / divisor);
  }
}
static etx_status run_few_sums(etx_call* call) {
  sum_short_columns(call, 1);
  return ETX_OK;
}
static etx_status run_few_means(etx_call* call) {
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
  fold_over(call, products, etx_reduced_dims(call, 1, true), 1);
  return ETX_OK;
}
static etx_status run_prod_all(etx_call* call) {
  fold_over(call, products, all_dims(call), 1);
  return ETX_OK;
}

// `dtype` is the argument that may state the result's type.
static etx_status prepare(etx_call* call, size_t dtype,
                          etx_kernel_function run) {
  const etx_tensor* out = last_tensor(call);
  const size_t last = call->argument_count - 1;
  if (!etx_call_is_none(call, dtype) &&
      etx_call_integer(call, dtype) != (int64_t)out->dtype) {
    return etx_call_refuse(
        call, ETX_BAD_ARGUMENT, "'dtype' is %i, the result has type '%s'",
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
                           "a mean is written to type '%s'",
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
    call->run = run_few_sums;
  }
  return ETX_OK;
}
etx_status etx_kernel_mean_out_prepare(etx_call* call) {
  ETX_TRY(prepare_mean(call, 3, run_mean));
  const uint32_t dims = etx_reduced_dims(call, 1, true);
  if (find_short_rows(call, dims)) {
    call->run = run_short_mean;
  } else if (find_short_columns(call, dims)) {
    call->run = run_few_means;
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
