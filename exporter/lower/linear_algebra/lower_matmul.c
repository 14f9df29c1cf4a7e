// Matrix products. For target executorch, a linear layer is a product with the
// transposed weight, which constant folding transposes; etx's runtime has a
// linear kernel. Batched products become one bmm over collapsed batches.

#include "exporter/lower/builder/lowering_functions.h"

static etx_status cast_to_common(etx_builder* builder, const etx_ir_arg* a,
                                 const etx_ir_arg* b, uint32_t out[2]) {
  const etx_ir_arg operands[] = {*a, *b};
  etx_dtype dtype;
  ETX_TRY(etx_builder_result_type(builder, operands, 2, &dtype));
  ETX_TRY(etx_build_operand(builder, a, dtype, &out[0]));
  return etx_build_operand(builder, b, dtype, &out[1]);
}

// ------------------------------------------------ linear

// x [M, K] @ weight [N, K]^T + bias
static etx_status executorch_linear(etx_builder* builder, uint32_t x,
                                    uint32_t weight, uint32_t bias,
                                    uint32_t* out_value) {
  uint32_t transposed = 0;
  ETX_TRY(etx_build_transpose(builder, weight, 0, 1, &transposed));
  if (bias == ETX_IR_NONE) {
    return etx_build_binary(builder, ETX_OP_mm_out, x, transposed, out_value);
  }
  const etx_ir_arg args[] = {etx_ir_value_arg(bias), etx_ir_value_arg(x),
                             etx_ir_value_arg(transposed)};
  return etx_build_op(builder, ETX_OP_addmm_out, args, 3, out_value);
}

static etx_status etx_linear(etx_builder* builder, uint32_t x, uint32_t weight,
                             uint32_t bias, uint32_t* out_value) {
  const etx_ir_arg args[] = {
      etx_ir_value_arg(x), etx_ir_value_arg(weight),
      bias == ETX_IR_NONE ? etx_ir_none() : etx_ir_value_arg(bias)};
  return etx_build_op(builder, ETX_OP_linear_out, args, 3, out_value);
}

etx_status etx_build_linear(etx_builder* builder, uint32_t input,
                            uint32_t weight, uint32_t bias,
                            uint32_t* out_value) {
  const etx_shape from = *etx_builder_shape(builder, input);
  const etx_shape matrix = *etx_builder_shape(builder, weight);
  if (from.rank == 0 || matrix.rank != 2) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "'%t' expects an input of rank 1 or more and a weight "
                         "of rank 2, found ranks %u and %u",
                         builder->node->aten, (uint64_t)from.rank,
                         (uint64_t)matrix.rank);
  }
  if (builder->target == ETX_TARGET_ETX) {
    return etx_linear(builder, input, weight, bias, out_value);
  }
  etx_dim rows[2] = {0, from.dims[from.rank - 1]};
  ETX_TRY(etx_builder_product(builder, from.dims, 0, from.rank - 1u, &rows[0]));
  uint32_t value = 0;
  ETX_TRY(etx_build_view(builder, input, rows, 2, &value));
  ETX_TRY(executorch_linear(builder, value, weight, bias, &value));
  etx_dim dims[ETX_MAX_RANK];
  for (size_t i = 0; i + 1 < from.rank; ++i) dims[i] = from.dims[i];
  dims[from.rank - 1] = matrix.dims[0];
  return etx_build_view(builder, value, dims, from.rank, out_value);
}

etx_status etx_lowering_linear(etx_builder* builder) {
  const uint32_t bias = builder->args[2].kind == ETX_IR_ARG_NONE
                            ? ETX_IR_NONE
                            : builder->args[2].as.value;
  return etx_build_linear(builder, builder->args[0].as.value,
                          builder->args[1].as.value, bias,
                          &builder->results[0]);
}

// ------------------------------------------------ matmul

// The batch dimensions (all but the last two) of both operands, broadcast.
static etx_status batch_dims(etx_builder* builder, const etx_shape* a,
                             const etx_shape* b, etx_shape* out) {
  etx_shape left = *a;
  etx_shape right = *b;
  left.rank = (uint8_t)(left.rank - 2);
  right.rank = (uint8_t)(right.rank - 2);
  return etx_builder_broadcast(builder, &left, &right, out);
}

// `value` with its batch dimensions expanded to `batch` and collapsed to one.
static etx_status collapse(etx_builder* builder, uint32_t value,
                           const etx_shape* batch, etx_dim count,
                           uint32_t* out_value) {
  const etx_shape shape = *etx_builder_shape(builder, value);
  const etx_dim rows = shape.dims[shape.rank - 2];
  const etx_dim columns = shape.dims[shape.rank - 1];
  etx_shape wide = *batch;
  wide.dims[wide.rank++] = rows;
  wide.dims[wide.rank++] = columns;
  const etx_dim flat[] = {count, rows, columns};
  ETX_TRY(etx_build_expand(builder, value, wide.dims, wide.rank, &value));
  return etx_build_view(builder, value, flat, 3, out_value);
}

static etx_status batched_matmul(etx_builder* builder, uint32_t a, uint32_t b,
                                 uint32_t* out_value) {
  const etx_shape left = *etx_builder_shape(builder, a);
  const etx_shape right = *etx_builder_shape(builder, b);
  etx_shape batch;
  etx_dim count = 0;
  ETX_TRY(batch_dims(builder, &left, &right, &batch));
  ETX_TRY(etx_builder_product(builder, batch.dims, 0, batch.rank, &count));
  uint32_t value = 0;
  ETX_TRY(collapse(builder, a, &batch, count, &a));
  ETX_TRY(collapse(builder, b, &batch, count, &b));
  ETX_TRY(etx_build_binary(builder, ETX_OP_bmm_out, a, b, &value));
  etx_shape out = batch;
  out.dims[out.rank++] = left.dims[left.rank - 2];
  out.dims[out.rank++] = right.dims[right.rank - 1];
  return etx_build_view(builder, value, out.dims, out.rank, out_value);
}

// [.., M, K] @ [K, N]: one product over all rows.
static etx_status rows_matmul(etx_builder* builder, uint32_t a, uint32_t b,
                              uint32_t* out_value) {
  const etx_shape left = *etx_builder_shape(builder, a);
  etx_dim rows[2] = {0, left.dims[left.rank - 1]};
  ETX_TRY(etx_builder_product(builder, left.dims, 0, left.rank - 1u, &rows[0]));
  uint32_t value = 0;
  ETX_TRY(etx_build_view(builder, a, rows, 2, &value));
  ETX_TRY(etx_build_binary(builder, ETX_OP_mm_out, value, b, &value));
  etx_dim dims[ETX_MAX_RANK];
  for (size_t i = 0; i + 1 < left.rank; ++i) dims[i] = left.dims[i];
  dims[left.rank - 1] = etx_builder_shape(builder, b)->dims[1];
  return etx_build_view(builder, value, dims, left.rank, out_value);
}

// A vector as the row or column of a matrix.
static etx_status vector_as_matrix(etx_builder* builder, uint32_t vector,
                                   bool is_row, uint32_t* out_value) {
  return etx_build_unsqueeze(builder, vector, is_row ? 0 : 1, out_value);
}

// Removes the dimensions that were added to vectors.
static etx_status drop_vector_dims(etx_builder* builder, uint32_t value,
                                   bool row, bool column, uint32_t* out_value) {
  const etx_shape shape = *etx_builder_shape(builder, value);
  etx_dim dims[ETX_MAX_RANK];
  size_t rank = 0;
  for (size_t i = 0; i < shape.rank; ++i) {
    if (row && i + 2 == shape.rank) continue;
    if (column && i + 1 == shape.rank) continue;
    dims[rank++] = shape.dims[i];
  }
  return etx_build_view(builder, value, dims, rank, out_value);
}

etx_status etx_build_matmul(etx_builder* builder, uint32_t self, uint32_t other,
                            uint32_t* out_value) {
  const size_t left_rank = etx_builder_shape(builder, self)->rank;
  const size_t right_rank = etx_builder_shape(builder, other)->rank;
  if (left_rank == 0 || right_rank == 0) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "'%t' expects operands of rank 1 or more",
                         builder->node->aten);
  }
  if (left_rank == 1) {
    ETX_TRY(vector_as_matrix(builder, self, true, &self));
  }
  if (right_rank == 1) {
    ETX_TRY(vector_as_matrix(builder, other, false, &other));
  }
  uint32_t value = 0;
  if (left_rank <= 2 && right_rank <= 2) {
    ETX_TRY(etx_build_binary(builder, ETX_OP_mm_out, self, other, &value));
  } else if (right_rank <= 2) {
    ETX_TRY(rows_matmul(builder, self, other, &value));
  } else {
    ETX_TRY(batched_matmul(builder, self, other, &value));
  }
  return drop_vector_dims(builder, value, left_rank == 1, right_rank == 1,
                          out_value);
}

// matmul, and mm, bmm, mv, dot, which are cases of it with ranks checked.
etx_status etx_lowering_matmul(etx_builder* builder) {
  uint32_t operands[2];
  ETX_TRY(
      cast_to_common(builder, &builder->args[0], &builder->args[1], operands));
  return etx_build_matmul(builder, operands[0], operands[1],
                          &builder->results[0]);
}

static bool is_number(const etx_ir_arg* arg, int64_t number) {
  if (arg->kind == ETX_IR_ARG_INT) return arg->as.integer == number;
  return arg->kind == ETX_IR_ARG_DOUBLE && arg->as.real == (double)number;
}

static etx_status scale(etx_builder* builder, uint32_t value,
                        const etx_ir_arg* number, uint32_t* out_value) {
  uint32_t factor = 0;
  if (is_number(number, 1)) {
    *out_value = value;
    return ETX_OK;
  }
  ETX_TRY(etx_build_scalar(builder, number,
                           etx_builder_shape(builder, value)->dtype, &factor));
  return etx_build_binary(builder, ETX_OP_mul_out, value, factor, out_value);
}

// beta * self + alpha * product. If beta is 0, self is ignored, even if it has
// NaN.
static etx_status add_scaled(etx_builder* builder, uint32_t self,
                             uint32_t product, const etx_ir_arg* beta,
                             const etx_ir_arg* alpha) {
  const etx_dtype dtype = etx_builder_shape(builder, product)->dtype;
  if (is_number(beta, 0)) {
    return scale(builder, product, alpha, &builder->results[0]);
  }
  ETX_TRY(scale(builder, self, beta, &self));
  etx_ir_arg args[] = {etx_ir_value_arg(self), etx_ir_value_arg(product),
                       *alpha};
  // For integers, alpha is truncated.
  if (alpha->kind == ETX_IR_ARG_DOUBLE &&
      etx_dtype_category_of(dtype) < ETX_CATEGORY_FLOATING) {
    ETX_TRY(scale(builder, product, alpha, &args[1].as.value));
    args[2] = etx_ir_int(1);
  }
  return etx_build_op(builder, ETX_OP_add_out, args, 3, &builder->results[0]);
}

// baddbmm(self, a, b, beta, alpha)
etx_status etx_lowering_baddbmm(etx_builder* builder) {
  const etx_ir_arg* const args = builder->args;
  uint32_t value = 0;
  ETX_TRY(etx_build_binary(builder, ETX_OP_bmm_out, args[1].as.value,
                           args[2].as.value, &value));
  return add_scaled(builder, args[0].as.value, value, &args[3], &args[4]);
}

// The sum of a[i] @ b[i] over all i, as one product: [N, B, K] viewed as
// [N, B K], times [B K, M].
static etx_status sum_of_products(etx_builder* builder, uint32_t a, uint32_t b,
                                  uint32_t* out_value) {
  static const size_t order[] = {1, 0, 2};
  const etx_shape left = *etx_builder_shape(builder, a);
  const etx_shape right = *etx_builder_shape(builder, b);
  const bool is_batch = left.rank == 3 && right.rank == 3;
  const etx_dim common[] = {is_batch ? left.dims[0] : 0,
                            is_batch ? left.dims[2] : 0};
  if (!is_batch || !etx_builder_same_dims(builder, common, right.dims, 2)) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "'%t' expects batches of matrices of shapes [B, N, K] "
                         "and [B, K, M]",
                         builder->node->aten);
  }
  etx_dim rows[] = {left.dims[1], 0};
  etx_dim columns[] = {0, right.dims[2]};
  ETX_TRY(etx_builder_product(builder, common, 0, 2, &rows[1]));
  columns[0] = rows[1];
  ETX_TRY(etx_build_permute(builder, a, order, &a));
  ETX_TRY(etx_build_view(builder, a, rows, 2, &a));
  ETX_TRY(etx_build_view(builder, b, columns, 2, &b));
  return etx_build_binary(builder, ETX_OP_mm_out, a, b, out_value);
}

// addbmm(self, a, b, beta, alpha)
etx_status etx_lowering_addbmm(etx_builder* builder) {
  const etx_ir_arg* const args = builder->args;
  uint32_t value = 0;
  ETX_TRY(sum_of_products(builder, args[1].as.value, args[2].as.value, &value));
  return add_scaled(builder, args[0].as.value, value, &args[3], &args[4]);
}

// addr(self, column, row, beta, alpha)
etx_status etx_lowering_addr(etx_builder* builder) {
  const etx_ir_arg* const args = builder->args;
  uint32_t value = 0;
  ETX_TRY(vector_as_matrix(builder, args[1].as.value, false, &value));
  ETX_TRY(etx_build_binary(builder, ETX_OP_mul_out, value, args[2].as.value,
                           &value));
  return add_scaled(builder, args[0].as.value, value, &args[3], &args[4]);
}

// addmv(self, mat, vec, beta, alpha)
etx_status etx_lowering_addmv(etx_builder* builder) {
  const etx_ir_arg* const args = builder->args;
  uint32_t value = 0;
  ETX_TRY(
      etx_build_matmul(builder, args[1].as.value, args[2].as.value, &value));
  return add_scaled(builder, args[0].as.value, value, &args[3], &args[4]);
}

// ------------------------------------------------ grouped products

// (self, mat2, offs, bias, out_dtype): groups of rows of self, each with a
// matrix of its own, or one product for each pair of matrices.
etx_status etx_lowering_grouped_mm(etx_builder* builder) {
  const uint32_t self = builder->args[0].as.value;
  const uint32_t mat2 = builder->args[1].as.value;
  const bool has_groups = builder->args[2].kind != ETX_IR_ARG_NONE;
  const uint64_t ranks[2] = {etx_builder_shape(builder, self)->rank,
                             etx_builder_shape(builder, mat2)->rank};
  if (builder->args[3].kind != ETX_IR_ARG_NONE || ranks[1] != 3 ||
      ranks[0] != (has_groups ? 2u : 3u)) {
    return etx_diag_fail(
        builder->diag, ETX_UNSUPPORTED,
        "'%t' is supported without bias, with operands of ranks 2 and 3 and "
        "'offs', or of ranks 3 and 3 without it; found ranks %u and %u",
        builder->node->aten, ranks[0], ranks[1]);
  }
  const etx_op_id op = has_groups ? builder->row->op : ETX_OP_bmm_out;
  return etx_build_op(builder, op, builder->args, has_groups ? 3 : 2,
                      &builder->results[0]);
}
