// bucketize, searchsorted and isin by comparing each value with all candidates;
// mse_loss and l1_loss.

#include "exporter/lower/builder/lowering_functions.h"

etx_status etx_build_count_before(etx_builder* builder, uint32_t values,
                                  uint32_t boundaries, bool right,
                                  uint32_t* out_value) {
  const etx_ir_arg pair[] = {etx_ir_value_arg(values),
                             etx_ir_value_arg(boundaries)};
  etx_op_id op = right ? ETX_OP_le_tensor_out : ETX_OP_lt_tensor_out;
  const etx_dim last = -1;
  uint32_t both[2];
  uint32_t value = 0;
  etx_dtype dtype;
  ETX_TRY(etx_builder_result_type(builder, pair, 2, &dtype));
  for (size_t i = 0; i < 2; ++i) {
    ETX_TRY(etx_build_operand(builder, &pair[i], dtype, &both[i]));
  }
  // Of floats, a boundary counts that is not behind the value, or not at or
  // behind it: all of them for NaN.
  const bool has_nan = etx_dtype_category_of(dtype) >= ETX_CATEGORY_FLOATING;
  if (has_nan) op = right ? ETX_OP_gt_tensor_out : ETX_OP_ge_tensor_out;
  ETX_TRY(etx_build_binary(builder, op, both[1], both[0], &value));
  if (has_nan) {
    ETX_TRY(etx_build_unary(builder, ETX_OP_logical_not_out, value, &value));
  }
  ETX_TRY(etx_build_cast(builder, value, ETX_DTYPE_INT64, &value));
  return etx_build_reduce(builder, ETX_OP_sum_intlist_out, value,
                          (etx_reduced_dims){&last, 1, false}, out_value);
}

static etx_status count_before(etx_builder* builder, uint32_t values,
                               uint32_t boundaries, bool right, bool is_int32) {
  uint32_t value = 0;
  ETX_TRY(etx_build_count_before(builder, values, boundaries, right, &value));
  return etx_build_cast(builder, value,
                        is_int32 ? ETX_DTYPE_INT32 : ETX_DTYPE_INT64,
                        &builder->results[0]);
}

// bucketize(self, boundaries, out_int32, right)
etx_status etx_lowering_bucketize(etx_builder* builder) {
  const etx_ir_arg* const args = builder->args;
  uint32_t values = 0;
  ETX_TRY(etx_build_tensor(builder, &args[0], &values));
  const size_t rank = etx_builder_shape(builder, values)->rank;
  ETX_TRY(etx_build_unsqueeze(builder, values, rank, &values));
  return count_before(builder, values, args[1].as.value, args[3].as.boolean,
                      args[2].as.boolean);
}

// searchsorted(sorted_sequence, self, out_int32, right, side, sorter)
etx_status etx_lowering_searchsorted(etx_builder* builder) {
  const etx_ir_arg* const args = builder->args;
  const bool has_side = args[4].kind == ETX_IR_ARG_STRING;
  const bool right =
      has_side ? etx_text_is(args[4].as.string, "right") : args[3].as.boolean;
  uint32_t sequence = args[0].as.value;
  uint32_t values = 0;
  if (args[5].kind == ETX_IR_ARG_VALUE) {
    return etx_diag_fail(builder->diag, ETX_UNSUPPORTED,
                         "'%t' with 'sorter' is not supported",
                         builder->node->aten);
  }
  ETX_TRY(etx_build_tensor(builder, &args[1], &values));
  const size_t among = etx_builder_shape(builder, sequence)->rank;
  const size_t rank = etx_builder_shape(builder, values)->rank;
  ETX_TRY(etx_build_unsqueeze(builder, values, rank, &values));
  if (among > 1) {
    ETX_TRY(etx_build_unsqueeze(builder, sequence, among - 1, &sequence));
  }
  return count_before(builder, values, sequence, right, args[2].as.boolean);
}

// isin(elements, test_elements, assume_unique, invert)
etx_status etx_lowering_isin(etx_builder* builder) {
  const etx_ir_arg* const args = builder->args;
  const etx_dim last = -1;
  uint32_t pair[2];
  uint32_t value = 0;
  etx_dim all = 0;
  etx_dtype dtype;
  ETX_TRY(etx_builder_result_type(builder, args, 2, &dtype));
  for (size_t i = 0; i < 2; ++i) {
    ETX_TRY(etx_build_operand(builder, &args[i], dtype, &pair[i]));
  }
  const etx_shape tests = *etx_builder_shape(builder, pair[1]);
  const size_t rank = etx_builder_shape(builder, pair[0])->rank;
  ETX_TRY(etx_builder_product(builder, tests.dims, 0, tests.rank, &all));
  ETX_TRY(etx_build_view(builder, pair[1], &all, 1, &pair[1]));
  ETX_TRY(etx_build_unsqueeze(builder, pair[0], rank, &pair[0]));
  ETX_TRY(etx_build_binary(builder, ETX_OP_eq_tensor_out, pair[0], pair[1],
                           &value));
  const etx_ir_arg any[] = {etx_ir_value_arg(value), etx_ir_int(last),
                            etx_ir_bool(false)};
  ETX_TRY(etx_build_op(builder, ETX_OP_any_out, any, 3, &value));
  if (!args[3].as.boolean) {
    builder->results[0] = value;
    return ETX_OK;
  }
  return etx_build_unary(builder, ETX_OP_logical_not_out, value,
                         &builder->results[0]);
}

// Reduces a loss: 0 not at all, 1 to the mean, 2 to the sum.
static etx_status reduce_loss(etx_builder* builder, uint32_t value,
                              etx_dim reduction) {
  if (reduction == 0) {
    builder->results[0] = value;
    return ETX_OK;
  }
  return etx_build_reduce(
      builder, reduction == 1 ? ETX_OP_mean_out : ETX_OP_sum_intlist_out, value,
      (etx_reduced_dims){NULL, 0, false}, &builder->results[0]);
}

static etx_status difference(etx_builder* builder, uint32_t* out) {
  uint32_t pair[2];
  etx_dtype dtype;
  ETX_TRY(etx_builder_result_type(builder, builder->args, 2, &dtype));
  for (size_t i = 0; i < 2; ++i) {
    ETX_TRY(etx_build_operand(builder, &builder->args[i], dtype, &pair[i]));
  }
  return etx_build_binary(builder, ETX_OP_sub_out, pair[0], pair[1], out);
}

// mse_loss(self, target, reduction)
etx_status etx_lowering_mse_loss(etx_builder* builder) {
  uint32_t value = 0;
  ETX_TRY(difference(builder, &value));
  ETX_TRY(etx_build_binary(builder, ETX_OP_mul_out, value, value, &value));
  return reduce_loss(builder, value, builder->args[2].as.integer);
}

// l1_loss(self, target, reduction)
etx_status etx_lowering_l1_loss(etx_builder* builder) {
  uint32_t value = 0;
  ETX_TRY(difference(builder, &value));
  ETX_TRY(etx_build_unary(builder, ETX_OP_abs_out, value, &value));
  return reduce_loss(builder, value, builder->args[2].as.integer);
}
