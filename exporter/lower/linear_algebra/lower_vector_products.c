// cosine_similarity, vecdot, tensordot, inner and cross.

#include "exporter/lower/builder/lowering_functions.h"

// The first two arguments in their common dtype, or in float32 if that is no
// floating-point dtype and `floating`.
static etx_status read_pair(etx_builder* builder, bool floating,
                            uint32_t out[2]) {
  etx_dtype dtype;
  ETX_TRY(etx_builder_result_type(builder, builder->args, 2, &dtype));
  if (floating && etx_dtype_category_of(dtype) < ETX_CATEGORY_FLOATING) {
    dtype = ETX_DTYPE_FLOAT32;
  }
  for (size_t i = 0; i < 2; ++i) {
    ETX_TRY(etx_build_operand(builder, &builder->args[i], dtype, &out[i]));
  }
  return ETX_OK;
}

// Divides vectors along `dim` by their length, or by `least` if that is more.
static etx_status normalize(etx_builder* builder, etx_dim dim, double least,
                            uint32_t* value) {
  uint32_t length = 0;
  ETX_TRY(etx_build_binary(builder, ETX_OP_mul_out, *value, *value, &length));
  ETX_TRY(etx_build_reduce(builder, ETX_OP_sum_intlist_out, length,
                           (etx_reduced_dims){&dim, 1, true}, &length));
  ETX_TRY(etx_build_unary(builder, ETX_OP_sqrt_out, length, &length));
  ETX_TRY(etx_build_binary_constant(builder, ETX_OP_maximum_out, length, least,
                                    &length));
  return etx_build_binary(builder, ETX_OP_div_out, *value, length, value);
}

// cosine_similarity(x1, x2, dim, eps)
etx_status etx_lowering_cosine_similarity(etx_builder* builder) {
  const etx_dim dim = builder->args[2].as.integer;
  uint32_t pair[2];
  uint32_t product = 0;
  ETX_TRY(read_pair(builder, true, pair));
  // `dim` is a dimension of the broadcast shape.
  const etx_shape shapes[] = {*etx_builder_shape(builder, pair[0]),
                              *etx_builder_shape(builder, pair[1])};
  etx_shape both;
  ETX_TRY(etx_builder_broadcast(builder, &shapes[0], &shapes[1], &both));
  for (size_t i = 0; i < 2; ++i) {
    ETX_TRY(etx_build_expand(builder, pair[i], both.dims, both.rank, &pair[i]));
    ETX_TRY(normalize(builder, dim, builder->args[3].as.real, &pair[i]));
  }
  ETX_TRY(
      etx_build_binary(builder, ETX_OP_mul_out, pair[0], pair[1], &product));
  return etx_build_reduce(builder, ETX_OP_sum_intlist_out, product,
                          (etx_reduced_dims){&dim, 1, false},
                          &builder->results[0]);
}

// linalg_vecdot(x, y, dim): the sum of the products.
etx_status etx_lowering_vecdot(etx_builder* builder) {
  const etx_dim dim = builder->args[2].as.integer;
  uint32_t pair[2];
  uint32_t product = 0;
  ETX_TRY(read_pair(builder, false, pair));
  ETX_TRY(
      etx_build_binary(builder, ETX_OP_mul_out, pair[0], pair[1], &product));
  return etx_build_reduce(builder, ETX_OP_sum_intlist_out, product,
                          (etx_reduced_dims){&dim, 1, false},
                          &builder->results[0]);
}

// Views an argument as a matrix: the dimensions in `list`, in its order, become
// the columns of the left operand or the rows of the right one. Appends the
// sizes of the other dimensions to `kept`.
static etx_status as_matrix(etx_builder* builder, const etx_ir_arg* list,
                            bool is_left, uint32_t* value, etx_shape* kept) {
  const etx_shape shape = *etx_builder_shape(builder, *value);
  const size_t summed = list->as.list.count;
  size_t order[ETX_MAX_RANK];
  etx_dim dims[ETX_MAX_RANK];
  bool is_summed[ETX_MAX_RANK] = {false};
  const size_t kept_count = shape.rank - summed;
  if (summed > shape.rank || kept->rank + kept_count > ETX_MAX_RANK) {
    return etx_diag_fail(
        builder->diag, ETX_BAD_ARGUMENT,
        "'%t' contracts more dimensions than its operands have",
        builder->node->aten);
  }
  for (size_t i = 0; i < summed; ++i) {
    size_t* const axis = &order[is_left ? kept_count + i : i];
    ETX_TRY(etx_builder_axis(builder, list->as.list.items[i].as.integer,
                             shape.rank, axis));
    if (is_summed[*axis]) {
      return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                           "'%t' contracts a dimension twice",
                           builder->node->aten);
    }
    is_summed[*axis] = true;
  }
  size_t at = is_left ? 0 : summed;
  for (size_t i = 0; i < shape.rank; ++i) {
    if (is_summed[i]) continue;
    order[at++] = i;
    kept->dims[kept->rank++] = shape.dims[i];
  }
  for (size_t i = 0; i < shape.rank; ++i) dims[i] = shape.dims[order[i]];
  const size_t middle = is_left ? kept_count : summed;
  etx_dim flat[2];
  ETX_TRY(etx_builder_product(builder, dims, 0, middle, &flat[0]));
  ETX_TRY(etx_builder_product(builder, dims, middle, shape.rank, &flat[1]));
  ETX_TRY(etx_build_permute(builder, *value, order, value));
  return etx_build_view(builder, *value, flat, 2, value);
}

static etx_status contract(etx_builder* builder, const etx_ir_arg* left,
                           const etx_ir_arg* right) {
  uint32_t pair[2];
  uint32_t product = 0;
  etx_shape kept = {.rank = 0};
  ETX_TRY(read_pair(builder, false, pair));
  ETX_TRY(as_matrix(builder, left, true, &pair[0], &kept));
  ETX_TRY(as_matrix(builder, right, false, &pair[1], &kept));
  ETX_TRY(etx_build_matmul(builder, pair[0], pair[1], &product));
  return etx_build_view(builder, product, kept.dims, kept.rank,
                        &builder->results[0]);
}

// tensordot(self, other, dims_self, dims_other)
etx_status etx_lowering_tensordot(etx_builder* builder) {
  return contract(builder, &builder->args[2], &builder->args[3]);
}

// inner(self, other): contracts the last dimension of both; a product if one
// has rank 0.
etx_status etx_lowering_inner(etx_builder* builder) {
  uint32_t pair[2];
  etx_ir_arg last = etx_ir_int(-1);
  const etx_ir_arg list = etx_ir_list(&last, 1);
  ETX_TRY(read_pair(builder, false, pair));
  if (etx_builder_shape(builder, pair[0])->rank == 0 ||
      etx_builder_shape(builder, pair[1])->rank == 0) {
    return etx_build_binary(builder, ETX_OP_mul_out, pair[0], pair[1],
                            &builder->results[0]);
  }
  return contract(builder, &list, &list);
}

// The cross product by rolls along `axis`: roll(a, -1) roll(b, -2) - roll(a,
// -2) roll(b, -1).
static etx_status cross_product(etx_builder* builder, const uint32_t pair[2],
                                size_t axis, uint32_t* out) {
  uint32_t parts[2];
  const etx_dim shifts[] = {-1, -2};
  for (size_t i = 0; i < 2; ++i) {
    uint32_t moved[2];
    for (size_t k = 0; k < 2; ++k) {
      const etx_dim dim = (etx_dim)axis;
      etx_ir_arg args[] = {etx_ir_value_arg(pair[k]), etx_ir_none(),
                           etx_ir_none()};
      ETX_TRY(
          etx_build_int_list(builder, &shifts[i == k ? 0 : 1], 1, &args[1]));
      ETX_TRY(etx_build_int_list(builder, &dim, 1, &args[2]));
      ETX_TRY(etx_build_op(builder, ETX_OP_roll_out, args, 3, &moved[k]));
    }
    ETX_TRY(etx_build_binary(builder, ETX_OP_mul_out, moved[0], moved[1],
                             &parts[i]));
  }
  return etx_build_binary(builder, ETX_OP_sub_out, parts[0], parts[1], out);
}

// The default dimension of cross: the first one of size 3.
static etx_dim first_of_three(const etx_shape* shape) {
  for (size_t i = 0; i < shape->rank; ++i) {
    if (shape->dims[i] == 3) return (etx_dim)i;
  }
  return 0;
}

// cross and linalg_cross: (self, other, dim)
etx_status etx_lowering_cross(etx_builder* builder) {
  uint32_t pair[2];
  size_t axis = 0;
  ETX_TRY(read_pair(builder, false, pair));
  const etx_shape shapes[] = {*etx_builder_shape(builder, pair[0]),
                              *etx_builder_shape(builder, pair[1])};
  etx_shape both;
  ETX_TRY(etx_builder_broadcast(builder, &shapes[0], &shapes[1], &both));
  const etx_ir_arg* const dim = &builder->args[2];
  ETX_TRY(etx_builder_axis(
      builder,
      dim->kind == ETX_IR_ARG_NONE ? first_of_three(&both) : dim->as.integer,
      both.rank, &axis));
  if (both.rank == 0 || both.dims[axis] != 3) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "'%t' expects a dimension of size 3",
                         builder->node->aten);
  }
  for (size_t i = 0; i < 2; ++i) {
    ETX_TRY(etx_build_expand(builder, pair[i], both.dims, both.rank, &pair[i]));
  }
  return cross_product(builder, pair, axis, &builder->results[0]);
}
