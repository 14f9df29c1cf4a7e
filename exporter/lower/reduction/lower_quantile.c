// quantile and nanquantile: elements at fractional ranks of the sorted tensor.
// As in PyTorch 2.14, ranks are computed in float64, whatever the dtype of the
// tensor is; PyTorch 2.13 computes them in that dtype.

#include "exporter/lower/builder/lowering_functions.h"

typedef struct quantile_call {
  uint32_t self;  // has at least one dimension
  uint32_t q;     // [1, .., Q, .., 1] with Q at `axis`; Q is 1 for a number
  size_t axis;
  etx_dim size;  // of that dimension
  bool ignores_nan;
} quantile_call;

static bool is_method(const etx_builder* builder, const char* name) {
  return etx_text_is(builder->args[4].as.string, name);
}

static etx_status check_arguments(etx_builder* builder) {
  static const char* const methods[] = {"linear", "lower", "higher", "midpoint",
                                        "nearest"};
  const etx_ir_arg* const q = &builder->args[1];
  bool is_known = false;
  for (size_t i = 0; i < sizeof methods / sizeof methods[0]; ++i) {
    is_known = is_known || is_method(builder, methods[i]);
  }
  if (!is_known) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "'interpolation' is '%t', expected 'linear', 'lower', "
                         "'higher', 'midpoint' or 'nearest'",
                         builder->args[4].as.string);
  }
  if (q->kind == ETX_IR_ARG_DOUBLE && !(q->as.real >= 0 && q->as.real <= 1)) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "'q' is %f, expected a number from 0 to 1",
                         q->as.real);
  }
  return ETX_OK;
}

// The tensor with the dimension of the quantiles. Without `dim`, all elements
// are one dimension.
static etx_status read_self(etx_builder* builder, quantile_call* call) {
  const etx_ir_arg* const dim = &builder->args[2];
  const etx_shape shape = *etx_builder_shape(builder, call->self);
  etx_dim count = 0;
  ETX_TRY(etx_builder_product(builder, shape.dims, 0, shape.rank, &count));
  ETX_TRY(etx_build_at_least(builder, count, 1, "the tensor has elements"));
  if (dim->kind == ETX_IR_ARG_INT) {
    ETX_TRY(
        etx_builder_axis(builder, dim->as.integer, shape.rank, &call->axis));
  }
  if (dim->kind != ETX_IR_ARG_INT || shape.rank == 0) {
    ETX_TRY(etx_build_view(builder, call->self, &count, 1, &call->self));
  }
  call->size = etx_builder_shape(builder, call->self)->dims[call->axis];
  return ETX_OK;
}

static etx_status read_q(etx_builder* builder, quantile_call* call) {
  const etx_shape shape = *etx_builder_shape(builder, call->self);
  etx_dim dims[ETX_MAX_RANK];
  ETX_TRY(etx_build_operand(builder, &builder->args[1], shape.dtype, &call->q));
  const etx_shape given = *etx_builder_shape(builder, call->q);
  if (given.rank > 1) {
    return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                         "'q' has %u dimensions, expected 0 or 1",
                         (uint64_t)given.rank);
  }
  for (size_t i = 0; i < shape.rank; ++i) dims[i] = 1;
  if (given.rank == 1) dims[call->axis] = given.dims[0];
  ETX_TRY(etx_build_cast(builder, call->q, ETX_DTYPE_FLOAT64, &call->q));
  return etx_build_view(builder, call->q, dims, shape.rank, &call->q);
}

// ------------------------------------------------ ranks

// q * (number of numbers - 1), where that is not negative.
static etx_status ranks_of_numbers(etx_builder* builder,
                                   const quantile_call* call, uint32_t is_nan,
                                   uint32_t* out_ranks) {
  const etx_dim dims[] = {(etx_dim)call->axis};
  uint32_t value = 0;
  ETX_TRY(etx_build_unary(builder, ETX_OP_logical_not_out, is_nan, &value));
  ETX_TRY(etx_build_cast(builder, value, ETX_DTYPE_INT64, &value));
  ETX_TRY(etx_build_reduce(builder, ETX_OP_sum_intlist_out, value,
                           (etx_reduced_dims){dims, 1, true}, &value));
  ETX_TRY(etx_build_cast(builder, value, ETX_DTYPE_FLOAT64, &value));
  ETX_TRY(
      etx_build_binary_constant(builder, ETX_OP_sub_out, value, 1.0, &value));
  ETX_TRY(etx_build_binary_constant(builder, ETX_OP_maximum_out, value, 0.0,
                                    &value));
  return etx_build_binary(builder, ETX_OP_mul_out, value, call->q, out_ranks);
}

// q * (size - 1), or size - 1, where NaN are sorted to, if there is a NaN.
static etx_status ranks_before_nan(etx_builder* builder,
                                   const quantile_call* call, uint32_t is_nan,
                                   uint32_t* out_ranks) {
  etx_ir_arg last = etx_ir_int(0);
  const etx_ir_arg any[] = {etx_ir_value_arg(is_nan),
                            etx_ir_int((etx_dim)call->axis), etx_ir_bool(true)};
  uint32_t has_nan = 0, most = 0, value = 0;
  ETX_TRY(etx_symbols_apply(&builder->method->symbols, ETX_SYMBOL_SUBTRACT,
                            call->size, 1, &last.as.integer));
  ETX_TRY(etx_build_op(builder, ETX_OP_any_out, any, 3, &has_nan));
  ETX_TRY(etx_build_scalar(builder, &last, ETX_DTYPE_FLOAT64, &most));
  ETX_TRY(etx_build_binary(builder, ETX_OP_mul_out, call->q, most, &value));
  return etx_build_where(builder, has_nan, most, value, out_ranks);
}

// Fractional ranks, of the shape of the result with `axis` kept.
static etx_status find_ranks(etx_builder* builder, const quantile_call* call,
                             uint32_t* out_ranks) {
  uint32_t is_nan = 0;
  ETX_TRY(etx_build_unary(builder, ETX_OP_isnan_out, call->self, &is_nan));
  return (call->ignores_nan ? ranks_of_numbers : ranks_before_nan)(
      builder, call, is_nan, out_ranks);
}

// ------------------------------------------------ elements

static etx_status element_at(etx_builder* builder, const quantile_call* call,
                             uint32_t sorted, uint32_t rank, uint32_t* out) {
  ETX_TRY(etx_build_cast(builder, rank, ETX_DTYPE_INT64, &rank));
  const etx_ir_arg args[] = {etx_ir_value_arg(sorted),
                             etx_ir_int((etx_dim)call->axis),
                             etx_ir_value_arg(rank)};
  return etx_build_op(builder, ETX_OP_gather_out, args, 3, out);
}

// Between the elements below and above the rank.
static etx_status between(etx_builder* builder, const quantile_call* call,
                          uint32_t sorted, uint32_t rank, uint32_t* out) {
  const etx_dtype dtype = etx_builder_shape(builder, sorted)->dtype;
  uint32_t low = 0, high = 0, weight = 0, value = 0;
  ETX_TRY(etx_build_unary(builder, ETX_OP_floor_out, rank, &value));
  ETX_TRY(element_at(builder, call, sorted, value, &low));
  ETX_TRY(etx_build_binary(builder, ETX_OP_sub_out, rank, value, &weight));
  ETX_TRY(etx_build_cast(builder, weight, dtype, &weight));
  ETX_TRY(etx_build_unary(builder, ETX_OP_ceil_out, rank, &value));
  ETX_TRY(element_at(builder, call, sorted, value, &high));
  ETX_TRY(etx_build_binary(builder, ETX_OP_sub_out, high, low, &value));
  if (is_method(builder, "midpoint")) {
    ETX_TRY(
        etx_build_binary_constant(builder, ETX_OP_mul_out, value, 0.5, &value));
  } else {
    ETX_TRY(etx_build_binary(builder, ETX_OP_mul_out, weight, value, &value));
  }
  return etx_build_binary(builder, ETX_OP_add_out, low, value, out);
}

static etx_status find_quantiles(etx_builder* builder,
                                 const quantile_call* call, uint32_t* out) {
  uint32_t all[ETX_TYPE_INFERENCE_MAX_OUTPUTS];
  uint32_t rank = 0;
  ETX_TRY(etx_build_sorted(builder, call->self, (etx_dim)call->axis, false,
                           false, all));
  ETX_TRY(find_ranks(builder, call, &rank));
  if (is_method(builder, "linear") || is_method(builder, "midpoint")) {
    return between(builder, call, all[0], rank, out);
  }
  const etx_op_id rounding = is_method(builder, "lower")    ? ETX_OP_floor_out
                             : is_method(builder, "higher") ? ETX_OP_ceil_out
                                                            : ETX_OP_round_out;
  ETX_TRY(etx_build_unary(builder, rounding, rank, &rank));
  return element_at(builder, call, all[0], rank, out);
}

// The dimension of the quantiles goes to the front, or away for one number;
// with `keepdim`, the reduced dimensions stay with size 1.
static etx_status arrange(etx_builder* builder, const quantile_call* call,
                          bool is_list, uint32_t value) {
  const size_t full_rank =
      etx_builder_shape(builder, builder->args[0].as.value)->rank;
  const bool is_all = builder->args[2].kind != ETX_IR_ARG_INT || full_rank == 0;
  const etx_shape shape = *etx_builder_shape(builder, value);
  etx_dim dims[ETX_MAX_RANK + 1];
  size_t order[ETX_MAX_RANK];
  size_t rank = 0;
  for (size_t i = 0; i < shape.rank; ++i) {
    order[i] = i == 0 ? call->axis : i <= call->axis ? i - 1 : i;
  }
  if (is_list) dims[rank++] = shape.dims[call->axis];
  for (size_t i = 0; i < (is_all ? full_rank : shape.rank); ++i) {
    const bool is_reduced = is_all || i == call->axis;
    if (is_reduced && !builder->args[3].as.boolean) continue;
    if (rank == ETX_MAX_RANK) {
      return etx_diag_fail(builder->diag, ETX_UNSUPPORTED,
                           "a result of more than %i dimensions is not "
                           "supported",
                           (int64_t)ETX_MAX_RANK);
    }
    dims[rank++] = is_reduced ? 1 : shape.dims[i];
  }
  if (is_list) ETX_TRY(etx_build_permute(builder, value, order, &value));
  return etx_build_view(builder, value, dims, rank, &builder->results[0]);
}

// (self, q, dim, keepdim, interpolation)
static etx_status quantile(etx_builder* builder, bool ignores_nan) {
  quantile_call call = {.self = builder->args[0].as.value,
                        .ignores_nan = ignores_nan};
  const etx_ir_arg* const q = &builder->args[1];
  const bool is_list = q->kind == ETX_IR_ARG_VALUE &&
                       etx_builder_shape(builder, q->as.value)->rank != 0;
  uint32_t value = 0;
  ETX_TRY(check_arguments(builder));
  ETX_TRY(read_self(builder, &call));
  ETX_TRY(read_q(builder, &call));
  ETX_TRY(find_quantiles(builder, &call, &value));
  return arrange(builder, &call, is_list, value);
}

etx_status etx_lowering_quantile(etx_builder* builder) {
  return quantile(builder, false);
}

etx_status etx_lowering_nanquantile(etx_builder* builder) {
  return quantile(builder, true);
}
