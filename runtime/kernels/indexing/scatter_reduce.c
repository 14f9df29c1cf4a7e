// scatter_reduce: sums, products, means or extremes of all elements of src that
// have the same index.
//
// Results are accumulated in a copy of self in the compute type (convert.h), in
// the temporary memory, with a count for each element: so half types are
// rounded once, and means have their number of terms.

#include <string.h>

#include "format/base/checked_math.h"
#include "format/tensor/layout.h"
#include "runtime/kernels/core/index_tensor.h"
#include "runtime/kernels/indexing/gather_iterator.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/core/slice_args.h"
#include "runtime/kernels/views/strided_view.h"
#include "runtime/kernels/registry/temporary_kernels.h"
#include "runtime/kernels/math/wrapping_math.h"

typedef enum scatter_reduction {
  SUM,
  PROD,
  MEAN,
  AMAX,
  AMIN,
  UNKNOWN
} scatter_reduction;

static scatter_reduction read_reduction(const etx_call* call) {
  static const char names[][5] = {"sum", "prod", "mean", "amax", "amin"};
  const etx_text name =
      etx_call_value(call, ETX_ARG_scatter_reduce_two_reduce)->as.string;
  size_t i = 0;
  while (i < UNKNOWN && !etx_text_is(name, names[i])) ++i;
  return (scatter_reduction)i;
}

#define FOLD(T, multiply, add)       \
  T a, b;                            \
  memcpy(&a, accumulator, sizeof a); \
  memcpy(&b, other, sizeof b);       \
  switch (how) {                     \
    case PROD:                       \
      a = multiply;                  \
      break;                         \
    case AMAX:                       \
      a = a != a || a > b ? a : b;   \
      break;                         \
    case AMIN:                       \
      a = a != a || a < b ? a : b;   \
      break;                         \
    default:                         \
      a = add;                       \
      break;                         \
  }                                  \
  memcpy(accumulator, &a, sizeof a);

static void fold_i64(scatter_reduction how, char* accumulator,
                     const void* other) {
  FOLD(int64_t, etx_wrap_multiply(a, b), etx_wrap_add(a, b))
}
static void fold_f32(scatter_reduction how, char* accumulator,
                     const void* other) {
  FOLD(float, a* b, a + b)
}
static void fold_f64(scatter_reduction how, char* accumulator,
                     const void* other) {
  FOLD(double, a* b, a + b)
}

typedef struct scattering {
  scatter_reduction how;
  etx_compute_type compute;
  etx_tensor sums;  // sums of the compute type, contiguous, with out's sizes
  int64_t* counts;  // terms of each
  bool keeps_self;  // elements of self are terms
} scattering;

// Adds one element of src to the accumulator at `accumulator`.
static void fold(const scattering* s, char* accumulator, etx_dtype dtype,
                 const char* from) {
  const size_t bytes = etx_dtype_bytes(s->sums.dtype);
  const size_t at = (size_t)(accumulator - (const char*)s->sums.data) / bytes;
  etx_block other;
  etx_block_load(&other, s->compute, dtype, from, 0, 1);
  if (s->counts[at]++ == 0 && !s->keeps_self) {
    memcpy(accumulator, &other, bytes);
  } else if (s->compute == ETX_COMPUTE_I64) {
    fold_i64(s->how, accumulator, &other);
  } else if (!etx_is_f64(s->compute)) {
    fold_f32(s->how, accumulator, &other);
  } else {
    fold_f64(s->how, accumulator, &other);
  }
}

static void fold_all(const etx_call* call, const scattering* s) {
  const etx_tensor* source =
      etx_call_tensor(call, ETX_ARG_scatter_reduce_two_src);
  const size_t at = etx_wrap_dimension(
      etx_call_integer(call, ETX_ARG_scatter_reduce_two_dim), s->sums.rank);
  etx_strided_iterator it;
  etx_gather_row row;
  for (bool more = etx_gather_iterator_start(
           &it, &row, &s->sums, at,
           etx_call_tensor(call, ETX_ARG_scatter_reduce_two_index), source);
       more; more = etx_gather_iterator_next(&it, &row)) {
    for (size_t i = 0; i < row.count; ++i) {
      const ptrdiff_t n = (ptrdiff_t)i;
      const int64_t index =
          etx_index_at(row.index_dtype, row.index + n * row.index_step, 0);
      fold(s, row.self + n * row.self_step + (ptrdiff_t)index * row.stride,
           source->dtype, row.other + n * row.other_step);
    }
  }
}

// Sums of integers wrap in their own type before they are divided.
static int64_t mean_of(etx_dtype dtype, int64_t sum, int64_t count) {
  int64_t narrow = 0;
  etx_convert(dtype, &narrow, 1, ETX_DTYPE_INT64, &sum, 1, 1);
  etx_convert(ETX_DTYPE_INT64, &sum, 1, dtype, &narrow, 1, 1);
  return etx_wrap_floor_divide(sum, count);
}

static void divide_means(const scattering* s, etx_dtype dtype) {
  const size_t numel = etx_tensor_numel(&s->sums);
  for (size_t i = 0; i < numel; ++i) {
    const int64_t count = s->counts[i] + (s->keeps_self ? 1 : 0);
    if (s->counts[i] == 0) continue;
    if (s->compute == ETX_COMPUTE_I64) {
      int64_t* sum = (int64_t*)s->sums.data + i;
      *sum = mean_of(dtype, *sum, count);
    } else if (!etx_is_f64(s->compute)) {
      ((float*)s->sums.data)[i] /= (float)count;
    } else {
      ((double*)s->sums.data)[i] /= (double)count;
    }
  }
}

static etx_status run_scatter_reduce(etx_call* call) {
  const etx_tensor* self =
      etx_call_tensor(call, ETX_ARG_scatter_reduce_two_self);
  const etx_tensor* index =
      etx_call_tensor(call, ETX_ARG_scatter_reduce_two_index);
  const etx_tensor* out = etx_call_tensor(call, ETX_ARG_scatter_reduce_two_out);
  const size_t numel = etx_tensor_numel(out);
  const size_t at = etx_wrap_dimension(
      etx_call_integer(call, ETX_ARG_scatter_reduce_two_dim), self->rank);
  int32_t strides[ETX_MAX_RANK];
  ETX_TRY(etx_index_check(call, index, self->rank == 0 ? 1 : self->sizes[at],
                          false));
  const etx_compute_type compute = etx_compute_type_of(out->dtype);
  (void)etx_layout_strides(out->sizes, NULL, out->rank, strides);
  int64_t* counts = call->temporary;
  const scattering s = {
      read_reduction(call),
      compute,
      {counts + numel, out->sizes, strides, out->rank,
       etx_compute_type_dtype(compute)},
      counts,
      etx_call_boolean(call, ETX_ARG_scatter_reduce_two_include_self)};
  const etx_strided_view from = etx_strided_view_of(self),
                         to = etx_strided_view_of(out);
  const etx_strided_view sums = etx_strided_view_of(&s.sums);
  if (numel == 0) return ETX_OK;
  memset(counts, 0, numel * sizeof *counts);
  etx_strided_view_copy(&sums, &from);
  fold_all(call, &s);
  if (s.how == MEAN) divide_means(&s, out->dtype);
  etx_strided_view_copy(&to, &sums);
  return ETX_OK;
}

etx_status etx_temporary_scatter_reduce(const etx_call* call,
                                        size_t* out_bytes) {
  const size_t numel =
      etx_tensor_numel(etx_call_tensor(call, ETX_ARG_scatter_reduce_two_self));
  if (etx_multiply_size(numel, 2 * sizeof(int64_t), out_bytes)) return ETX_OK;
  return etx_call_refuse(call, ETX_OUT_OF_RANGE,
                         "the results need too much memory");
}

etx_status etx_kernel_scatter_reduce_two_out_prepare(etx_call* call) {
  ETX_TRY(etx_call_check_real(call, ETX_ARG_scatter_reduce_two_self));
  ETX_TRY(etx_index_check_dtype(
      call, etx_call_tensor(call, ETX_ARG_scatter_reduce_two_index)));
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_scatter_reduce_two_self,
                                    ETX_ARG_scatter_reduce_two_src));
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_scatter_reduce_two_self,
                                    ETX_ARG_scatter_reduce_two_out));
  if (read_reduction(call) == UNKNOWN) {
    return etx_call_refuse(
        call, ETX_BAD_ARGUMENT,
        "'reduce' is '%t', expected 'sum', 'prod', 'mean', "
        "'amax' or 'amin'",
        etx_call_value(call, ETX_ARG_scatter_reduce_two_reduce)->as.string);
  }
  call->run = run_scatter_reduce;
  return etx_temporary_scatter_reduce(call, &call->temporary_bytes);
}
