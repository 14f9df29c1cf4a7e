// amax, max, argmax, amin, min and argmin. NaN counts as the most extreme
// element, and the first of equal elements wins, as in PyTorch.

#include <string.h>

#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/simd/vector/striped_sum.h"
#include "runtime/kernels/reduction/reduce.h"

enum { CHUNK = 1024 };  // elements that stay in L1 for the search of an index

// SELECT of extreme_template.h for vectors.
#define SELECT_BITS(m, x, y) ((V)(((m) & (M)(x)) | (~(m) & (M)(y))))

#define NAME(x) x##_largest_i64
#define T int64_t
#define V int64_t
#define M int64_t
#define MEMBER i64
#define BEATS(x, y) ((x) > (y))
#define BEATS_MASK(x, y) ((M)((x) > (y)))
#define SELECT(m, x, y) ((m) != 0 ? (x) : (y))
#define IS_NAN(x) ((void)(x), 0)
#define NAN_MASK(x) ((void)(x), (M)0)
#include "runtime/kernels/reduction/extreme_template.h"

#define NAME(x) x##_largest_i32
#define T int32_t
#define V etx_i32x4
#define M etx_i32x4
#define MEMBER i64
#define BEATS(x, y) ((x) > (y))
#define BEATS_MASK(x, y) ((x) > (y))
#define SELECT SELECT_BITS
#define IS_NAN(x) ((void)(x), 0)
#define NAN_MASK(x) ((x) != (x))
#include "runtime/kernels/reduction/extreme_template.h"

#define NAME(x) x##_largest_f32
#define T float
#define V etx_f32x4
#define M etx_i32x4
#define MEMBER f32
#define BEATS(x, y) ((x) > (y))
#define BEATS_MASK(x, y) ((x) > (y))
#define SELECT SELECT_BITS
#define IS_NAN(x) ((x) != (x))
#define NAN_MASK(x) ((x) != (x))
#include "runtime/kernels/reduction/extreme_template.h"

#define NAME(x) x##_largest_f64
#define T double
#define V etx_f64x2
#define M etx_i64x2
#define MEMBER f64
#define BEATS(x, y) ((x) > (y))
#define BEATS_MASK(x, y) ((x) > (y))
#define SELECT SELECT_BITS
#define IS_NAN(x) ((x) != (x))
#define NAN_MASK(x) ((x) != (x))
#include "runtime/kernels/reduction/extreme_template.h"

#define NAME(x) x##_smallest_i64
#define T int64_t
#define V int64_t
#define M int64_t
#define MEMBER i64
#define BEATS(x, y) ((x) < (y))
#define BEATS_MASK(x, y) ((M)((x) < (y)))
#define SELECT(m, x, y) ((m) != 0 ? (x) : (y))
#define IS_NAN(x) ((void)(x), 0)
#define NAN_MASK(x) ((void)(x), (M)0)
#include "runtime/kernels/reduction/extreme_template.h"

#define NAME(x) x##_smallest_i32
#define T int32_t
#define V etx_i32x4
#define M etx_i32x4
#define MEMBER i64
#define BEATS(x, y) ((x) < (y))
#define BEATS_MASK(x, y) ((x) < (y))
#define SELECT SELECT_BITS
#define IS_NAN(x) ((void)(x), 0)
#define NAN_MASK(x) ((x) != (x))
#include "runtime/kernels/reduction/extreme_template.h"

#define NAME(x) x##_smallest_f32
#define T float
#define V etx_f32x4
#define M etx_i32x4
#define MEMBER f32
#define BEATS(x, y) ((x) < (y))
#define BEATS_MASK(x, y) ((x) < (y))
#define SELECT SELECT_BITS
#define IS_NAN(x) ((x) != (x))
#define NAN_MASK(x) ((x) != (x))
#include "runtime/kernels/reduction/extreme_template.h"

#define NAME(x) x##_smallest_f64
#define T double
#define V etx_f64x2
#define M etx_i64x2
#define MEMBER f64
#define BEATS(x, y) ((x) < (y))
#define BEATS_MASK(x, y) ((x) < (y))
#define SELECT SELECT_BITS
#define IS_NAN(x) ((x) != (x))
#define NAN_MASK(x) ((x) != (x))
#include "runtime/kernels/reduction/extreme_template.h"

// Accumulators are set by the first element.
static void start_unset(etx_accumulators* acc, size_t count) {
  (void)acc;
  (void)count;
}

// Indexed by compute type; the last entry reads int32 without conversion.
enum { NATIVE_INT32 = ETX_COMPUTE_NONE };

#define ETX_EXTREME_REDUCER(direction, NAME, type, row, columns, compute)  \
  {                                                                        \
    start_unset, ETX_IF_DTYPE(NAME, row##_##direction##_##type),           \
        ETX_IF_DTYPE(NAME, columns##_##direction##_##type), NULL, compute, \
        ETX_COMPUTE_I64                                                    \
  }

#define ETX_EXTREME_REDUCERS(direction, row, columns)                         \
  {                                                                           \
    [ETX_COMPUTE_I64] = ETX_EXTREME_REDUCER(direction, INT64, i64, row,       \
                                            columns, ETX_COMPUTE_I64),        \
    [ETX_COMPUTE_F32] = ETX_EXTREME_REDUCER(direction, FLOAT32, f32, row,     \
                                            columns, ETX_COMPUTE_F32),        \
    [ETX_COMPUTE_F64] = ETX_EXTREME_REDUCER(direction, FLOAT64, f64, row,     \
                                            columns, ETX_COMPUTE_F64),        \
    [NATIVE_INT32] = ETX_EXTREME_REDUCER(direction, INT32, i32, row, columns, \
                                         ETX_COMPUTE_I64),                    \
  }

static const etx_reducer largest[] =
    ETX_EXTREME_REDUCERS(largest, row, columns);
static const etx_reducer smallest[] =
    ETX_EXTREME_REDUCERS(smallest, row, columns);
static const etx_reducer largest_values[] =
    ETX_EXTREME_REDUCERS(largest, values_row, values_columns);
static const etx_reducer smallest_values[] =
    ETX_EXTREME_REDUCERS(smallest, values_row, values_columns);

// Reduces short rows without indices directly, if the elements have the compute
// type: the general reduction would spend most of its time on setup.
static bool reduce_short_rows(const etx_reduction* r) {
  size_t rows, count;
  if (r->other != NULL ||
      r->self->dtype != etx_compute_type_dtype(r->compute) ||
      !etx_has_short_rows(r->self, r->value, r->dims, &rows, &count)) {
    return false;
  }
  const size_t bytes = etx_dtype_bytes(r->self->dtype);
  const char* from = r->self->data;
  char* to = r->value->data;
  etx_accumulators acc;
  while (rows > 0) {
    const size_t part = rows < ETX_BLOCK ? rows : ETX_BLOCK;
    for (size_t i = 0; i < part; ++i, from += count * bytes) {
      r->reducer->row(&acc, i, from, count, 0);
    }
    memcpy(to, &acc.value, part * bytes);
    to += part * bytes;
    rows -= part;
  }
  return true;
}

static etx_status run_over(const etx_call* call, const etx_reducer* reducers,
                           uint32_t dims, const etx_tensor* values,
                           const etx_tensor* indices) {
  etx_reduction r = {.self = etx_call_tensor(call, ETX_ARG_amax_self),
                     .value = values,
                     .other = indices,
                     .dims = dims};
  r.compute = etx_compute_type_of(r.self->dtype);
  const bool is_int32 = r.self->dtype == ETX_DTYPE_INT32;
  r.reducer = &reducers[is_int32 ? (int)NATIVE_INT32 : (int)r.compute];
  r.native = is_int32 ? ETX_DTYPE_INT32 : etx_compute_type_dtype(r.compute);
  r.cast = r.self->dtype;
  if (!reduce_short_rows(&r)) etx_reduce(&r);
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

// Refuses reductions of no elements, whose extreme is undefined.
static etx_status prepare(etx_call* call, uint32_t dims,
                          etx_kernel_function run) {
  const etx_tensor* self = etx_call_tensor(call, ETX_ARG_amax_self);
  ETX_TRY(etx_call_check_real(call, ETX_ARG_amax_self));
  if (etx_reduced_count(self, dims) == 0) {
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "no elements to reduce, expected at least 1");
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

// As in PyTorch, amax accepts bool and argmax does not.
static etx_status prepare_arg(etx_call* call, etx_kernel_function run) {
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
  return prepare_arg(call, run_argmax);
}
etx_status etx_kernel_argmin_out_prepare(etx_call* call) {
  return prepare_arg(call, run_argmin);
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
