// Factors of matrices: LU with exchanged rows, and Cholesky's.
//
// The matrix is copied to the result, where the factors replace it. Cholesky's
// factor is computed as an upper triangle, so that all loops run along rows; a
// lower one is that of the transposed matrix, transposed at the end.

#include <stdbool.h>

#include "runtime/kernels/linear_algebra/matrix_batch.h"
#include "runtime/kernels/math/math_bits.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/views/strided_view.h"

#define NAME(x) x##_f32
#define T float
#define SQRT(x) __builtin_sqrtf(x)
#include "runtime/kernels/linear_algebra/factors_template.h"

#define NAME(x) x##_f64
#define T double
#define SQRT(x) etx_sqrt_f64(x)
#include "runtime/kernels/linear_algebra/factors_template.h"

// (A, pivot, check_errors, LU, pivots, info)
static etx_status run_lu_factor(etx_call* call) {
  const etx_tensor* lu = etx_call_tensor(call, ETX_ARG_linalg_lu_factor_ex_LU);
  int32_t* pivots =
      etx_call_tensor(call, ETX_ARG_linalg_lu_factor_ex_pivots)->data;
  int32_t* info = etx_call_tensor(call, ETX_ARG_linalg_lu_factor_ex_info)->data;
  const bool exchanges =
      etx_call_boolean(call, ETX_ARG_linalg_lu_factor_ex_pivot);
  const ptrdiff_t rows = lu->sizes[lu->rank - 2];
  const ptrdiff_t columns = lu->sizes[lu->rank - 1];
  const etx_strided_view to = etx_strided_view_of(lu);
  const etx_strided_view from =
      etx_strided_view_of(etx_call_tensor(call, ETX_ARG_linalg_lu_factor_ex_A));
  etx_strided_view_copy(&to, &from);
  for (size_t i = 0, count = etx_matrix_count(lu); i < count; ++i) {
    const ptrdiff_t start = (ptrdiff_t)i * rows * columns;
    int32_t* const own =
        pivots + (ptrdiff_t)i * (rows < columns ? rows : columns);
    info[i] =
        etx_matrix_is_f32(lu->dtype)
            ? lu_f32((float*)lu->data + start, rows, columns, exchanges, own)
            : lu_f64((double*)lu->data + start, rows, columns, exchanges, own);
    if (info[i] > 0 &&
        etx_call_boolean(call, ETX_ARG_linalg_lu_factor_ex_check_errors)) {
      return etx_call_refuse(
          call, ETX_BAD_ARGUMENT,
          "matrix %i is singular: element %i of the diagonal "
          "of its factor U is 0",
          (int64_t)i, (int64_t)info[i] - 1);
    }
  }
  return ETX_OK;
}

etx_status etx_kernel_linalg_lu_factor_ex_out_prepare(etx_call* call) {
  ETX_TRY(etx_matrix_check_dtypes(call, ETX_ARG_linalg_lu_factor_ex_A,
                                  ETX_ARG_linalg_lu_factor_ex_LU));
  for (size_t i = ETX_ARG_linalg_lu_factor_ex_LU;
       i <= ETX_ARG_linalg_lu_factor_ex_info; ++i) {
    ETX_TRY(etx_call_check_contiguous(call, i));
  }
  ETX_TRY(etx_call_check_dtype(call, ETX_ARG_linalg_lu_factor_ex_pivots,
                               ETX_DTYPE_INT32));
  ETX_TRY(etx_call_check_dtype(call, ETX_ARG_linalg_lu_factor_ex_info,
                               ETX_DTYPE_INT32));
  call->run = run_lu_factor;
  return ETX_OK;
}

// The factor of one matrix, whose copy is at `data`: transposed if `upper` is
// false.
static int32_t factor(void* data, etx_dtype dtype, ptrdiff_t size, bool upper) {
  if (etx_matrix_is_f32(dtype)) {
    const int32_t info = cholesky_f32(data, size);
    if (!upper) transpose_f32(data, size);
    return info;
  }
  const int32_t info = cholesky_f64(data, size);
  if (!upper) transpose_f64(data, size);
  return info;
}

// (self, upper, check_errors, L, info)
static etx_status run_cholesky(etx_call* call) {
  const etx_tensor* out = etx_call_tensor(call, ETX_ARG_linalg_cholesky_ex_L_L);
  int32_t* info =
      etx_call_tensor(call, ETX_ARG_linalg_cholesky_ex_L_info)->data;
  const bool upper = etx_call_boolean(call, ETX_ARG_linalg_cholesky_ex_L_upper);
  const ptrdiff_t size = out->sizes[out->rank - 1];
  const size_t bytes = (size_t)(size * size) * etx_dtype_bytes(out->dtype);
  const etx_strided_view to = etx_strided_view_of(out);
  etx_strided_view from = etx_strided_view_of(
      etx_call_tensor(call, ETX_ARG_linalg_cholesky_ex_L_self));
  if (!upper) etx_strided_view_move(&from, from.rank - 1, from.rank - 2);
  etx_strided_view_copy(&to, &from);
  for (size_t i = 0, count = etx_matrix_count(out); i < count; ++i) {
    info[i] = factor((char*)out->data + i * bytes, out->dtype, size, upper);
    if (info[i] > 0 &&
        etx_call_boolean(call, ETX_ARG_linalg_cholesky_ex_L_check_errors)) {
      return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                             "matrix %i is not positive definite: its leading "
                             "minor of order %i is not positive",
                             (int64_t)i, (int64_t)info[i]);
    }
  }
  return ETX_OK;
}

etx_status etx_kernel_linalg_cholesky_ex_L_prepare(etx_call* call) {
  ETX_TRY(etx_matrix_check_dtypes(call, ETX_ARG_linalg_cholesky_ex_L_self,
                                  ETX_ARG_linalg_cholesky_ex_L_L));
  ETX_TRY(etx_call_check_contiguous(call, ETX_ARG_linalg_cholesky_ex_L_L));
  ETX_TRY(etx_call_check_contiguous(call, ETX_ARG_linalg_cholesky_ex_L_info));
  ETX_TRY(etx_call_check_dtype(call, ETX_ARG_linalg_cholesky_ex_L_info,
                               ETX_DTYPE_INT32));
  call->run = run_cholesky;
  return ETX_OK;
}
