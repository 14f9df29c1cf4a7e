// Reductions. Forms over the whole tensor become the form with a list of
// dimensions, if ExecuTorch's portable library has only that; norms become
// sums.

#include <math.h>

#include "exporter/lower/builder/lowering_functions.h"
#include "format/tensor/dtype_limits.h"

// Appends the row's operator, whose last argument is a dtype. The operand is
// cast to it first, as ExecuTorch's portable kernels require. All kernels sum
// integers in int64, so the result is cast too: the low bits are those of a sum
// in the smaller dtype.
static etx_status reduce_as(etx_builder* builder, size_t arg_count) {
  etx_ir_arg* const given = &builder->args[arg_count - 1];
  const etx_ir_arg dtype = *given;
  uint32_t value = builder->args[0].as.value;
  if (dtype.kind != ETX_IR_ARG_DTYPE) {
    return etx_build_op(builder, builder->row->op, builder->args, arg_count,
                        &builder->results[0]);
  }
  ETX_TRY(etx_build_cast(builder, value, dtype.as.dtype, &value));
  builder->args[0] = etx_ir_value_arg(value);
  *given = etx_ir_none();
  ETX_TRY(etx_build_op(builder, builder->row->op, builder->args, arg_count,
                       &value));
  return etx_build_cast(builder, value, dtype.as.dtype, &builder->results[0]);
}

// sum and mean: (self, dim, keepdim, dtype)
etx_status etx_lowering_sum(etx_builder* builder) {
  if (builder->args[1].kind == ETX_IR_ARG_NONE) {
    ETX_TRY(etx_build_int_list(builder, NULL, 0, &builder->args[1]));
  }
  return reduce_as(builder, 4);
}

// sum.default and mean.default: (self, dtype)
etx_status etx_lowering_sum_all(etx_builder* builder) {
  builder->args[3] = builder->args[1];
  builder->args[1] = etx_ir_none();
  builder->args[2] = etx_ir_bool(false);
  return etx_lowering_sum(builder);
}

// all(x) = not any(not x): (self), (self, dim, keepdim) or (self, dims, ..)
etx_status etx_lowering_all(etx_builder* builder) {
  uint32_t value = 0;
  ETX_TRY(etx_build_unary(builder, ETX_OP_logical_not_out,
                          builder->args[0].as.value, &value));
  builder->args[0] = etx_ir_value_arg(value);
  ETX_TRY(etx_build_op(builder, builder->row->op, builder->args,
                       builder->arg_count, &value));
  return etx_build_unary(builder, ETX_OP_logical_not_out, value,
                         &builder->results[0]);
}

// aminmax(self, dim, keepdim): both extremes, over everything for None.
etx_status etx_lowering_aminmax(etx_builder* builder) {
  const uint32_t self = builder->args[0].as.value;
  const bool is_all = builder->args[1].kind == ETX_IR_ARG_NONE;
  const bool keep = builder->args[2].as.boolean;
  const etx_dim dims[] = {is_all ? 0 : builder->args[1].as.integer};
  const size_t count = is_all ? 0 : 1;
  ETX_TRY(etx_build_reduce(builder, ETX_OP_amin_out, self,
                           (etx_reduced_dims){dims, count, keep},
                           &builder->results[0]));
  return etx_build_reduce(builder, ETX_OP_amax_out, self,
                          (etx_reduced_dims){dims, count, keep},
                          &builder->results[1]);
}

// cumsum(self, dim, dtype) and cumprod.
etx_status etx_lowering_cumulative(etx_builder* builder) {
  return reduce_as(builder, 3);
}

static etx_status read_dims(etx_builder* builder, const etx_ir_arg* arg,
                            etx_dim dims[ETX_MAX_RANK], size_t* out_count) {
  *out_count = 0;
  if (arg->kind != ETX_IR_ARG_LIST) return ETX_OK;
  if (arg->as.list.count > ETX_MAX_RANK) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "tensors of more than %i dimensions are not supported",
                         (int64_t)ETX_MAX_RANK);
  }
  for (size_t i = 0; i < arg->as.list.count; ++i) {
    dims[i] = arg->as.list.items[i].as.integer;
  }
  *out_count = arg->as.list.count;
  return ETX_OK;
}

static double correction_of(const etx_ir_arg* arg) {
  if (arg->kind == ETX_IR_ARG_INT) return (double)arg->as.integer;
  if (arg->kind == ETX_IR_ARG_DOUBLE) return arg->as.real;
  if (arg->kind == ETX_IR_ARG_BOOL) return arg->as.boolean ? 1.0 : 0.0;
  return 1.0;
}

// The sum of |x|^order, to the power of 1 / order.
static etx_status power_norm(etx_builder* builder, uint32_t value, double order,
                             const etx_dim* dims, size_t count, bool keep) {
  ETX_TRY(etx_build_unary(builder, ETX_OP_abs_out, value, &value));
  ETX_TRY(etx_build_binary_number(builder, ETX_OP_pow_tensor_scalar_out, value,
                                  order, &value));
  ETX_TRY(etx_build_reduce(builder, ETX_OP_sum_intlist_out, value,
                           (etx_reduced_dims){dims, count, keep}, &value));
  return etx_build_binary_number(builder, ETX_OP_pow_tensor_scalar_out, value,
                                 1.0 / order, &builder->results[0]);
}

// linalg_vector_norm(self, ord, dim, keepdim, dtype); order 0 counts the
// elements that are not 0.
etx_status etx_lowering_vector_norm(etx_builder* builder) {
  const double order = correction_of(&builder->args[1]);
  const bool keep = builder->args[3].as.boolean;
  etx_dim dims[ETX_MAX_RANK];
  size_t count = 0;
  uint32_t value = builder->args[0].as.value;
  ETX_TRY(read_dims(builder, &builder->args[2], dims, &count));
  if (builder->args[4].kind == ETX_IR_ARG_DTYPE) {
    ETX_TRY(etx_build_cast(builder, value, builder->args[4].as.dtype, &value));
  }
  const etx_dtype dtype = etx_builder_shape(builder, value)->dtype;
  etx_op_id op = ETX_OP_sum_intlist_out;
  if (order == 2.0) {
    ETX_TRY(etx_build_binary(builder, ETX_OP_mul_out, value, value, &value));
    ETX_TRY(etx_build_reduce(builder, op, value,
                             (etx_reduced_dims){dims, count, keep}, &value));
    return etx_build_unary(builder, ETX_OP_sqrt_out, value,
                           &builder->results[0]);
  }
  if (order == 0.0) {
    ETX_TRY(etx_build_binary_number(builder, ETX_OP_ne_scalar_out, value, 0.0,
                                    &value));
    ETX_TRY(etx_build_cast(builder, value, dtype, &value));
  } else if (isinf(order)) {
    op = order > 0.0 ? ETX_OP_amax_out : ETX_OP_amin_out;
    ETX_TRY(etx_build_unary(builder, ETX_OP_abs_out, value, &value));
  } else if (order == 1.0) {
    ETX_TRY(etx_build_unary(builder, ETX_OP_abs_out, value, &value));
  } else {
    return power_norm(builder, value, order, dims, count, keep);
  }
  return etx_build_reduce(builder, op, value,
                          (etx_reduced_dims){dims, count, keep},
                          &builder->results[0]);
}

// logsumexp(self, dim, keepdim): max + log(sum(exp(x - max))). An infinite max
// is clamped to the largest float, because inf - inf is NaN.
etx_status etx_lowering_logsumexp(etx_builder* builder) {
  const uint32_t self = builder->args[0].as.value;
  etx_dim dims[ETX_MAX_RANK];
  size_t count = 0;
  uint32_t top = 0;
  uint32_t value = 0;
  ETX_TRY(read_dims(builder, &builder->args[1], dims, &count));
  ETX_TRY(etx_build_reduce(builder, ETX_OP_amax_out, self,
                           (etx_reduced_dims){dims, count, true}, &top));
  const etx_dtype dtype = etx_builder_shape(builder, top)->dtype;
  if (etx_dtype_category_of(dtype) == ETX_CATEGORY_FLOATING) {
    const double largest = etx_dtype_max(dtype);
    const etx_ir_arg finite[] = {etx_ir_value_arg(top), etx_ir_double(-largest),
                                 etx_ir_double(largest)};
    ETX_TRY(etx_build_op(builder, ETX_OP_clamp_out, finite, 3, &top));
  }
  ETX_TRY(etx_build_binary(builder, ETX_OP_sub_out, self, top, &value));
  ETX_TRY(etx_build_unary(builder, ETX_OP_exp_out, value, &value));
  ETX_TRY(etx_build_reduce(builder, ETX_OP_sum_intlist_out, value,
                           (etx_reduced_dims){dims, count, true}, &value));
  ETX_TRY(etx_build_unary(builder, ETX_OP_log_out, value, &value));
  ETX_TRY(etx_build_binary(builder, ETX_OP_add_out, value, top, &value));
  if (!builder->args[2].as.boolean) {
    ETX_TRY(etx_build_reduce(builder, ETX_OP_amax_out, value,
                             (etx_reduced_dims){dims, count, false}, &value));
  }
  builder->results[0] = value;
  return ETX_OK;
}

// log(exp(a) + exp(b)) = max(a, b) + log1p(exp(-|a - b|)). Where a equals b,
// the difference is 0, also for infinities.
etx_status etx_build_logaddexp(etx_builder* builder, uint32_t a, uint32_t b,
                               uint32_t* out_value) {
  const etx_ir_arg zero = etx_ir_double(0.0);
  uint32_t value = 0, most = 0, test = 0, none = 0;
  ETX_TRY(etx_build_binary(builder, ETX_OP_maximum_out, a, b, &most));
  ETX_TRY(etx_build_binary(builder, ETX_OP_sub_out, a, b, &value));
  ETX_TRY(etx_build_binary(builder, ETX_OP_eq_tensor_out, a, b, &test));
  ETX_TRY(etx_build_scalar(builder, &zero,
                           etx_builder_shape(builder, value)->dtype, &none));
  ETX_TRY(etx_build_where(builder, test, none, value, &value));
  ETX_TRY(etx_build_unary(builder, ETX_OP_abs_out, value, &value));
  ETX_TRY(etx_build_unary(builder, ETX_OP_neg_out, value, &value));
  ETX_TRY(etx_build_unary(builder, ETX_OP_exp_out, value, &value));
  ETX_TRY(etx_build_unary(builder, ETX_OP_log1p_out, value, &value));
  return etx_build_binary(builder, ETX_OP_add_out, most, value, out_value);
}

etx_status etx_lowering_logaddexp(etx_builder* builder) {
  etx_dtype dtype;
  uint32_t pair[2];
  ETX_TRY(etx_builder_result_type(builder, builder->args, 2, &dtype));
  for (size_t i = 0; i < 2; ++i) {
    ETX_TRY(etx_build_operand(builder, &builder->args[i], dtype, &pair[i]));
  }
  return etx_build_logaddexp(builder, pair[0], pair[1], &builder->results[0]);
}

// norm.ScalarOpt_dim(self, p, dim, keepdim); p None is 2.
etx_status etx_lowering_norm(etx_builder* builder) {
  if (builder->args[1].kind == ETX_IR_ARG_NONE) {
    builder->args[1] = etx_ir_double(2.0);
  }
  builder->args[4] = etx_ir_none();
  return etx_lowering_vector_norm(builder);
}

// linalg_norm(self, ord, dim, keepdim, dtype): with `ord`, two dimensions mean
// a matrix norm.
etx_status etx_lowering_linalg_norm(etx_builder* builder) {
  const etx_ir_arg* const dim = &builder->args[2];
  const size_t count =
      dim->kind == ETX_IR_ARG_NONE
          ? etx_builder_shape(builder, builder->args[0].as.value)->rank
          : dim->as.list.count;
  if (builder->args[1].kind == ETX_IR_ARG_NONE) {
    builder->args[1] = etx_ir_double(2.0);
  } else if (count > 1) {
    return etx_diag_fail(builder->diag, ETX_UNSUPPORTED,
                         "matrix norms with 'ord' are not supported");
  }
  return etx_lowering_vector_norm(builder);
}

// norm.Scalar(self, p)
etx_status etx_lowering_norm_all(etx_builder* builder) {
  builder->args[2] = etx_ir_none();
  builder->args[3] = etx_ir_bool(false);
  return etx_lowering_norm(builder);
}

// dist(self, other, p): the norm of the difference.
etx_status etx_lowering_dist(etx_builder* builder) {
  const double order = correction_of(&builder->args[2]);
  uint32_t value = 0;
  etx_dtype dtype;
  uint32_t pair[2];
  ETX_TRY(etx_builder_result_type(builder, builder->args, 2, &dtype));
  for (size_t i = 0; i < 2; ++i) {
    ETX_TRY(etx_build_operand(builder, &builder->args[i], dtype, &pair[i]));
  }
  ETX_TRY(etx_build_binary(builder, ETX_OP_sub_out, pair[0], pair[1], &value));
  builder->args[0] = etx_ir_value_arg(value);
  builder->args[1] = etx_ir_double(order);
  return etx_lowering_norm_all(builder);
}

// _weight_norm(v, g, dim): v * (g / norm of v over all other dimensions).
etx_status etx_lowering_weight_norm(etx_builder* builder) {
  const uint32_t v = builder->args[0].as.value;
  const size_t rank = etx_builder_shape(builder, v)->rank;
  size_t axis = 0;
  etx_dim dims[ETX_MAX_RANK];
  size_t count = 0;
  ETX_TRY(etx_builder_axis(builder, builder->args[2].as.integer, rank, &axis));
  for (size_t i = 0; i < rank; ++i) {
    if (i != axis) dims[count++] = (etx_dim)i;
  }
  uint32_t value = 0;
  ETX_TRY(etx_build_binary(builder, ETX_OP_mul_out, v, v, &value));
  if (count != 0) {
    ETX_TRY(etx_build_reduce(builder, ETX_OP_sum_intlist_out, value,
                             (etx_reduced_dims){dims, count, true}, &value));
  }
  ETX_TRY(etx_build_unary(builder, ETX_OP_sqrt_out, value, &value));
  ETX_TRY(etx_build_binary(builder, ETX_OP_div_out, builder->args[1].as.value,
                           value, &value));
  return etx_build_binary(builder, ETX_OP_mul_out, v, value,
                          &builder->results[0]);
}

// ------------------------------------------------ counts

// count_nonzero(self, dim)
etx_status etx_lowering_count_nonzero(etx_builder* builder) {
  uint32_t value = 0;
  const etx_dim dim = builder->args[1].as.integer;
  const size_t count = builder->args[1].kind == ETX_IR_ARG_INT ? 1 : 0;
  ETX_TRY(etx_build_binary_number(builder, ETX_OP_ne_scalar_out,
                                  builder->args[0].as.value, 0.0, &value));
  ETX_TRY(etx_build_cast(builder, value, ETX_DTYPE_INT64, &value));
  return etx_build_reduce(builder, ETX_OP_sum_intlist_out, value,
                          (etx_reduced_dims){&dim, count, false},
                          &builder->results[0]);
}
