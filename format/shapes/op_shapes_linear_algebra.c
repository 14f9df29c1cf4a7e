// Shape functions of factors, solutions and determinants of matrices, which are
// the last two dimensions of a tensor.

#include "format/shapes/op_shapes_internal.h"

static etx_status put(const etx_shape_call* call, size_t index,
                      const etx_shape* shape) {
  return call->output(call->context, index, shape);
}

static etx_status read_matrix(const etx_shape_call* call, size_t argument,
                              etx_shape* out) {
  ETX_TRY(etx_shape_tensor(call, argument, out));
  if (out->rank >= 2) return ETX_OK;
  return etx_shape_refuse(call, "a rank is %i, expected at least 2",
                          (int64_t)out->rank);
}

static etx_status read_square(const etx_shape_call* call, size_t argument,
                              etx_shape* out) {
  ETX_TRY(read_matrix(call, argument, out));
  return etx_shape_check_equal(call, "the number of rows of a square matrix",
                               out->dims[out->rank - 1],
                               out->dims[out->rank - 2]);
}

// The leading sizes, with `dtype`.
static etx_shape batch_of(const etx_shape* matrix, etx_dtype dtype) {
  etx_shape out = *matrix;
  out.rank = (uint8_t)(out.rank - 2);
  out.dtype = dtype;
  return out;
}

// (A): LU, pivots, info
etx_status etx_shape_lu_factor(etx_shape_call* call) {
  etx_shape a;
  etx_dim least;
  ETX_TRY(read_matrix(call, 0, &a));
  ETX_TRY(
      etx_dim_minimum(call, a.dims[a.rank - 2], a.dims[a.rank - 1], &least));
  const etx_shape info = batch_of(&a, ETX_DTYPE_INT32);
  etx_shape pivots = info;
  ETX_TRY(etx_shape_insert(call, &pivots, pivots.rank, least));
  ETX_TRY(put(call, 0, &a));
  ETX_TRY(put(call, 1, &pivots));
  return put(call, 2, &info);
}

// (self): L, info
etx_status etx_shape_cholesky(etx_shape_call* call) {
  etx_shape self;
  ETX_TRY(read_square(call, 0, &self));
  const etx_shape info = batch_of(&self, ETX_DTYPE_INT32);
  ETX_TRY(put(call, 0, &self));
  return put(call, 1, &info);
}

// An output that is not computed has no elements.
static etx_status put_nothing(const etx_shape_call* call, size_t index,
                              etx_dtype dtype) {
  const etx_shape none = {.dtype = dtype, .rank = 1};
  return put(call, index, &none);
}

// Matrices of `rows` and `columns` with the leading sizes of `matrix`.
static etx_status put_matrices(const etx_shape_call* call, size_t index,
                               const etx_shape* matrix, etx_dim rows,
                               etx_dim columns) {
  etx_shape out = *matrix;
  out.dims[out.rank - 2] = rows;
  out.dims[out.rank - 1] = columns;
  return put(call, index, &out);
}

// Rows, columns, and the smaller one of both.
typedef struct matrix_sizes {
  etx_dim rows, columns, least;
} matrix_sizes;

static etx_status read_sizes(const etx_shape_call* call, etx_shape* out_matrix,
                             matrix_sizes* out) {
  ETX_TRY(read_matrix(call, 0, out_matrix));
  out->rows = out_matrix->dims[out_matrix->rank - 2];
  out->columns = out_matrix->dims[out_matrix->rank - 1];
  return etx_dim_minimum(call, out->rows, out->columns, &out->least);
}

// (A, complete, compute_q): Q, R
etx_status etx_shape_qr(etx_shape_call* call) {
  etx_shape a;
  matrix_sizes s;
  ETX_TRY(read_sizes(call, &a, &s));
  const etx_dim vectors = etx_shape_boolean(call, 1) ? s.rows : s.least;
  ETX_TRY(etx_shape_boolean(call, 2)
              ? put_matrices(call, 0, &a, s.rows, vectors)
              : put_nothing(call, 0, a.dtype));
  return put_matrices(call, 1, &a, vectors, s.columns);
}

// (A, full_matrices, compute_uv): U, S, Vh
etx_status etx_shape_svd(etx_shape_call* call) {
  etx_shape a;
  matrix_sizes s;
  ETX_TRY(read_sizes(call, &a, &s));
  const bool is_full = etx_shape_boolean(call, 1);
  const bool has_vectors = etx_shape_boolean(call, 2);
  etx_shape values = batch_of(&a, a.dtype);
  ETX_TRY(etx_shape_insert(call, &values, values.rank, s.least));
  ETX_TRY(has_vectors
              ? put_matrices(call, 0, &a, s.rows, is_full ? s.rows : s.least)
              : put_nothing(call, 0, a.dtype));
  ETX_TRY(put(call, 1, &values));
  return has_vectors ? put_matrices(call, 2, &a, is_full ? s.columns : s.least,
                                    s.columns)
                     : put_nothing(call, 2, a.dtype);
}

// (A, upper, compute_v): eigenvalues, eigenvectors
etx_status etx_shape_eigh(etx_shape_call* call) {
  etx_shape a;
  ETX_TRY(read_square(call, 0, &a));
  etx_shape values = batch_of(&a, a.dtype);
  ETX_TRY(etx_shape_insert(call, &values, values.rank, a.dims[a.rank - 1]));
  ETX_TRY(put(call, 0, &values));
  return etx_shape_boolean(call, 2) ? put(call, 1, &a)
                                    : put_nothing(call, 1, a.dtype);
}

// (LU_data, LU_pivots, unpack_data, unpack_pivots): P, L, U
etx_status etx_shape_lu_unpack(etx_shape_call* call) {
  etx_shape lu, pivots;
  matrix_sizes s;
  ETX_TRY(read_sizes(call, &lu, &s));
  ETX_TRY(etx_shape_tensor(call, 1, &pivots));
  ETX_TRY(etx_shape_check_rank(call, "LU_pivots", &pivots, lu.rank - 1u));
  for (size_t i = 0; i < pivots.rank; ++i) {
    ETX_TRY(etx_shape_check_equal(call, "a size of 'LU_pivots'",
                                  i + 1u < pivots.rank ? lu.dims[i] : s.least,
                                  pivots.dims[i]));
  }
  const bool has_data = etx_shape_boolean(call, 2);
  ETX_TRY(etx_shape_boolean(call, 3)
              ? put_matrices(call, 0, &lu, s.rows, s.rows)
              : put_nothing(call, 0, lu.dtype));
  ETX_TRY(has_data ? put_matrices(call, 1, &lu, s.rows, s.least)
                   : put_nothing(call, 1, lu.dtype));
  return has_data ? put_matrices(call, 2, &lu, s.least, s.columns)
                  : put_nothing(call, 2, lu.dtype);
}

// Solutions of A X = B, or of X A = B: the sizes of B, with leading sizes that
// broadcast with those of A.
static etx_status put_solution(const etx_shape_call* call, const etx_shape* a,
                               size_t sides, size_t left) {
  etx_shape b;
  ETX_TRY(read_matrix(call, sides, &b));
  const size_t equal = etx_shape_boolean(call, left) ? 2 : 1;
  ETX_TRY(etx_shape_check_equal(call, "a size of 'B'", a->dims[a->rank - 1],
                                b.dims[b.rank - equal]));
  etx_shape out = batch_of(a, b.dtype);
  const etx_shape other = batch_of(&b, b.dtype);
  ETX_TRY(etx_shape_broadcast_into(call, &out, &other));
  for (size_t i = 2; i > 0; --i) {
    ETX_TRY(etx_shape_insert(call, &out, out.rank, b.dims[b.rank - i]));
  }
  return put(call, 0, &out);
}

// Refuses pivots that are not those of square factors.
static etx_status check_pivots(const etx_shape_call* call, size_t argument,
                               const etx_shape* lu) {
  etx_shape pivots;
  ETX_TRY(etx_shape_tensor(call, argument, &pivots));
  ETX_TRY(etx_shape_check_rank(call, "pivots", &pivots, lu->rank - 1u));
  for (size_t i = 0; i < pivots.rank; ++i) {
    ETX_TRY(etx_shape_check_equal(call, "a size of 'pivots'", lu->dims[i],
                                  pivots.dims[i]));
  }
  return ETX_OK;
}

// (LU, pivots, B, left)
etx_status etx_shape_lu_solve(etx_shape_call* call) {
  etx_shape lu;
  ETX_TRY(read_square(call, 0, &lu));
  ETX_TRY(check_pivots(call, 1, &lu));
  return put_solution(call, &lu, 2, 3);
}

// (self, B, upper, left)
etx_status etx_shape_solve_triangular(etx_shape_call* call) {
  etx_shape a;
  ETX_TRY(read_square(call, 0, &a));
  return put_solution(call, &a, 1, 3);
}

// (LU, pivots): the determinant
etx_status etx_shape_lu_det(etx_shape_call* call) {
  etx_shape lu;
  ETX_TRY(read_square(call, 0, &lu));
  ETX_TRY(check_pivots(call, 1, &lu));
  const etx_shape out = batch_of(&lu, lu.dtype);
  return put(call, 0, &out);
}

// (LU, pivots): its sign, and the logarithm of its absolute value
etx_status etx_shape_lu_slogdet(etx_shape_call* call) {
  etx_shape lu;
  ETX_TRY(read_square(call, 0, &lu));
  ETX_TRY(check_pivots(call, 1, &lu));
  const etx_shape out = batch_of(&lu, lu.dtype);
  ETX_TRY(put(call, 0, &out));
  return put(call, 1, &out);
}
