// Inverses, systems of linear equations and determinants, as factors of a
// matrix and solutions from them. Functions that raise in PyTorch for a matrix
// without a solution fail at run time; those that return `info` do not.

#include <math.h>

#include "exporter/lower/builder/lowering_functions.h"

// The results of linalg_lu_factor_ex.
typedef struct lu_factors {
  uint32_t lu, pivots, info;
} lu_factors;

static etx_status emit_factors(etx_builder* builder, uint32_t matrix,
                               bool checks, lu_factors* out) {
  uint32_t values[ETX_TYPE_INFERENCE_MAX_OUTPUTS];
  const etx_ir_arg args[] = {etx_ir_value_arg(matrix), etx_ir_bool(true),
                             etx_ir_bool(checks)};
  ETX_TRY(etx_build_op_outputs(builder, ETX_OP_linalg_lu_factor_ex_out, args, 3,
                               NULL, values));
  *out = (lu_factors){values[0], values[1], values[2]};
  return ETX_OK;
}

static etx_status emit_lu_solve(etx_builder* builder, const lu_factors* factors,
                                uint32_t sides, bool left,
                                uint32_t* out_value) {
  const etx_ir_arg args[] = {
      etx_ir_value_arg(factors->lu), etx_ir_value_arg(factors->pivots),
      etx_ir_value_arg(sides), etx_ir_bool(left), etx_ir_bool(false)};
  return etx_build_op(builder, ETX_OP_linalg_lu_solve_out, args, 5, out_value);
}

// A matrix of rank 2 or more; the shape rules say what else is wrong with it.
static etx_status check_matrix(const etx_builder* builder, size_t argument) {
  const size_t rank =
      etx_builder_shape(builder, builder->args[argument].as.value)->rank;
  if (rank >= 2) return ETX_OK;
  return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                       "'%t' expects a matrix, found a tensor of rank %i",
                       builder->node->aten, (int64_t)rank);
}

// The identity of the last size of `matrix`.
static etx_status emit_identity(etx_builder* builder, uint32_t matrix,
                                uint32_t* out_value) {
  const etx_shape shape = *etx_builder_shape(builder, matrix);
  const etx_dim size = shape.dims[shape.rank - 1];
  return etx_build_eye(builder, size, size, shape.dtype, out_value);
}

// ------------------------------------------------ inverses and systems

// linalg_lu_factor(A, pivot)
etx_status etx_lowering_lu_factor(etx_builder* builder) {
  uint32_t values[ETX_TYPE_INFERENCE_MAX_OUTPUTS];
  const etx_ir_arg args[] = {builder->args[0], builder->args[1],
                             etx_ir_bool(true)};
  ETX_TRY(
      etx_build_op_outputs(builder, builder->row->op, args, 3, NULL, values));
  builder->results[0] = values[0];
  builder->results[1] = values[1];
  return ETX_OK;
}

// linalg_inv(A), linalg_inv_ex(A, check_errors)
etx_status etx_lowering_linalg_inv(etx_builder* builder) {
  const bool is_ex = builder->node->output_count > 1;
  const uint32_t matrix = builder->args[0].as.value;
  lu_factors factors;
  uint32_t identity = 0;
  ETX_TRY(check_matrix(builder, 0));
  ETX_TRY(emit_factors(builder, matrix, !is_ex || builder->args[1].as.boolean,
                       &factors));
  ETX_TRY(emit_identity(builder, matrix, &identity));
  if (is_ex) builder->results[1] = factors.info;
  return emit_lu_solve(builder, &factors, identity, true, &builder->results[0]);
}

// True if B is one vector for each matrix of A, as in torch.linalg.solve.
static bool is_vector(const etx_builder* builder, uint32_t a, uint32_t b) {
  const etx_shape* const matrix = etx_builder_shape(builder, a);
  const etx_shape* const sides = etx_builder_shape(builder, b);
  return sides->rank == 1 || (sides->rank + 1u == matrix->rank &&
                              etx_builder_same_dims(builder, sides->dims,
                                                    matrix->dims, sides->rank));
}

static etx_status emit_solve(etx_builder* builder, bool checks,
                             lu_factors* factors) {
  const uint32_t a = builder->args[0].as.value;
  uint32_t b = builder->args[1].as.value;
  const bool left = builder->args[2].as.boolean;
  ETX_TRY(check_matrix(builder, 0));
  ETX_TRY(emit_factors(builder, a, checks, factors));
  if (!is_vector(builder, a, b)) {
    return emit_lu_solve(builder, factors, b, left, &builder->results[0]);
  }
  ETX_TRY(
      etx_build_unsqueeze(builder, b, etx_builder_shape(builder, b)->rank, &b));
  ETX_TRY(emit_lu_solve(builder, factors, b, true, &b));
  const etx_shape shape = *etx_builder_shape(builder, b);
  return etx_build_view(builder, b, shape.dims, shape.rank - 1u,
                        &builder->results[0]);
}

// linalg_solve(A, B, left), linalg_solve_ex(A, B, left, check_errors)
etx_status etx_lowering_linalg_solve(etx_builder* builder) {
  lu_factors factors;
  const bool is_ex = builder->node->output_count > 1;
  ETX_TRY(emit_solve(builder, !is_ex || builder->args[3].as.boolean, &factors));
  if (is_ex) builder->results[1] = factors.info;
  return ETX_OK;
}

// _linalg_solve_ex(A, B, left, check_errors): result, LU, pivots, info
etx_status etx_lowering_linalg_solve_factors(etx_builder* builder) {
  lu_factors factors;
  ETX_TRY(emit_solve(builder, builder->args[3].as.boolean, &factors));
  builder->results[1] = factors.lu;
  builder->results[2] = factors.pivots;
  builder->results[3] = factors.info;
  return ETX_OK;
}

// ------------------------------------------------ triangles

// linalg_cholesky(self, upper)
etx_status etx_lowering_cholesky(etx_builder* builder) {
  const etx_ir_arg args[] = {builder->args[0], builder->args[1],
                             etx_ir_bool(true)};
  uint32_t values[ETX_TYPE_INFERENCE_MAX_OUTPUTS];
  ETX_TRY(
      etx_build_op_outputs(builder, builder->row->op, args, 3, NULL, values));
  builder->results[0] = values[0];
  return ETX_OK;
}

etx_status etx_build_transposed_matrix(etx_builder* builder, uint32_t self,
                                       uint32_t* out_value) {
  const size_t rank = etx_builder_shape(builder, self)->rank;
  return etx_build_transpose(builder, self, rank - 2, rank - 1, out_value);
}

static etx_status emit_triangular(etx_builder* builder, uint32_t triangle,
                                  uint32_t sides, bool upper, bool unit,
                                  uint32_t* out_value) {
  const etx_ir_arg args[] = {etx_ir_value_arg(triangle),
                             etx_ir_value_arg(sides), etx_ir_bool(upper),
                             etx_ir_bool(true), etx_ir_bool(unit)};
  return etx_build_op(builder, ETX_OP_linalg_solve_triangular_out, args, 5,
                      out_value);
}

// The solution of L L^T X = B, or of U^T U X = B.
static etx_status emit_cholesky_solve(etx_builder* builder, uint32_t triangle,
                                      uint32_t sides, bool upper) {
  uint32_t other = 0;
  ETX_TRY(etx_build_transposed_matrix(builder, triangle, &other));
  const uint32_t lower_one = upper ? other : triangle;
  const uint32_t upper_one = upper ? triangle : other;
  ETX_TRY(emit_triangular(builder, lower_one, sides, false, false, &sides));
  return emit_triangular(builder, upper_one, sides, true, false,
                         &builder->results[0]);
}

// cholesky_solve(self, input2, upper)
etx_status etx_lowering_cholesky_solve(etx_builder* builder) {
  ETX_TRY(check_matrix(builder, 1));
  return emit_cholesky_solve(builder, builder->args[1].as.value,
                             builder->args[0].as.value,
                             builder->args[2].as.boolean);
}

// cholesky_inverse(self, upper)
etx_status etx_lowering_cholesky_inverse(etx_builder* builder) {
  uint32_t identity = 0;
  ETX_TRY(check_matrix(builder, 0));
  ETX_TRY(emit_identity(builder, builder->args[0].as.value, &identity));
  return emit_cholesky_solve(builder, builder->args[0].as.value, identity,
                             builder->args[1].as.boolean);
}

// triangular_solve(self, A, upper, transpose, unitriangular): solution, A
etx_status etx_lowering_triangular_solve(etx_builder* builder) {
  const etx_ir_arg* const args = builder->args;
  const bool transposes = args[3].as.boolean;
  uint32_t triangle = args[1].as.value;
  builder->results[1] = triangle;
  ETX_TRY(check_matrix(builder, 1));
  if (transposes)
    ETX_TRY(etx_build_transposed_matrix(builder, triangle, &triangle));
  return emit_triangular(builder, triangle, args[0].as.value,
                         args[2].as.boolean != transposes, args[4].as.boolean,
                         &builder->results[0]);
}

// ------------------------------------------------ determinants

// The determinant, or its sign and logarithm, as `values`.
static etx_status emit_determinant(etx_builder* builder, lu_factors* factors,
                                   uint32_t* values) {
  ETX_TRY(check_matrix(builder, 0));
  ETX_TRY(emit_factors(builder, builder->args[0].as.value, false, factors));
  const etx_ir_arg args[] = {etx_ir_value_arg(factors->lu),
                             etx_ir_value_arg(factors->pivots)};
  return etx_build_op_outputs(builder, builder->row->op, args, 2, NULL, values);
}

// det and slogdet (A), and their forms that return LU and pivots too.
etx_status etx_lowering_lu_determinant(etx_builder* builder) {
  uint32_t values[ETX_TYPE_INFERENCE_MAX_OUTPUTS];
  lu_factors factors;
  ETX_TRY(emit_determinant(builder, &factors, values));
  const size_t count = builder->row->op == ETX_OP_lu_det_out ? 1 : 2;
  for (size_t i = 0; i < count; ++i) builder->results[i] = values[i];
  if (builder->node->output_count <= count) return ETX_OK;
  builder->results[count] = factors.lu;
  builder->results[count + 1] = factors.pivots;
  return ETX_OK;
}

// logdet(self): NaN where the determinant is negative.
etx_status etx_lowering_logdet(etx_builder* builder) {
  uint32_t values[ETX_TYPE_INFERENCE_MAX_OUTPUTS];
  uint32_t is_negative = 0;
  uint32_t nan = 0;
  lu_factors factors;
  ETX_TRY(emit_determinant(builder, &factors, values));
  const etx_ir_arg number = etx_ir_double((double)NAN);
  ETX_TRY(etx_build_scalar(builder, &number,
                           etx_builder_shape(builder, values[0])->dtype, &nan));
  ETX_TRY(etx_build_binary_number(builder, ETX_OP_lt_scalar_out, values[0], 0,
                                  &is_negative));
  return etx_build_where(builder, is_negative, nan, values[1],
                         &builder->results[0]);
}
