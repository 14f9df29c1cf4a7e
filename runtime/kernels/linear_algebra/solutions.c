// Solutions of systems of linear equations, from the LU factors of a matrix or
// from a triangle.
//
// The right sides are copied to the result, where the solutions replace them.
// X A = B is solved as A^T X^T = B^T, by exchanging strides.

#include "runtime/kernels/linear_algebra/matrix_batch.h"
#include "runtime/kernels/registry/kernels.h"
#include "runtime/kernels/registry/op_arguments.h"
#include "runtime/kernels/views/strided_view.h"

// The rows that a factorisation exchanged (factors_template.h).
typedef struct pivot_rows {
  const int32_t* data;
  ptrdiff_t step;  // from one to the next
} pivot_rows;

#define NAME(x) x##_f32
#define T float
#include "runtime/kernels/linear_algebra/solutions_template.h"

#define NAME(x) x##_f64
#define T double
#include "runtime/kernels/linear_algebra/solutions_template.h"

// Copies the right sides to the result.
static void copy_sides(const etx_tensor* out, const etx_tensor* sides) {
  const etx_strided_view to = etx_strided_view_of(out);
  const etx_strided_view from = etx_strided_view_of(sides);
  etx_strided_view_copy(&to, &from);
}

static matrix_f32 matrix_f32_of(const etx_tensor* tensor,
                                const etx_tensor* result, size_t index) {
  const size_t rank = tensor->rank;
  return (matrix_f32){
      (float*)tensor->data + etx_matrix_offset(tensor, 2, result, index),
      tensor->strides[rank - 2], tensor->strides[rank - 1]};
}

static matrix_f64 matrix_f64_of(const etx_tensor* tensor,
                                const etx_tensor* result, size_t index) {
  const size_t rank = tensor->rank;
  return (matrix_f64){
      (double*)tensor->data + etx_matrix_offset(tensor, 2, result, index),
      tensor->strides[rank - 2], tensor->strides[rank - 1]};
}

// The sizes of a system: unknowns, and right sides.
typedef struct system_sizes {
  ptrdiff_t size, columns;
  bool left;  // A X = B, else X A = B
} system_sizes;

static system_sizes sizes_of(const etx_tensor* out, bool left) {
  const ptrdiff_t rows = out->sizes[out->rank - 2];
  const ptrdiff_t columns = out->sizes[out->rank - 1];
  return left ? (system_sizes){rows, columns, left}
              : (system_sizes){columns, rows, left};
}

// ------------------------------------------------ from LU factors

// Refuses rows that do not exist.
static etx_status check_pivots(const etx_call* call, const pivot_rows* pivots,
                               ptrdiff_t size) {
  for (ptrdiff_t i = 0; i < size; ++i) {
    const int32_t row = pivots->data[i * pivots->step];
    if (row >= 1 && row <= size) continue;
    return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                           "an element of 'pivots' is %i, expected 1 to %i",
                           (int64_t)row, (int64_t)size);
  }
  return ETX_OK;
}

static void solve_factored(const etx_tensor* lu, const pivot_rows* pivots,
                           bool transposed, system_sizes s,
                           const etx_tensor* out, size_t index) {
  if (etx_matrix_is_f32(out->dtype)) {
    matrix_f32 b = matrix_f32_of(out, out, index);
    if (!s.left) b = transposed_f32(b);
    solve_lu_f32(matrix_f32_of(lu, out, index), pivots, transposed, s.size, &b,
                 s.columns);
    return;
  }
  matrix_f64 b = matrix_f64_of(out, out, index);
  if (!s.left) b = transposed_f64(b);
  solve_lu_f64(matrix_f64_of(lu, out, index), pivots, transposed, s.size, &b,
               s.columns);
}

// (LU, pivots, B, left, adjoint, out)
static etx_status run_lu_solve(etx_call* call) {
  const etx_tensor* lu = etx_call_tensor(call, ETX_ARG_linalg_lu_solve_LU);
  const etx_tensor* rows =
      etx_call_tensor(call, ETX_ARG_linalg_lu_solve_pivots);
  const etx_tensor* out = etx_call_tensor(call, ETX_ARG_linalg_lu_solve_out);
  const bool adjoint = etx_call_boolean(call, ETX_ARG_linalg_lu_solve_adjoint);
  const system_sizes s =
      sizes_of(out, etx_call_boolean(call, ETX_ARG_linalg_lu_solve_left));
  copy_sides(out, etx_call_tensor(call, ETX_ARG_linalg_lu_solve_B));
  for (size_t i = 0, count = etx_matrix_count(out); i < count; ++i) {
    const pivot_rows pivots = {
        (const int32_t*)rows->data + etx_matrix_offset(rows, 1, out, i),
        rows->strides[rows->rank - 1]};
    ETX_TRY(check_pivots(call, &pivots, s.size));
    solve_factored(lu, &pivots, adjoint == s.left, s, out, i);
  }
  return ETX_OK;
}

etx_status etx_kernel_linalg_lu_solve_out_prepare(etx_call* call) {
  ETX_TRY(etx_matrix_check_dtypes(call, ETX_ARG_linalg_lu_solve_LU,
                                  ETX_ARG_linalg_lu_solve_B));
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_linalg_lu_solve_LU,
                                    ETX_ARG_linalg_lu_solve_out));
  ETX_TRY(etx_call_check_dtype(call, ETX_ARG_linalg_lu_solve_pivots,
                               ETX_DTYPE_INT32));
  call->run = run_lu_solve;
  return ETX_OK;
}

// ------------------------------------------------ from a triangle

// (self, B, upper, left, unitriangular, out)
static etx_status run_solve_triangular(etx_call* call) {
  const etx_tensor* a =
      etx_call_tensor(call, ETX_ARG_linalg_solve_triangular_self);
  const etx_tensor* out =
      etx_call_tensor(call, ETX_ARG_linalg_solve_triangular_out);
  const bool unit =
      etx_call_boolean(call, ETX_ARG_linalg_solve_triangular_unitriangular);
  const system_sizes s = sizes_of(
      out, etx_call_boolean(call, ETX_ARG_linalg_solve_triangular_left));
  // The transposed triangle is on the other side.
  const bool upper =
      etx_call_boolean(call, ETX_ARG_linalg_solve_triangular_upper) == s.left;
  copy_sides(out, etx_call_tensor(call, ETX_ARG_linalg_solve_triangular_B));
  for (size_t i = 0, count = etx_matrix_count(out); i < count; ++i) {
    if (etx_matrix_is_f32(out->dtype)) {
      matrix_f32 m = matrix_f32_of(a, out, i), b = matrix_f32_of(out, out, i);
      if (!s.left) m = transposed_f32(m), b = transposed_f32(b);
      solve_f32(&m, upper, unit, s.size, &b, s.columns);
    } else {
      matrix_f64 m = matrix_f64_of(a, out, i), b = matrix_f64_of(out, out, i);
      if (!s.left) m = transposed_f64(m), b = transposed_f64(b);
      solve_f64(&m, upper, unit, s.size, &b, s.columns);
    }
  }
  return ETX_OK;
}

etx_status etx_kernel_linalg_solve_triangular_out_prepare(etx_call* call) {
  ETX_TRY(etx_matrix_check_dtypes(call, ETX_ARG_linalg_solve_triangular_self,
                                  ETX_ARG_linalg_solve_triangular_B));
  ETX_TRY(etx_call_check_same_dtype(call, ETX_ARG_linalg_solve_triangular_self,
                                    ETX_ARG_linalg_solve_triangular_out));
  call->run = run_solve_triangular;
  return ETX_OK;
}
