// The largest and smallest elements and where they stand: amax, max, argmax
// and their opposites. NaN counts as the most extreme, and of equal elements
// the first, as in PyTorch.

#include <string.h>

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/simd/vector/striped_sum.h"
#include "runtime/kernels/reduction/reduce.h"

enum { RUN = 1024 };

// PICK of extreme_template.h for vectors.
#define BY_MASK(m, x, y) ((V)(((m) & (M)(x)) | (~(m) & (M)(y))))

#define NAME(x) x##_largest_i64
#define T int64_t
#define V int64_t
#define M int64_t
#define member i64
#define TAKES(x, y) ((x) > (y))
#define AHEAD(x, y) ((M)((x) > (y)))
#define PICK(m, x, y) ((m) != 0 ? (x) : (y))
#define IS_NAN(x) ((void)(x), 0)
#define ODD(x) ((void)(x), (M)0)
#include "runtime/kernels/reduction/extreme_template.h"

#define NAME(x) x##_largest_i32
#define T int32_t
#define V etx_i32x4
#define M etx_i32x4
#define member i64
#define TAKES(x, y) ((x) > (y))
#define AHEAD(x, y) ((x) > (y))
#define PICK BY_MASK
#define IS_NAN(x) ((void)(x), 0)
#define ODD(x) ((x) != (x))
#include "runtime/kernels/reduction/extreme_template.h"

#define NAME(x) x##_largest_f32
#define T float
#define V etx_f32x4
#define M etx_i32x4
#define member f32
#define TAKES(x, y) ((x) > (y))
#define AHEAD(x, y) ((x) > (y))
#define PICK BY_MASK
#define IS_NAN(x) ((x) != (x))
#define ODD(x) ((x) != (x))
#include "runtime/kernels/reduction/extreme_template.h"

#define NAME(x) x##_largest_f64
#define T double
#define V etx_f64x2
#define M etx_i64x2
#define member f64
#define TAKES(x, y) ((x) > (y))
#define AHEAD(x, y) ((x) > (y))
#define PICK BY_MASK
#define IS_NAN(x) ((x) != (x))
#define ODD(x) ((x) != (x))
#include "runtime/kernels/reduction/extreme_template.h"

#define NAME(x) x##_smallest_i64
#define T int64_t
#define V int64_t
#define M int64_t
#define member i64
#define TAKES(x, y) ((x) < (y))
#define AHEAD(x, y) ((M)((x) < (y)))
#define PICK(m, x, y) ((m) != 0 ? (x) : (y))
#define IS_NAN(x) ((void)(x), 0)
#define ODD(x) ((void)(x), (M)0)
#include "runtime/kernels/reduction/extreme_template.h"

#define NAME(x) x##_smallest_i32
#define T int32_t
#define V etx_i32x4
#define M etx_i32x4
#define member i64
#define TAKES(x, y) ((x) < (y))
#define AHEAD(x, y) ((x) < (y))
#define PICK BY_MASK
#define IS_NAN(x) ((void)(x), 0)
#define ODD(x) ((x) != (x))
#include "runtime/kernels/reduction/extreme_template.h"

#define NAME(x) x##_smallest_f32
#define T float
#define V etx_f32x4
#define M etx_i32x4
#define member f32
#define TAKES(x, y) ((x) < (y))
#define AHEAD(x, y) ((x) < (y))
#define PICK BY_MASK
#define IS_NAN(x) ((x) != (x))
#define ODD(x) ((x) != (x))
#include "runtime/kernels/reduction/extreme_template.h"

#define NAME(x) x##_smallest_f64
#define T double
#define V etx_f64x2
#define M etx_i64x2
#define member f64
#define TAKES(x, y) ((x) < (y))
#define AHEAD(x, y) ((x) < (y))
#define PICK BY_MASK
#define IS_NAN(x) ((x) != (x))
#define ODD(x) ((x) != (x))
#include "runtime/kernels/reduction/extreme_template.h"

// The first element sets value and index.
static void start_nothing(etx_accumulators* folded, size_t count) {
  (void)folded;
  (void)count;
}

// By wide type, and as the last one int32 as it lies.
enum { OWN_INT32 = ETX_COMPUTE_NONE };

#define ETX_EXTREME_FOLD(direction, NAME, type, row, columns, wide)     \
  {                                                                     \
    start_nothing, ETX_IF_DTYPE(NAME, row##_##direction##_##type),      \
        ETX_IF_DTYPE(NAME, columns##_##direction##_##type), NULL, wide, \
        ETX_COMPUTE_I64                                                 \
  }

#define ETX_EXTREME_FOLDS(direction, row, columns)                            \
  {                                                                           \
    [ETX_COMPUTE_I64] = ETX_EXTREME_FOLD(direction, INT64, i64, row, columns, \
                                         ETX_COMPUTE_I64),                    \
    [ETX_COMPUTE_F32] = ETX_EXTREME_FOLD(direction, FLOAT32, f32, row,        \
                                         columns, ETX_COMPUTE_F32),           \
    [ETX_COMPUTE_F64] = ETX_EXTREME_FOLD(direction, FLOAT64, f64, row,        \
                                         columns, ETX_COMPUTE_F64),           \
    [OWN_INT32] = ETX_EXTREME_FOLD(direction, INT32, i32, row, columns,       \
                                   ETX_COMPUTE_I64),                          \
  }

static const etx_fold largest[] = ETX_EXTREME_FOLDS(largest, row, columns);
static const etx_fold smallest[] = ETX_EXTREME_FOLDS(smallest, row, columns);
static const etx_fold largest_values[] =
    ETX_EXTREME_FOLDS(largest, values_row, values_columns);
static const etx_fold smallest_values[] =
    ETX_EXTREME_FOLDS(smallest, values_row, values_columns);

// Short rows of a wide type and nothing but values: most of a reduction's time
// is how it begins.
static bool folds_short_rows(const etx_reduction* r) {
  size_t rows, count;
  if (r->other != NULL || r->self->dtype != etx_compute_type_dtype(r->wide) ||
      !etx_has_short_rows(r->self, r->value, r->dims, &rows, &count)) {
    return false;
  }
  const size_t bytes = etx_dtype_bytes(r->self->dtype);
  const char* from = r->self->data;
  char* to = r->value->data;
  etx_accumulators folded;
  while (rows > 0) {
    const size_t part = rows < ETX_BLOCK ? rows : ETX_BLOCK;
    for (size_t i = 0; i < part; ++i, from += count * bytes) {
      r->fold->row(&folded, i, from, count, 0);
    }
    memcpy(to, &folded.value, part * bytes);
    to += part * bytes;
    rows -= part;
  }
  return true;
}

static etx_status run_over(const etx_call* call, const etx_fold* folds,
                           uint32_t dims, const etx_tensor* values,
                           const etx_tensor* indices) {
  etx_reduction r = {.self = etx_call_tensor(call, ETX_ARG_amax_self),
                     .value = values,
                     .other = indices,
                     .dims = dims};
  r.wide = etx_compute_type_of(r.self->dtype);
  const bool is_int32 = r.self->dtype == ETX_DTYPE_INT32;
  r.fold = &folds[is_int32 ? (int)OWN_INT32 : (int)r.wide];
  r.native = is_int32 ? ETX_DTYPE_INT32 : etx_compute_type_dtype(r.wide);
  r.cast = r.self->dtype;
  if (!folds_short_rows(&r)) etx_reduce(&r);
  return ETX_OK;
}

static uint32_t dims_of(const etx_call* call) {
  return etx_reduced_dims(call, 1, true);
}

// (self, dim, keepdim, out)
static etx_status run_amax(etx_call* call) {
  return run_over(call, largest_values, dims_of(call),
                  etx_call_tensor(call, ETX_ARG_amax_out), NULL);
}
static etx_status run_amin(etx_call* call) {
  return run_over(call, smallest_values, dims_of(call),
                  etx_call_tensor(call, ETX_ARG_amin_out), NULL);
}
// (self, out)
static etx_status run_max_all(etx_call* call) {
  return run_over(call, largest_values, ETX_ALL_DIMS,
                  etx_call_tensor(call, ETX_ARG_max_unary_out), NULL);
}
static etx_status run_min_all(etx_call* call) {
  return run_over(call, smallest_values, ETX_ALL_DIMS,
                  etx_call_tensor(call, ETX_ARG_min_unary_out), NULL);
}
// (self, dim, keepdim, out)
static etx_status run_argmax(etx_call* call) {
  return run_over(call, largest, dims_of(call), NULL,
                  etx_call_tensor(call, ETX_ARG_argmax_out));
}
static etx_status run_argmin(etx_call* call) {
  return run_over(call, smallest, dims_of(call), NULL,
                  etx_call_tensor(call, ETX_ARG_argmin_out));
}
// (self, dim, keepdim, values, indices)
static etx_status run_max_dim(etx_call* call) {
  return run_over(call, largest, dims_of(call),
                  etx_call_tensor(call, ETX_ARG_max_dim_max_max),
                  etx_call_tensor(call, ETX_ARG_max_dim_max_max_values));
}
static etx_status run_min_dim(etx_call* call) {
  return run_over(call, smallest, dims_of(call),
                  etx_call_tensor(call, ETX_ARG_min_dim_min_min),
                  etx_call_tensor(call, ETX_ARG_min_dim_min_min_indices));
}

// Extremes have no value for no elements. Where PyTorch asks for a dimension,
// one may be empty if another leaves nothing to answer.
static etx_status prepare(etx_call* call, uint32_t dims,
                          etx_kernel_function run) {
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_amax_self);
  ETX_TRY(etx_call_check_real(call, ETX_ARG_amax_self));
  if (etx_reduced_count(self, dims) == 0) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "the extreme of no elements is asked for");
  }
  call->run = run;
  return ETX_OK;
}

static etx_status prepare_values(etx_call* call, uint32_t dims, size_t out,
                                 etx_kernel_function run) {
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_amax_self, out));
  return prepare(call, dims, run);
}

static etx_status prepare_indices(etx_call* call, etx_kernel_function run) {
  ETX_TRY(
      etx_call_check_dtype(call, call->argument_count - 1, ETX_DTYPE_INT64));
  return prepare(call, dims_of(call), run);
}

// PyTorch asks a truth value for its extreme, but not where that stands.
static etx_status prepare_position(etx_call* call, etx_kernel_function run) {
  if (etx_call_tensor(call, ETX_ARG_argmax_self)->dtype == ETX_DTYPE_BOOL) {
    return etx_call_refuse_dtype(call, ETX_ARG_argmax_self, "a number type");
  }
  return prepare_indices(call, run);
}

etx_status etx_kernel_amax_out_prepare(etx_call* call) {
  return prepare_values(call, dims_of(call), 3, run_amax);
}
etx_status etx_kernel_amin_out_prepare(etx_call* call) {
  return prepare_values(call, dims_of(call), 3, run_amin);
}
etx_status etx_kernel_max_unary_out_prepare(etx_call* call) {
  return prepare_values(call, ETX_ALL_DIMS, 1, run_max_all);
}
etx_status etx_kernel_min_unary_out_prepare(etx_call* call) {
  return prepare_values(call, ETX_ALL_DIMS, 1, run_min_all);
}
etx_status etx_kernel_argmax_out_prepare(etx_call* call) {
  return prepare_position(call, run_argmax);
}
etx_status etx_kernel_argmin_out_prepare(etx_call* call) {
  return prepare_position(call, run_argmin);
}
etx_status etx_kernel_max_dim_max_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_max_dim_max_self,
                                    ETX_ARG_max_dim_max_max));
  return prepare_indices(call, run_max_dim);
}
etx_status etx_kernel_min_dim_min_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_min_dim_min_self,
                                    ETX_ARG_min_dim_min_min));
  return prepare_indices(call, run_min_dim);
}
