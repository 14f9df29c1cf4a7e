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
