// Reductions: whole-tensor forms become the form with a list of dims where the
// stock library has only that; variance and norms become sums.

#include "exporter/lower_internal.h"

etx_status etx_lower_reduce(etx_lower* lower, etx_op_id op, uint32_t self,
                            const etx_dim* dims, size_t dim_count, bool keep,
                            uint32_t* out_value) {
  etx_ir_arg args[] = {etx_ir_value_arg(self), etx_ir_none(),
                       etx_ir_bool(keep)};
  ETX_TRY(etx_lower_ints(lower, dims, dim_count, &args[1]));
  return etx_lower_emit(lower, op, args, 3, out_value);
}

// sum and mean: (self, dim, keepdim, dtype). The stock kernels want integers
// and bool cast before they become floats.
etx_status etx_lowering_sum(etx_lower* lower) {
  if (lower->args[1].kind == ETX_IR_ARG_NONE) {
    ETX_TRY(etx_lower_ints(lower, NULL, 0, &lower->args[1]));
  }
  if (lower->args[3].kind == ETX_IR_ARG_DTYPE) {
    uint32_t self = 0;
    ETX_TRY(etx_lower_cast(lower, lower->args[0].as.value,
                           lower->args[3].as.dtype, &self));
    lower->args[0] = etx_ir_value_arg(self);
    lower->args[3] = etx_ir_none();
  }
  return etx_lower_emit(lower, lower->row->op, lower->args, 4,
                        &lower->results[0]);
}

// sum.default and mean.default: (self, dtype)
etx_status etx_lowering_sum_all(etx_lower* lower) {
  lower->args[3] = lower->args[1];
  lower->args[1] = etx_ir_none();
  lower->args[2] = etx_ir_bool(false);
  return etx_lowering_sum(lower);
}

// all(x) is not any(not x): (self), (self, dim, keepdim) or (self, dims, ..)
etx_status etx_lowering_all(etx_lower* lower) {
  uint32_t value = 0;
  ETX_TRY(etx_lower_unary(lower, ETX_OP_logical_not_out,
                          lower->args[0].as.value, &value));
  lower->args[0] = etx_ir_value_arg(value);
  ETX_TRY(etx_lower_emit(lower, lower->row->op, lower->args, lower->arg_count,
                         &value));
  return etx_lower_unary(lower, ETX_OP_logical_not_out, value,
                         &lower->results[0]);
}

// cumsum(self, dim, dtype)
etx_status etx_lowering_cumsum(etx_lower* lower) {
  if (lower->args[2].kind == ETX_IR_ARG_DTYPE) {
    uint32_t self = 0;
    ETX_TRY(etx_lower_cast(lower, lower->args[0].as.value,
                           lower->args[2].as.dtype, &self));
    lower->args[0] = etx_ir_value_arg(self);
    lower->args[2] = etx_ir_none();
  }
  return etx_lower_emit(lower, ETX_OP_cumsum_out, lower->args, 3,
                        &lower->results[0]);
}

// ------------------------------------------------ variance

// Elements under one result.
static etx_status reduced_count(etx_lower* lower, const etx_shape* shape,
                                const etx_dim* dims, size_t dim_count,
                                etx_dim* out) {
  etx_dim count = 1;
  if (dim_count == 0) {
    return etx_lower_product(lower, shape->dims, 0, shape->rank, out);
  }
  for (size_t i = 0; i < dim_count; ++i) {
    size_t axis = 0;
    ETX_TRY(etx_lower_axis(lower, dims[i], shape->rank, &axis));
    if (shape->rank == 0) continue;
    ETX_TRY(etx_symbols_apply(&lower->method->symbols, ETX_SYMBOL_MULTIPLY,
                              count, shape->dims[axis], &count));
  }
  *out = count;
  return ETX_OK;
}

// sum((x - mean)^2) / max(n - correction, 0)
static etx_status variance(etx_lower* lower, uint32_t self, const etx_dim* dims,
                           size_t dim_count, double correction, bool keep,
                           uint32_t* out_value) {
  const etx_shape shape = *etx_lower_shape(lower, self);
  etx_dim count = 0;
  uint32_t value = 0;
  ETX_TRY(reduced_count(lower, &shape, dims, dim_count, &count));
  if (!etx_dim_is_number(count) || (double)count <= correction) {
    return etx_diag_fail(lower->diag, ETX_UNSUPPORTED,
                         "'%t' over a count of elements that varies or is too "
                         "small",
                         lower->node->aten);
  }
  ETX_TRY(etx_lower_reduce(lower, ETX_OP_mean_out, self, dims, dim_count, true,
                           &value));
  ETX_TRY(etx_lower_binary(lower, ETX_OP_sub_out, self, value, &value));
  ETX_TRY(etx_lower_binary(lower, ETX_OP_mul_out, value, value, &value));
  ETX_TRY(etx_lower_reduce(lower, ETX_OP_sum_intlist_out, value, dims,
                           dim_count, keep, &value));
  return etx_lower_with_constant(lower, ETX_OP_div_out, value,
                                 (double)count - correction, out_value);
}

static etx_status read_dims(etx_lower* lower, const etx_ir_arg* arg,
                            etx_dim dims[ETX_MAX_RANK], size_t* out_count) {
  *out_count = 0;
  if (arg->kind != ETX_IR_ARG_LIST) return ETX_OK;
  if (arg->as.list.count > ETX_MAX_RANK) {
    return etx_diag_fail(lower->diag, ETX_BAD_ARGUMENT,
                         "a tensor has at most %i dimensions",
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

// var.correction, var.dim, std.correction, std.dim: (self, dim, correction or
// unbiased, keepdim); those of std have sqrt_out as their operator.
etx_status etx_lowering_variance(etx_lower* lower) {
  etx_dim dims[ETX_MAX_RANK];
  size_t count = 0;
  uint32_t value = 0;
  ETX_TRY(read_dims(lower, &lower->args[1], dims, &count));
  ETX_TRY(variance(lower, lower->args[0].as.value, dims, count,
                   correction_of(&lower->args[2]), lower->args[3].as.boolean,
                   &value));
  if (lower->row->op == ETX_OP_sqrt_out) {
    ETX_TRY(etx_lower_unary(lower, ETX_OP_sqrt_out, value, &value));
  }
  lower->results[0] = value;
  return ETX_OK;
}

// var_mean.correction: two results.
etx_status etx_lowering_variance_and_mean(etx_lower* lower) {
  etx_dim dims[ETX_MAX_RANK];
  size_t count = 0;
  ETX_TRY(read_dims(lower, &lower->args[1], dims, &count));
  ETX_TRY(etx_lowering_variance(lower));
  if (lower->node->output_count < 2) return ETX_OK;
  return etx_lower_reduce(lower, ETX_OP_mean_out, lower->args[0].as.value, dims,
                          count, lower->args[3].as.boolean, &lower->results[1]);
}

// linalg_vector_norm(self, ord, dim, keepdim, dtype) for orders 1, 2 and inf.
etx_status etx_lowering_vector_norm(etx_lower* lower) {
  const double order = correction_of(&lower->args[1]);
  const bool keep = lower->args[3].as.boolean;
  etx_dim dims[ETX_MAX_RANK];
  size_t count = 0;
  uint32_t value = lower->args[0].as.value;
  ETX_TRY(read_dims(lower, &lower->args[2], dims, &count));
  if (lower->args[4].kind == ETX_IR_ARG_DTYPE) {
    ETX_TRY(etx_lower_cast(lower, value, lower->args[4].as.dtype, &value));
  }
  if (order == 2.0) {
    ETX_TRY(etx_lower_binary(lower, ETX_OP_mul_out, value, value, &value));
    ETX_TRY(etx_lower_reduce(lower, ETX_OP_sum_intlist_out, value, dims, count,
                             keep, &value));
    return etx_lower_unary(lower, ETX_OP_sqrt_out, value, &lower->results[0]);
  }
  const bool is_one = order == 1.0;
  if (!is_one && !(order > 1e308)) {
    return etx_diag_fail(lower->diag, ETX_UNSUPPORTED,
                         "'%t' of order %f, expected 1, 2 or infinity",
                         lower->node->aten, order);
  }
  ETX_TRY(etx_lower_unary(lower, ETX_OP_abs_out, value, &value));
  return etx_lower_reduce(lower,
                          is_one ? ETX_OP_sum_intlist_out : ETX_OP_amax_out,
                          value, dims, count, keep, &lower->results[0]);
}

// logsumexp(self, dim, keepdim): max + log(sum(exp(x - max)))
etx_status etx_lowering_logsumexp(etx_lower* lower) {
  const uint32_t self = lower->args[0].as.value;
  etx_dim dims[ETX_MAX_RANK];
  size_t count = 0;
  uint32_t top = 0;
  uint32_t value = 0;
  ETX_TRY(read_dims(lower, &lower->args[1], dims, &count));
  ETX_TRY(
      etx_lower_reduce(lower, ETX_OP_amax_out, self, dims, count, true, &top));
  ETX_TRY(etx_lower_binary(lower, ETX_OP_sub_out, self, top, &value));
  ETX_TRY(etx_lower_unary(lower, ETX_OP_exp_out, value, &value));
  ETX_TRY(etx_lower_reduce(lower, ETX_OP_sum_intlist_out, value, dims, count,
                           true, &value));
  ETX_TRY(etx_lower_unary(lower, ETX_OP_log_out, value, &value));
  ETX_TRY(etx_lower_binary(lower, ETX_OP_add_out, value, top, &value));
  if (!lower->args[2].as.boolean) {
    ETX_TRY(etx_lower_reduce(lower, ETX_OP_amax_out, value, dims, count, false,
                             &value));
  }
  lower->results[0] = value;
  return ETX_OK;
}

// var.default, std.default: (self, unbiased) over everything.
etx_status etx_lowering_variance_all(etx_lower* lower) {
  lower->args[2] = lower->args[1];
  lower->args[1] = etx_ir_none();
  lower->args[3] = etx_ir_bool(false);
  return etx_lowering_variance(lower);
}

// norm.ScalarOpt_dim(self, p, dim, keepdim); p None is 2.
etx_status etx_lowering_norm(etx_lower* lower) {
  if (lower->args[1].kind == ETX_IR_ARG_NONE) {
    lower->args[1] = etx_ir_double(2.0);
  }
  lower->args[4] = etx_ir_none();
  return etx_lowering_vector_norm(lower);
}

// norm.Scalar(self, p)
etx_status etx_lowering_norm_all(etx_lower* lower) {
  lower->args[2] = etx_ir_none();
  lower->args[3] = etx_ir_bool(false);
  return etx_lowering_norm(lower);
}

// _weight_norm(v, g, dim): v * (g / norm of v over all other dimensions).
etx_status etx_lowering_weight_norm(etx_lower* lower) {
  const uint32_t v = lower->args[0].as.value;
  const size_t rank = etx_lower_shape(lower, v)->rank;
  size_t axis = 0;
  etx_dim dims[ETX_MAX_RANK];
  size_t count = 0;
  ETX_TRY(etx_lower_axis(lower, lower->args[2].as.integer, rank, &axis));
  for (size_t i = 0; i < rank; ++i) {
    if (i != axis) dims[count++] = (etx_dim)i;
  }
  uint32_t value = 0;
  ETX_TRY(etx_lower_binary(lower, ETX_OP_mul_out, v, v, &value));
  if (count != 0) {
    ETX_TRY(etx_lower_reduce(lower, ETX_OP_sum_intlist_out, value, dims, count,
                             true, &value));
  }
  ETX_TRY(etx_lower_unary(lower, ETX_OP_sqrt_out, value, &value));
  ETX_TRY(etx_lower_binary(lower, ETX_OP_div_out, lower->args[1].as.value,
                           value, &value));
  return etx_lower_binary(lower, ETX_OP_mul_out, v, value, &lower->results[0]);
}
