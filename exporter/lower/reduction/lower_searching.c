// Searching by comparing with all: places among sorted boundaries, membership,
// and differences of two tensors as a loss.

#include "exporter/lower/builder/lowering_functions.h"

etx_status etx_build_count_before(etx_builder* lower, uint32_t values,
                                  uint32_t boundaries, bool right,
                                  uint32_t* out_value) {
  const etx_ir_arg pair[] = {etx_ir_value_arg(values),
                             etx_ir_value_arg(boundaries)};
  const etx_op_id op = right ? ETX_OP_le_tensor_out : ETX_OP_lt_tensor_out;
  const etx_dim last = -1;
  uint32_t both[2];
  uint32_t value = 0;
  etx_dtype dtype;
  ETX_TRY(etx_builder_result_type(lower, pair, 2, &dtype));
  for (size_t i = 0; i < 2; ++i) {
    ETX_TRY(etx_build_operand(lower, &pair[i], dtype, &both[i]));
  }
  ETX_TRY(etx_build_binary(lower, op, both[1], both[0], &value));
  ETX_TRY(etx_build_cast(lower, value, ETX_DTYPE_INT64, &value));
  return etx_build_reduce(lower, ETX_OP_sum_intlist_out, value, &last, 1, false,
                          out_value);
}

static etx_status count_before(etx_builder* lower, uint32_t values,
                               uint32_t boundaries, bool right, bool is_int32) {
  uint32_t value = 0;
  ETX_TRY(etx_build_count_before(lower, values, boundaries, right, &value));
  return etx_build_cast(lower, value,
                        is_int32 ? ETX_DTYPE_INT32 : ETX_DTYPE_INT64,
                        &lower->results[0]);
}

// bucketize(self, boundaries, out_int32, right)
etx_status etx_lowering_bucketize(etx_builder* lower) {
  const etx_ir_arg* const args = lower->args;
  uint32_t values = 0;
  ETX_TRY(etx_build_tensor(lower, &args[0], &values));
  const size_t rank = etx_builder_shape(lower, values)->rank;
  ETX_TRY(etx_build_unsqueeze(lower, values, rank, &values));
  return count_before(lower, values, args[1].as.value, args[3].as.boolean,
                      args[2].as.boolean);
}

// searchsorted(sorted_sequence, self, out_int32, right, side, sorter)
etx_status etx_lowering_searchsorted(etx_builder* lower) {
  const etx_ir_arg* const args = lower->args;
  const bool has_side = args[4].kind == ETX_IR_ARG_STRING;
  const bool right =
      has_side ? etx_text_is(args[4].as.string, "right") : args[3].as.boolean;
  uint32_t sequence = args[0].as.value;
  uint32_t values = 0;
  if (args[5].kind == ETX_IR_ARG_VALUE) {
    return etx_diag_fail(lower->diag, ETX_UNSUPPORTED, "'%t' with a sorter",
                         lower->node->aten);
  }
  ETX_TRY(etx_build_tensor(lower, &args[1], &values));
  const size_t among = etx_builder_shape(lower, sequence)->rank;
  const size_t rank = etx_builder_shape(lower, values)->rank;
  ETX_TRY(etx_build_unsqueeze(lower, values, rank, &values));
  if (among > 1) {
    ETX_TRY(etx_build_unsqueeze(lower, sequence, among - 1, &sequence));
  }
  return count_before(lower, values, sequence, right, args[2].as.boolean);
}

// isin(elements, test_elements, assume_unique, invert)
etx_status etx_lowering_isin(etx_builder* lower) {
  const etx_ir_arg* const args = lower->args;
  const etx_dim last = -1;
  uint32_t pair[2];
  uint32_t value = 0;
  etx_dim all = 0;
  etx_dtype dtype;
  ETX_TRY(etx_builder_result_type(lower, args, 2, &dtype));
  for (size_t i = 0; i < 2; ++i) {
    ETX_TRY(etx_build_operand(lower, &args[i], dtype, &pair[i]));
  }
  const etx_shape tests = *etx_builder_shape(lower, pair[1]);
  const size_t rank = etx_builder_shape(lower, pair[0])->rank;
  ETX_TRY(etx_builder_product(lower, tests.dims, 0, tests.rank, &all));
  ETX_TRY(etx_build_view(lower, pair[1], &all, 1, &pair[1]));
  ETX_TRY(etx_build_unsqueeze(lower, pair[0], rank, &pair[0]));
  ETX_TRY(
      etx_build_binary(lower, ETX_OP_eq_tensor_out, pair[0], pair[1], &value));
  const etx_ir_arg any[] = {etx_ir_value_arg(value), etx_ir_int(last),
                            etx_ir_bool(false)};
  ETX_TRY(etx_build_op(lower, ETX_OP_any_out, any, 3, &value));
  if (!args[3].as.boolean) {
    lower->results[0] = value;
    return ETX_OK;
  }
  return etx_build_unary(lower, ETX_OP_logical_not_out, value,
                         &lower->results[0]);
}

// A loss as it is asked for: each element, the mean or the sum.
static etx_status reduce_loss(etx_builder* lower, uint32_t value,
                              etx_dim reduction) {
  if (reduction == 0) {
    lower->results[0] = value;
    return ETX_OK;
  }
  return etx_build_reduce(
      lower, reduction == 1 ? ETX_OP_mean_out : ETX_OP_sum_intlist_out, value,
      NULL, 0, false, &lower->results[0]);
}

static etx_status differ(etx_builder* lower, uint32_t* out) {
  uint32_t pair[2];
  etx_dtype dtype;
  ETX_TRY(etx_builder_result_type(lower, lower->args, 2, &dtype));
  for (size_t i = 0; i < 2; ++i) {
    ETX_TRY(etx_build_operand(lower, &lower->args[i], dtype, &pair[i]));
  }
  return etx_build_binary(lower, ETX_OP_sub_out, pair[0], pair[1], out);
}

// mse_loss(self, target, reduction)
etx_status etx_lowering_mse_loss(etx_builder* lower) {
  uint32_t value = 0;
  ETX_TRY(differ(lower, &value));
  ETX_TRY(etx_build_binary(lower, ETX_OP_mul_out, value, value, &value));
  return reduce_loss(lower, value, lower->args[2].as.integer);
}

// l1_loss(self, target, reduction)
etx_status etx_lowering_l1_loss(etx_builder* lower) {
  uint32_t value = 0;
  ETX_TRY(differ(lower, &value));
  ETX_TRY(etx_build_unary(lower, ETX_OP_abs_out, value, &value));
  return reduce_loss(lower, value, lower->args[2].as.integer);
}
