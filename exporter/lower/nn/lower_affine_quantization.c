// torchao's affine quantisation: one scale for each block of a tensor. Blocks
// that are whole rows or equal groups within rows become the operators per
// token and per channel, which covers torchao's recipes for linear layers.
// Per-tensor blocks are supported for activations.
//
//   dequantize_affine(w, [1, g], s, z)   dequantize_per_channel of [N K/g, g]
//   dequantize_affine and quantize_affine of activations   .._per_token
//   choose_qparams_affine(x, ASYMMETRIC)   choose_qparams_per_token_asymmetric
//   choose_qparams_affine(x, SYMMETRIC)    max |x| / 127.5
//   _int_mm(a, b)                          mm of int32

#include "exporter/ir/ir_edit.h"
#include "exporter/lower/builder/lowering_functions.h"

// True if the block is the whole tensor, with more than one row.
static bool is_per_tensor(const etx_ir_arg* block, const etx_shape* shape) {
  const etx_ir_arg* const items = block->as.list.items;
  bool is_row = true;
  if (block->as.list.count != shape->rank) return false;
  for (size_t i = 0; i < shape->rank; ++i) {
    if (items[i].as.integer != shape->dims[i]) return false;
    is_row = is_row && (i + 1u == shape->rank || shape->dims[i] == 1);
  }
  return !is_row;
}

// True for a tensor of one element.
static bool has_one_element(const etx_builder* builder, const etx_ir_arg* arg) {
  if (arg->kind != ETX_IR_ARG_VALUE) return false;
  const etx_shape* const shape = etx_builder_shape(builder, arg->as.value);
  for (size_t i = 0; i < shape->rank; ++i) {
    if (shape->dims[i] != 1) return false;
  }
  return true;
}

// The number of elements of a block, which must be a row or an equal part of
// one.
static etx_status read_block(etx_builder* builder, const etx_ir_arg* block,
                             const etx_shape* shape, int64_t* out_last) {
  const etx_ir_arg* const items = block->as.list.items;
  const size_t rank = block->as.list.count;
  bool fits = rank != 0 && rank == shape->rank;
  for (size_t i = 0; fits && i + 1 < rank; ++i) {
    fits = items[i].as.integer == 1;
  }
  const etx_dim inner = fits ? shape->dims[rank - 1] : 0;
  fits = fits && etx_dim_is_number(inner) &&
         etx_dim_is_number(items[rank - 1].as.integer);
  const int64_t last = fits ? items[rank - 1].as.integer : 0;
  if (!fits || last <= 0 || inner % last != 0) {
    return etx_diag_fail(builder->diag, ETX_UNSUPPORTED,
                         "'block_size' is supported only as whole rows or "
                         "equal groups within rows");
  }
  *out_last = last;
  return ETX_OK;
}

static etx_status view_cast(etx_builder* builder, uint32_t self,
                            const etx_dim* dims, size_t rank, etx_dtype dtype,
                            uint32_t* out) {
  ETX_TRY(etx_build_view(builder, self, dims, rank, out));
  return etx_build_cast(builder, *out, dtype, out);
}

// Scales or zero points as [.., 1] (per row) or [1, .., 1] (per tensor), in the
// dtype that the kernels take; zeros if there are no zero points.
static etx_status expand_to_rows(etx_builder* builder,
                                 const etx_ir_arg* numbers,
                                 const etx_shape* rows, bool per_tensor,
                                 etx_dtype dtype, uint32_t* out) {
  etx_dim dims[ETX_MAX_RANK];
  for (size_t i = 0; i < rows->rank; ++i)
    dims[i] = per_tensor ? 1 : rows->dims[i];
  dims[rows->rank - 1] = 1;
  if (numbers->kind == ETX_IR_ARG_VALUE) {
    return view_cast(builder, numbers->as.value, dims, rows->rank, dtype, out);
  }
  const etx_ir_arg zero = etx_ir_int(0);
  ETX_TRY(etx_build_scalar(builder, &zero, dtype, out));
  return etx_build_expand(builder, *out, dims, rows->rank, out);
}

static etx_status read_bound(etx_builder* builder, const etx_ir_arg* given,
                             int64_t otherwise, etx_ir_arg* out) {
  *out = given->kind == ETX_IR_ARG_NONE ? etx_ir_int(otherwise) : *given;
  if (out->kind == ETX_IR_ARG_INT) return ETX_OK;
  return etx_diag_fail(builder->diag, ETX_UNSUPPORTED,
                       "'quant_min' and 'quant_max' must be integers");
}

// ------------------------------------------------ activations

// (input, block_size, scale, zero_point, dtype, quant_min, quant_max) with
// blocks of whole rows, by an operator per token.
static etx_status per_token(etx_builder* builder, etx_op_id op,
                            const etx_ir_arg* result) {
  const etx_ir_arg* const given = builder->args;
  const etx_shape shape = *etx_builder_shape(builder, given[0].as.value);
  uint32_t scales = 0, zeros = 0;
  ETX_TRY(expand_to_rows(builder, &given[2], &shape, false, ETX_DTYPE_FLOAT64,
                         &scales));
  ETX_TRY(expand_to_rows(builder, &given[3], &shape, false, ETX_DTYPE_INT64,
                         &zeros));
  etx_ir_arg args[] = {given[0],
                       etx_ir_value_arg(scales),
                       etx_ir_value_arg(zeros),
                       etx_ir_none(),
                       etx_ir_none(),
                       given[4],
                       etx_ir_none()};
  ETX_TRY(read_bound(builder, &given[5], INT8_MIN, &args[3]));
  ETX_TRY(read_bound(builder, &given[6], INT8_MAX, &args[4]));
  if (result != NULL) args[6] = *result;
  return etx_build_op(builder, op, args, result == NULL ? 6 : 7,
                      &builder->results[0]);
}

// True if the value comes from choose_qparams_per_token_asymmetric.
static bool is_per_token_range(const etx_builder* builder,
                               const etx_ir_arg* arg) {
  const etx_ir_node* node =
      arg->kind != ETX_IR_ARG_VALUE
          ? NULL
          : etx_ir_definition(builder->method, arg->as.value);
  while (node != NULL && (node->op->id == ETX_OP_view_copy_out ||
                          node->op->id == ETX_OP_to_dim_order_copy_out)) {
    node = etx_ir_definition(builder->method, node->args[0].as.value);
  }
  return node != NULL &&
         node->op->id == ETX_OP_choose_qparams_per_token_asymmetric_out;
}

// round(x * (1 / scale)) + zero point by elementwise operators, because they
// round like torchao. A fused kernel could round differently where x / scale is
// halfway between two integers, as it is for the largest element of a row with
// zero point 0.
static etx_status quantize_elementwise(etx_builder* builder, bool per_tensor) {
  const etx_ir_arg* const given = builder->args;
  const etx_shape shape = *etx_builder_shape(builder, given[0].as.value);
  const etx_dtype own = etx_builder_shape(builder, given[2].as.value)->dtype;
  // As in type promotion, scales of another dtype make the product float32.
  const etx_dtype dtype = own == shape.dtype ? own : ETX_DTYPE_FLOAT32;
  uint32_t value = 0, zeros = 0, input = 0;
  etx_ir_arg low, high;
  ETX_TRY(read_bound(builder, &given[5], INT8_MIN, &low));
  ETX_TRY(read_bound(builder, &given[6], INT8_MAX, &high));
  ETX_TRY(
      expand_to_rows(builder, &given[2], &shape, per_tensor, dtype, &value));
  ETX_TRY(
      expand_to_rows(builder, &given[3], &shape, per_tensor, dtype, &zeros));
  ETX_TRY(etx_build_cast(builder, given[0].as.value, dtype, &input));
  ETX_TRY(etx_build_unary(builder, ETX_OP_reciprocal_out, value, &value));
  ETX_TRY(etx_build_binary(builder, ETX_OP_mul_out, input, value, &value));
  ETX_TRY(etx_build_unary(builder, ETX_OP_round_out, value, &value));
  ETX_TRY(etx_build_binary(builder, ETX_OP_add_out, value, zeros, &value));
  ETX_TRY(etx_build_binary_constant(builder, ETX_OP_maximum_out, value,
                                    (double)low.as.integer, &value));
  ETX_TRY(etx_build_binary_constant(builder, ETX_OP_minimum_out, value,
                                    (double)high.as.integer, &value));
  return etx_build_cast(builder, value, given[4].as.dtype,
                        &builder->results[0]);
}

etx_status etx_lowering_quantize_affine(etx_builder* builder) {
  const etx_shape shape =
      *etx_builder_shape(builder, builder->args[0].as.value);
  int64_t last = 0;
  if (is_per_tensor(&builder->args[1], &shape) &&
      has_one_element(builder, &builder->args[2])) {
    return quantize_elementwise(builder, true);
  }
  ETX_TRY(read_block(builder, &builder->args[1], &shape, &last));
  if (last != shape.dims[shape.rank - 1]) {
    return etx_diag_fail(builder->diag, ETX_UNSUPPORTED,
                         "quantisation per group is supported only for weights "
                         "that were quantised before the export");
  }
  return is_per_token_range(builder, &builder->args[3])
             ? per_token(builder, ETX_OP_quantize_per_token_out, NULL)
             : quantize_elementwise(builder, false);
}

// ------------------------------------------------ weights

static etx_status per_channel(etx_builder* builder, const etx_shape* shape,
                              int64_t last, etx_dtype dtype) {
  const etx_ir_arg* const given = builder->args;
  etx_dim all = 0;
  ETX_TRY(etx_builder_product(builder, shape->dims, 0, shape->rank, &all));
  const etx_dim rows[] = {all / last, last};
  uint32_t matrix = 0, scales = 0, zeros = 0;
  ETX_TRY(etx_build_view(builder, given[0].as.value, rows, 2, &matrix));
  ETX_TRY(view_cast(builder, given[2].as.value, rows, 1, ETX_DTYPE_FLOAT32,
                    &scales));
  etx_ir_arg args[] = {etx_ir_value_arg(matrix),
                       etx_ir_value_arg(scales),
                       etx_ir_none(),
                       etx_ir_int(0),
                       etx_ir_none(),
                       etx_ir_none(),
                       given[4],
                       etx_ir_none()};
  if (given[3].kind == ETX_IR_ARG_VALUE) {
    ETX_TRY(view_cast(builder, given[3].as.value, rows, 1, ETX_DTYPE_INT64,
                      &zeros));
    args[2] = etx_ir_value_arg(zeros);
  }
  ETX_TRY(read_bound(builder, &given[5], INT8_MIN, &args[4]));
  ETX_TRY(read_bound(builder, &given[6], INT8_MAX, &args[5]));
  uint32_t floats = 0;
  ETX_TRY(etx_build_op(builder, ETX_OP_dequantize_per_channel_out, args, 8,
                       &floats));
  ETX_TRY(etx_build_cast(builder, floats, dtype, &floats));
  return etx_build_view(builder, floats, shape->dims, shape->rank,
                        &builder->results[0]);
}

// (input, block_size, scale, zero_point, input_dtype, quant_min, quant_max,
// output_dtype)
etx_status etx_lowering_dequantize_affine(etx_builder* builder) {
  const uint32_t input = builder->args[0].as.value;
  const etx_shape shape = *etx_builder_shape(builder, input);
  const etx_ir_origin origin = builder->method->values[input].origin;
  int64_t last = 0;
  ETX_TRY(read_block(builder, &builder->args[1], &shape, &last));
  const etx_ir_arg dtype = builder->args[7];
  if ((origin == ETX_IR_FROM_BUFFER || origin == ETX_IR_FROM_CONSTANT) &&
      etx_ir_is_static(&shape)) {
    return per_channel(builder, &shape, last, dtype.as.dtype);
  }
  if (last != shape.dims[shape.rank - 1]) {
    return etx_diag_fail(
        builder->diag, ETX_UNSUPPORTED,
        "dequantisation per group is supported only for weights");
  }
  return per_token(builder, ETX_OP_dequantize_per_token_out, &dtype);
}

// ------------------------------------------------ quantisation parameters

// Stores scales and zero points in the dtypes that the call asks for, as [..]
// or, with keepdim, [.., 1]; per tensor as [] or [1, .., 1].
static etx_status store_range(etx_builder* builder, bool per_tensor,
                              uint32_t scales, uint32_t zeros) {
  const etx_ir_arg* const given = builder->args;
  const etx_shape input = *etx_builder_shape(builder, given[0].as.value);
  const size_t kept = per_tensor ? 0 : input.rank - 1u;
  const size_t rank = given[9].as.boolean ? input.rank : kept;
  const uint32_t values[2] = {scales, zeros};
  etx_dim dims[ETX_MAX_RANK];
  for (size_t i = 0; i < input.rank; ++i)
    dims[i] = per_tensor ? 1 : input.dims[i];
  dims[input.rank - 1] = 1;
  for (size_t i = 0; i < 2; ++i) {
    const etx_ir_arg* const asked = &given[7 + i];
    const etx_dtype otherwise = i == 0 ? input.dtype : ETX_DTYPE_INT32;
    const etx_dtype dtype =
        asked->kind == ETX_IR_ARG_DTYPE ? asked->as.dtype : otherwise;
    ETX_TRY(
        view_cast(builder, values[i], dims, rank, dtype, &builder->results[i]));
  }
  return ETX_OK;
}

// max |x| / 127.5, at least eps; zero points are 0.
static etx_status symmetric_range(etx_builder* builder, const etx_shape* input,
                                  bool per_tensor) {
  etx_dim dims[ETX_MAX_RANK];
  const size_t first = per_tensor ? 0 : input->rank - 1u;
  for (size_t i = first; i < input->rank; ++i) dims[i - first] = (etx_dim)i;
  const double least = builder->args[6].kind == ETX_IR_ARG_DOUBLE
                           ? builder->args[6].as.real
                           : 1.1920928955078125e-07;
  uint32_t scale = 0, zeros = 0;
  ETX_TRY(etx_build_unary(builder, ETX_OP_abs_out, builder->args[0].as.value,
                          &scale));
  ETX_TRY(etx_build_reduce(builder, ETX_OP_amax_out, scale,
                           (etx_reduced_dims){dims, input->rank - first, true},
                           &scale));
  ETX_TRY(
      etx_build_binary_constant(builder, ETX_OP_div_out, scale, 127.5, &scale));
  ETX_TRY(etx_build_binary_constant(builder, ETX_OP_maximum_out, scale, least,
                                    &scale));
  const etx_ir_arg none = etx_ir_none();
  ETX_TRY(expand_to_rows(builder, &none, input, per_tensor, ETX_DTYPE_INT64,
                         &zeros));
  return store_range(builder, per_tensor, scale, zeros);
}

// (input, mapping_type, block_size, target_dtype, quant_min, quant_max, eps,
// scale_dtype, zero_point_dtype, keepdim)
etx_status etx_lowering_choose_qparams_affine(etx_builder* builder) {
  const etx_ir_arg* const given = builder->args;
  int64_t last = 0;
  etx_ir_arg low, high;
  if (given[0].kind != ETX_IR_ARG_VALUE) {
    return etx_diag_fail(builder->diag, ETX_UNSUPPORTED,
                         "'input' must be a tensor");
  }
  const etx_shape input = *etx_builder_shape(builder, given[0].as.value);
  const bool symmetric = etx_text_is(given[1].as.string, "SYMMETRIC");
  const bool per_tensor = symmetric && is_per_tensor(&given[2], &input);
  if (!per_tensor) ETX_TRY(read_block(builder, &given[2], &input, &last));
  ETX_TRY(read_bound(builder, &given[4], INT8_MIN, &low));
  ETX_TRY(read_bound(builder, &given[5], INT8_MAX, &high));
  if ((!per_tensor && last != input.dims[input.rank - 1]) ||
      low.as.integer != INT8_MIN || high.as.integer != INT8_MAX) {
    return etx_diag_fail(
        builder->diag, ETX_UNSUPPORTED,
        "quantisation parameters are supported only per row, or per tensor "
        "with mapping_type SYMMETRIC, and only for int8 from -128 to 127");
  }
  if (symmetric) return symmetric_range(builder, &input, per_tensor);
  if (!etx_text_is(given[1].as.string, "ASYMMETRIC")) {
    return etx_diag_fail(builder->diag, ETX_UNSUPPORTED,
                         "'mapping_type' is '%t', expected SYMMETRIC or "
                         "ASYMMETRIC",
                         given[1].as.string);
  }
  etx_ir_arg args[] = {given[0], {ETX_IR_ARG_DTYPE, {0}}};
  args[1].as.dtype = ETX_DTYPE_INT8;
  uint32_t range[2] = {0, 0};
  ETX_TRY(etx_build_op_outputs(builder,
                               ETX_OP_choose_qparams_per_token_asymmetric_out,
                               args, 2, NULL, range));
  return store_range(builder, false, range[0], range[1]);
}

// Sums of int8 products, in int32.
etx_status etx_lowering_int_mm(etx_builder* builder) {
  uint32_t left = 0, right = 0;
  ETX_TRY(etx_build_cast(builder, builder->args[0].as.value, ETX_DTYPE_INT32,
                         &left));
  ETX_TRY(etx_build_cast(builder, builder->args[1].as.value, ETX_DTYPE_INT32,
                         &right));
  return etx_build_matmul(builder, left, right, &builder->results[0]);
}
