// Pseudo-inverses and ranks, from the singular values of a matrix, or from the
// eigenvalues of a symmetric one: those that are not above a tolerance count as
// 0. It is the larger one of `atol` and of `rtol` times the largest value.

#include "exporter/lower/builder/lowering_functions.h"
#include "format/tensor/dtype_limits.h"

// What a matrix is the product of: left diag(values) right.
typedef struct spectrum {
  uint32_t left, right;  // without vectors: ETX_IR_NONE
  uint32_t values;
  uint32_t sizes;  // their absolute values
} spectrum;

static etx_status emit_spectrum(etx_builder* builder, bool symmetric,
                                bool has_vectors, spectrum* out) {
  uint32_t values[ETX_TYPE_INFERENCE_MAX_OUTPUTS];
  const etx_ir_arg args[] = {builder->args[0], etx_ir_bool(false),
                             etx_ir_bool(has_vectors)};
  const etx_op_id op =
      symmetric ? ETX_OP_linalg_eigh_out : ETX_OP_linalg_svd_out;
  ETX_TRY(etx_build_op_outputs(builder, op, args, 3, NULL, values));
  if (!symmetric) {
    *out = (spectrum){values[0], values[2], values[1], values[1]};
    return ETX_OK;
  }
  *out = (spectrum){values[1], ETX_IR_NONE, values[0], 0};
  if (has_vectors)
    ETX_TRY(etx_build_transposed_matrix(builder, values[1], &out->right));
  return etx_build_unary(builder, ETX_OP_abs_out, values[0], &out->sizes);
}

// A tolerance, one for each matrix, beside the values; None is `otherwise`.
static etx_status emit_tolerance(etx_builder* builder,
                                 const etx_ir_arg* tolerance, double otherwise,
                                 etx_dtype dtype, uint32_t* out_value) {
  const etx_ir_arg number = etx_ir_double(otherwise);
  ETX_TRY(etx_build_operand(
      builder, tolerance->kind == ETX_IR_ARG_NONE ? &number : tolerance, dtype,
      out_value));
  const size_t rank = etx_builder_shape(builder, *out_value)->rank;
  return etx_build_unsqueeze(builder, *out_value, rank, out_value);
}

// The rounding error of the larger size, which is the default of `rtol`.
static etx_status default_tolerance(const etx_builder* builder,
                                    const etx_shape* matrix, double* out) {
  const etx_dim rows = matrix->dims[matrix->rank - 2];
  const etx_dim columns = matrix->dims[matrix->rank - 1];
  if (!etx_dim_is_number(rows) || !etx_dim_is_number(columns)) {
    return etx_diag_fail(builder->diag, ETX_UNSUPPORTED,
                         "'%t' needs 'rtol', or matrices of fixed sizes",
                         builder->node->aten);
  }
  *out = (double)(rows > columns ? rows : columns) *
         (matrix->dtype == ETX_DTYPE_FLOAT64 ? 0x1p-52 : 0x1p-23);
  return ETX_OK;
}

typedef struct tolerances {
  etx_ir_arg atol, rtol;
} tolerances;

// True where a value counts.
static etx_status emit_test(etx_builder* builder, const spectrum* s,
                            const tolerances* t, const etx_shape* matrix,
                            uint32_t* out_value) {
  const etx_dim last = -1;
  const bool has_atol = t->atol.kind != ETX_IR_ARG_NONE;
  uint32_t least = 0, relative = 0, most = 0;
  double otherwise = 0;
  if (t->rtol.kind == ETX_IR_ARG_NONE) {
    ETX_TRY(default_tolerance(builder, matrix, &otherwise));
  }
  ETX_TRY(emit_tolerance(builder, &t->atol, 0, matrix->dtype, &least));
  ETX_TRY(
      emit_tolerance(builder, &t->rtol, otherwise, matrix->dtype, &relative));
  if (has_atol && t->rtol.kind == ETX_IR_ARG_NONE) {
    // The default of `rtol` is 0 beside an `atol` above 0.
    uint32_t is_above = 0, zero = 0;
    const etx_ir_arg none = etx_ir_double(0);
    ETX_TRY(etx_build_binary_number(builder, ETX_OP_gt_scalar_out, least, 0,
                                    &is_above));
    ETX_TRY(etx_build_scalar(builder, &none, matrix->dtype, &zero));
    ETX_TRY(etx_build_where(builder, is_above, zero, relative, &relative));
  }
  ETX_TRY(etx_build_reduce(builder, ETX_OP_amax_out, s->sizes,
                           (etx_reduced_dims){&last, 1, true}, &most));
  ETX_TRY(etx_build_binary(builder, ETX_OP_mul_out, relative, most, &relative));
  ETX_TRY(
      etx_build_binary(builder, ETX_OP_maximum_out, least, relative, &least));
  return etx_build_binary(builder, ETX_OP_gt_tensor_out, s->sizes, least,
                          out_value);
}

// True if a matrix has no elements.
static bool is_empty(const etx_shape* matrix) {
  return matrix->dims[matrix->rank - 1] == 0 ||
         matrix->dims[matrix->rank - 2] == 0;
}

static etx_status read_matrix(const etx_builder* builder, etx_shape* out) {
  *out = *etx_builder_shape(builder, builder->args[0].as.value);
  if (out->rank >= 2) return ETX_OK;
  return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                       "'%t' expects a matrix, found a tensor of rank %i",
                       builder->node->aten, (int64_t)out->rank);
}

// ------------------------------------------------ pseudo-inverses

static etx_status emit_pinv(etx_builder* builder, const tolerances* t,
                            bool symmetric) {
  etx_shape matrix;
  spectrum s;
  uint32_t test = 0, inverse = 0, zero = 0, left = 0, right = 0;
  ETX_TRY(read_matrix(builder, &matrix));
  if (is_empty(&matrix)) {
    return etx_build_transposed_matrix(builder, builder->args[0].as.value,
                                       &builder->results[0]);
  }
  ETX_TRY(emit_spectrum(builder, symmetric, true, &s));
  ETX_TRY(emit_test(builder, &s, t, &matrix, &test));
  const etx_ir_arg none = etx_ir_double(0);
  ETX_TRY(etx_build_scalar(builder, &none, matrix.dtype, &zero));
  ETX_TRY(etx_build_unary(builder, ETX_OP_reciprocal_out, s.values, &inverse));
  ETX_TRY(etx_build_where(builder, test, inverse, zero, &inverse));
  ETX_TRY(etx_build_unsqueeze(builder, inverse, matrix.rank - 2u, &inverse));
  ETX_TRY(etx_build_transposed_matrix(builder, s.right, &right));
  ETX_TRY(etx_build_binary(builder, ETX_OP_mul_out, right, inverse, &right));
  ETX_TRY(etx_build_transposed_matrix(builder, s.left, &left));
  return etx_build_matmul(builder, right, left, &builder->results[0]);
}

// linalg_pinv(self, atol, rtol, hermitian)
etx_status etx_lowering_linalg_pinv(etx_builder* builder) {
  const tolerances t = {builder->args[1], builder->args[2]};
  return emit_pinv(builder, &t, builder->args[3].as.boolean);
}

// linalg_pinv(self, rcond, hermitian), pinverse(self, rcond)
etx_status etx_lowering_linalg_pinv_rcond(etx_builder* builder) {
  const tolerances t = {etx_ir_double(0), builder->args[1]};
  return emit_pinv(builder, &t,
                   builder->arg_count > 2 && builder->args[2].as.boolean);
}

// ------------------------------------------------ ranks

static etx_status emit_rank(etx_builder* builder, const tolerances* t,
                            bool symmetric) {
  const etx_dim last = -1;
  etx_shape matrix;
  spectrum s;
  uint32_t test = 0;
  ETX_TRY(read_matrix(builder, &matrix));
  if (is_empty(&matrix)) {
    return etx_build_full(builder, matrix.dims, matrix.rank - 2u,
                          etx_ir_double(0), ETX_DTYPE_INT64,
                          &builder->results[0]);
  }
  ETX_TRY(emit_spectrum(builder, symmetric, false, &s));
  ETX_TRY(emit_test(builder, &s, t, &matrix, &test));
  ETX_TRY(etx_build_cast(builder, test, ETX_DTYPE_INT64, &test));
  return etx_build_reduce(builder, ETX_OP_sum_intlist_out, test,
                          (etx_reduced_dims){&last, 1, false},
                          &builder->results[0]);
}

// linalg_matrix_rank(self, atol, rtol, hermitian)
etx_status etx_lowering_matrix_rank(etx_builder* builder) {
  const tolerances t = {builder->args[1], builder->args[2]};
  return emit_rank(builder, &t, builder->args[3].as.boolean);
}

// linalg_matrix_rank(self, tol, hermitian)
etx_status etx_lowering_matrix_rank_tol(etx_builder* builder) {
  const tolerances t = {builder->args[1], etx_ir_double(0)};
  return emit_rank(builder, &t, builder->args[2].as.boolean);
}
