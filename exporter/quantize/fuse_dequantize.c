// Fuses the dequantisation of integer weights into the operators that read
// them. Otherwise every call would expand the whole weight to floats in
// scratch, or fold_constants would store it as floats:
//
//   linear(x, dequantize_per_channel(w, s, 0), b)  ->  linear_w8(x, w, s, b)
//   linear(x, dequantize_per_tensor(w, c, 0), b)   ->  the same, all s = c
//   the same where x is quantised per row          ->  linear_a8w8
//   mm(x, float(permute(w)))                       ->  linear_w8(x, w, 1)
//   mul(linear_w8(x, w, 1), s)                     ->  linear_w8(x, w, s)
//   float(mm(int32(x), int32(permute(w))))         ->  linear_w8(float(x), w,
//   1) embedding(dequantize_per_channel(w, s, z), i)  ->  embedding_byte(w, s,
//   z, i) mul(sub(float(view(w)), z), s)                 ->
//   dequantize_per_channel mm(int32(uint8(x + 128)), w) - 128 sum(w)      ->
//   mm(int32(x), w)
//
// prequantized_groups.c handles weights with a scale per group. Views and casts
// of scales and zero points, as torchao writes them, are skipped.
//
// Results differ by the order of sums only: int8 times a float scale is rounded
// once in both forms.

#include "exporter/ir/ir_edit.h"
#include "exporter/quantize/prequantized_weights.h"

// The dequantize_per_channel that computes operand `position` from an int8 (or
// uint8) matrix with one scale per row; NULL if there is none.
static const etx_ir_node* find_weight(const etx_rewrite* rewrite,
                                      const etx_ir_node* node, size_t position,
                                      bool takes_uint8) {
  const etx_ir_node* const weight = etx_rewrite_operand(
      rewrite, node, position, ETX_OP_dequantize_per_channel_out);
  if (weight == NULL) return NULL;
  const etx_shape* const bytes =
      etx_rewrite_shape(rewrite, &weight->args[ETX_PREQUANTIZED_INPUT]);
  const etx_shape* const scales =
      etx_rewrite_shape(rewrite, &weight->args[ETX_PREQUANTIZED_SCALES]);
  const bool is_byte = bytes->dtype == ETX_DTYPE_INT8 ||
                       (takes_uint8 && bytes->dtype == ETX_DTYPE_UINT8);
  const bool by_row =
      etx_rewrite_is_int(&weight->args[ETX_PREQUANTIZED_AXIS], 0) ||
      etx_rewrite_is_int(&weight->args[ETX_PREQUANTIZED_AXIS], -2);
  const bool is_float =
      etx_rewrite_shape(rewrite, &node->args[position])->dtype ==
      ETX_DTYPE_FLOAT32;
  return is_byte && by_row && is_float && bytes->rank == 2 &&
                 scales->dims[0] == bytes->dims[0]
             ? weight
             : NULL;
}

static etx_status fuse_linear(etx_rewrite* rewrite, bool* out_done) {
  const etx_ir_node* const node = rewrite->builder.node;
  if (node->op->id != ETX_OP_linear_out) return ETX_OK;
  const etx_ir_node* const weight = find_weight(rewrite, node, 1, false);
  if (weight == NULL || !etx_prequantized_has_no_zero_points(rewrite, weight)) {
    return ETX_OK;
  }
  const etx_ir_arg* const rows = etx_prequantized_rows(rewrite, node);
  etx_ir_arg args[] = {rows == NULL ? node->args[0] : *rows,
                       weight->args[ETX_PREQUANTIZED_INPUT],
                       weight->args[ETX_PREQUANTIZED_SCALES], node->args[2]};
  const etx_op_id op =
      rows == NULL ? ETX_OP_linear_w8_out : ETX_OP_linear_a8w8_out;
  // The node pointers above are invalid after appending.
  uint32_t scales = 0;
  ETX_TRY(etx_build_cast(&rewrite->builder, args[2].as.value, ETX_DTYPE_FLOAT32,
                         &scales));
  args[2] = etx_ir_value_arg(scales);
  *out_done = true;
  return etx_build_op(&rewrite->builder, op, args, 4,
                      &rewrite->builder.results[0]);
}

// ------------------------------------------------ other spellings

// The constant that operand `position` is, or views and casts of it; NULL if
// there is none.
static const etx_ir_constant* constant_operand(const etx_rewrite* rewrite,
                                               const etx_ir_node* node,
                                               size_t position) {
  const etx_ir_arg* const arg = &node->args[position];
  if (arg->kind != ETX_IR_ARG_VALUE) return NULL;
  return etx_rewrite_constant(rewrite->builder.module, rewrite->builder.method,
                              etx_prequantized_origin(rewrite, arg->as.value));
}

// True if operand `position` is a uniform constant with this number.
static bool is_number(const etx_rewrite* rewrite, const etx_ir_node* node,
                      size_t position, double wanted) {
  const etx_ir_constant* const constant =
      constant_operand(rewrite, node, position);
  double number = 0;
  return constant != NULL && etx_rewrite_number(constant, &number) &&
         number == wanted;
}

// Recomposes dequantize_per_channel, which core ATen decomposes into (weight -
// zero points) * scales with one scale per last row.
static etx_status recompose_dequantize(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const node = builder->node;
  if (node->op->id != ETX_OP_mul_out) return ETX_OK;
  const etx_ir_node* const sub =
      etx_rewrite_operand(rewrite, node, 0, ETX_OP_sub_out);
  const etx_ir_node* const cast =
      sub == NULL
          ? NULL
          : etx_rewrite_operand(rewrite, sub, 0, ETX_OP_to_dim_order_copy_out);
  const etx_ir_constant* const zeros =
      cast == NULL ? NULL : constant_operand(rewrite, sub, 1);
  if (zeros == NULL || constant_operand(rewrite, cast, 0) == NULL ||
      constant_operand(rewrite, node, 1) == NULL) {
    return ETX_OK;
  }
  const bool has_zeros = !etx_prequantized_is_zero(zeros);
  const etx_shape from = *etx_rewrite_shape(rewrite, &cast->args[0]);
  const etx_shape to = *etx_builder_shape(builder, node->outputs[0]);
  const etx_shape scale = *etx_rewrite_shape(rewrite, &node->args[1]);
  bool fits = from.dtype == ETX_DTYPE_INT8 && to.dtype == ETX_DTYPE_FLOAT32 &&
              scale.dtype == ETX_DTYPE_FLOAT32 && to.rank >= 2 &&
              from.rank == to.rank && scale.rank == to.rank &&
              etx_ir_is_static(&to) && scale.dims[to.rank - 1] == 1;
  for (size_t i = 0; fits && i < to.rank; ++i) {
    fits = from.dims[i] == to.dims[i] &&
           (i + 1u == to.rank || scale.dims[i] == to.dims[i]);
  }
  if (fits && has_zeros) {
    const etx_shape* const own = etx_rewrite_shape(rewrite, &sub->args[1]);
    fits = zeros->dtype == ETX_DTYPE_INT8 && own->rank == scale.rank &&
           memcmp(own->dims, scale.dims, scale.rank * sizeof *scale.dims) == 0;
  }
  if (!fits) return ETX_OK;
  etx_dim rows[] = {1, to.dims[to.rank - 1]};
  for (size_t i = 0; i + 1 < to.rank; ++i) rows[0] *= to.dims[i];
  uint32_t weight = cast->args[0].as.value, scales = node->args[1].as.value;
  uint32_t shifts =
      has_zeros ? etx_prequantized_origin(rewrite, sub->args[1].as.value)
                : scales;
  ETX_TRY(etx_build_view(builder, weight, rows, 2, &weight));
  ETX_TRY(etx_build_view(builder, scales, rows, 1, &scales));
  etx_ir_arg args[] = {etx_ir_value_arg(weight),
                       etx_ir_value_arg(scales),
                       etx_ir_none(),
                       etx_ir_int(0),
                       etx_ir_int(INT8_MIN),
                       etx_ir_int(INT8_MAX),
                       {ETX_IR_ARG_DTYPE, {0}}};
  args[6].as.dtype = ETX_DTYPE_INT8;
  if (has_zeros) {
    ETX_TRY(etx_build_view(builder, shifts, rows, 1, &shifts));
    ETX_TRY(etx_build_cast(builder, shifts, ETX_DTYPE_INT64, &shifts));
    args[2] = etx_ir_value_arg(shifts);
  }
  ETX_TRY(etx_build_op(builder, ETX_OP_dequantize_per_channel_out, args, 7,
                       &weight));
  *out_done = true;
  return etx_build_view(builder, weight, to.dims, to.rank,
                        &builder->results[0]);
}

// A vector of `rows` equal scales.
static etx_status uniform_scales(etx_builder* builder, etx_dim rows,
                                 float scale, etx_ir_arg* out) {
  const size_t bytes = (size_t)rows * sizeof(float);
  float* const scales = etx_pool_take(builder->module->pool, bytes);
  uint32_t value = 0;
  if (scales == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < (size_t)rows; ++i) scales[i] = scale;
  const etx_ir_constant constant = {.dtype = ETX_DTYPE_FLOAT32,
                                    .rank = 1,
                                    .sizes = {rows},
                                    .data = {(const uint8_t*)scales, bytes}};
  ETX_TRY(etx_build_constant(builder, &constant, &value));
  *out = etx_ir_value_arg(value);
  return ETX_OK;
}

// linear over a weight with one scale for the whole tensor.
static etx_status fuse_per_tensor_linear(etx_rewrite* rewrite, bool* out_done) {
  const etx_ir_node* const node = rewrite->builder.node;
  if (node->op->id != ETX_OP_linear_out) return ETX_OK;
  const etx_ir_node* const weight =
      etx_rewrite_operand(rewrite, node, 1, ETX_OP_dequantize_per_tensor_out);
  if (weight == NULL ||
      weight->args[ETX_PREQUANTIZED_SCALES].kind != ETX_IR_ARG_DOUBLE) {
    return ETX_OK;
  }
  const etx_shape bytes =
      *etx_rewrite_shape(rewrite, &weight->args[ETX_PREQUANTIZED_INPUT]);
  if (bytes.dtype != ETX_DTYPE_INT8 || bytes.rank != 2 ||
      !etx_dim_is_number(bytes.dims[0]) ||
      !etx_rewrite_is_int(&weight->args[ETX_PREQUANTIZED_ZEROS], 0) ||
      etx_rewrite_shape(rewrite, &node->args[0])->dtype != ETX_DTYPE_FLOAT32) {
    return ETX_OK;
  }
  const float scale = (float)weight->args[ETX_PREQUANTIZED_SCALES].as.real;
  etx_ir_arg args[] = {node->args[0], weight->args[ETX_PREQUANTIZED_INPUT],
                       etx_ir_none(), node->args[2]};
  ETX_TRY(uniform_scales(&rewrite->builder, bytes.dims[0], scale, &args[2]));
  *out_done = true;
  return etx_build_op(&rewrite->builder, ETX_OP_linear_w8_out, args, 4,
                      &rewrite->builder.results[0]);
}

// ------------------------------------------------ matrix products of int8

// The int8 matrix whose transpose, cast to `dtype`, is operand 1 of the node;
// NULL if there is none.
static const etx_ir_arg* find_transposed(const etx_rewrite* rewrite,
                                         const etx_ir_node* node,
                                         etx_dtype dtype) {
  const etx_ir_node* const cast =
      etx_rewrite_operand(rewrite, node, 1, ETX_OP_to_dim_order_copy_out);
  const etx_ir_node* const permute =
      cast == NULL ? NULL
                   : etx_rewrite_operand(rewrite, cast, ETX_PREQUANTIZED_INPUT,
                                         ETX_OP_permute_copy_out);
  if (permute == NULL || permute->args[1].as.list.count != 2) return NULL;
  const etx_shape* const matrix = etx_rewrite_shape(rewrite, &permute->args[0]);
  return matrix->dtype == ETX_DTYPE_INT8 &&
                 etx_dim_is_number(matrix->dims[0]) &&
                 etx_rewrite_is_int(&permute->args[1].as.list.items[0], 1) &&
                 etx_rewrite_shape(rewrite, &node->args[1])->dtype == dtype
             ? &permute->args[0]
             : NULL;
}

static etx_status emit_w8(etx_rewrite* rewrite, etx_ir_arg input,
                          etx_ir_arg weight) {
  etx_ir_arg args[] = {input, weight, etx_ir_none(), etx_ir_none()};
  const etx_dim rows = etx_rewrite_shape(rewrite, &weight)->dims[0];
  ETX_TRY(uniform_scales(&rewrite->builder, rows, 1, &args[2]));
  return etx_build_op(&rewrite->builder, ETX_OP_linear_w8_out, args, 4,
                      &rewrite->builder.results[0]);
}

static etx_status fuse_mm(etx_rewrite* rewrite, bool* out_done) {
  const etx_ir_node* const node = rewrite->builder.node;
  if (node->op->id != ETX_OP_mm_out) return ETX_OK;
  const etx_ir_arg* const weight =
      find_transposed(rewrite, node, ETX_DTYPE_FLOAT32);
  if (weight == NULL) return ETX_OK;
  *out_done = true;
  return emit_w8(rewrite, node->args[0], *weight);
}

// True if operand 0 of a matrix product is int32(uint8(int32(x) + 128)) for an
// int8 x, which is stored in `*out_value`.
static bool read_shifted(const etx_rewrite* rewrite, const etx_ir_node* node,
                         uint32_t* out_value) {
  const etx_op_id cast = ETX_OP_to_dim_order_copy_out;
  const etx_ir_node* const wide = etx_rewrite_operand(rewrite, node, 0, cast);
  const etx_ir_node* const narrow =
      wide == NULL
          ? NULL
          : etx_rewrite_operand(rewrite, wide, ETX_PREQUANTIZED_INPUT, cast);
  const etx_ir_node* const add =
      narrow == NULL
          ? NULL
          : etx_rewrite_operand(rewrite, narrow, ETX_PREQUANTIZED_INPUT,
                                ETX_OP_add_out);
  const etx_ir_node* const from =
      add == NULL ? NULL : etx_rewrite_operand(rewrite, add, 0, cast);
  if (from == NULL ||
      etx_rewrite_shape(rewrite, &wide->args[ETX_PREQUANTIZED_INPUT])->dtype !=
          ETX_DTYPE_UINT8 ||
      etx_rewrite_shape(rewrite, &from->args[ETX_PREQUANTIZED_INPUT])->dtype !=
          ETX_DTYPE_INT8 ||
      etx_rewrite_shape(rewrite, &add->args[0])->dtype != ETX_DTYPE_INT32 ||
      !is_number(rewrite, add, 1, 128) ||
      !etx_rewrite_is_int(&add->args[2], 1)) {
    return false;
  }
  *out_value = from->args[ETX_PREQUANTIZED_INPUT].as.value;
  return true;
}

// Some models shift int8 to uint8 for processors with uint8 products only, and
// subtract 128 * sum(w) afterwards. Restores the int8 product.
static etx_status unshift_mm(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const node = builder->node;
  if (node->op->id != ETX_OP_sub_out ||
      !etx_rewrite_is_int(&node->args[2], 1)) {
    return ETX_OK;
  }
  const etx_ir_node* const mm =
      etx_rewrite_operand(rewrite, node, 0, ETX_OP_mm_out);
  const etx_ir_node* const times =
      etx_rewrite_operand(rewrite, node, 1, ETX_OP_mul_out);
  uint32_t bytes = 0;
  if (mm == NULL || times == NULL || !is_number(rewrite, times, 1, 128) ||
      etx_builder_shape(builder, node->outputs[0])->dtype != ETX_DTYPE_INT32 ||
      !read_shifted(rewrite, mm, &bytes)) {
    return ETX_OK;
  }
  const etx_ir_arg right = mm->args[1];
  const etx_ir_node* const sum = etx_ir_definition(
      builder->method,
      etx_prequantized_origin(rewrite, times->args[0].as.value));
  if (!etx_rewrite_is_op(sum, ETX_OP_sum_intlist_out) ||
      sum->args[1].as.list.count != 1 ||
      !etx_rewrite_is_int(&sum->args[1].as.list.items[0], 0) ||
      etx_prequantized_origin(rewrite, sum->args[0].as.value) !=
          etx_prequantized_origin(rewrite, right.as.value)) {
    return ETX_OK;
  }
  // The skipped views may have changed the sizes.
  const etx_shape* const summed = etx_rewrite_shape(rewrite, &sum->args[0]);
  const etx_shape* const less = etx_rewrite_shape(rewrite, &node->args[1]);
  const etx_dim columns = etx_rewrite_shape(rewrite, &right)->dims[1];
  if (summed->rank != 2 || summed->dims[1] != columns || less->rank != 2 ||
      less->dims[0] != 1 || less->dims[1] != columns) {
    return ETX_OK;
  }
  etx_ir_arg args[] = {etx_ir_none(), right};
  uint32_t left = 0;
  ETX_TRY(etx_build_cast(builder, bytes, ETX_DTYPE_INT32, &left));
  args[0] = etx_ir_value_arg(left);
  *out_done = true;
  return etx_build_op(builder, ETX_OP_mm_out, args, 2, &builder->results[0]);
}

// An int32 matrix product that is cast to float is computed in float.
static etx_status fuse_integer_mm(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const node = builder->node;
  if (node->op->id != ETX_OP_to_dim_order_copy_out ||
      etx_builder_shape(builder, node->outputs[0])->dtype !=
          ETX_DTYPE_FLOAT32) {
    return ETX_OK;
  }
  const etx_ir_node* const mm =
      etx_rewrite_operand(rewrite, node, ETX_PREQUANTIZED_INPUT, ETX_OP_mm_out);
  const etx_ir_node* const left =
      mm == NULL
          ? NULL
          : etx_rewrite_operand(rewrite, mm, 0, ETX_OP_to_dim_order_copy_out);
  const etx_ir_arg* const weight =
      left == NULL ? NULL : find_transposed(rewrite, mm, ETX_DTYPE_INT32);
  if (weight == NULL ||
      etx_rewrite_shape(rewrite, &left->args[ETX_PREQUANTIZED_INPUT])->dtype !=
          ETX_DTYPE_INT8) {
    return ETX_OK;
  }
  const etx_ir_arg matrix = *weight;
  uint32_t input = 0;
  ETX_TRY(etx_build_cast(builder, left->args[ETX_PREQUANTIZED_INPUT].as.value,
                         ETX_DTYPE_FLOAT32, &input));
  *out_done = true;
  return emit_w8(rewrite, etx_ir_value_arg(input), matrix);
}

// Fuses a multiplication by one scale per column into a linear_w8 without
// scales.
static etx_status fuse_scales(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const node = builder->node;
  double one = 0;
  if (node->op->id != ETX_OP_mul_out ||
      node->args[1].kind != ETX_IR_ARG_VALUE) {
    return ETX_OK;
  }
  const etx_ir_node* const layer =
      etx_rewrite_operand(rewrite, node, 0, ETX_OP_linear_w8_out);
  const etx_shape* const scales = etx_rewrite_shape(rewrite, &node->args[1]);
  if (layer == NULL || layer->args[3].kind != ETX_IR_ARG_NONE ||
      !etx_rewrite_is_only_use(rewrite, node->args[0].as.value) ||
      scales->dtype != ETX_DTYPE_FLOAT32 || scales->rank != 1 ||
      scales->dims[0] != etx_rewrite_shape(rewrite, &layer->args[1])->dims[0]) {
    return ETX_OK;
  }
  const etx_ir_constant* const before = etx_rewrite_constant(
      builder->module, builder->method, layer->args[2].as.value);
  if (before == NULL || !etx_rewrite_number(before, &one) || one != 1) {
    return ETX_OK;
  }
  const etx_ir_arg args[] = {layer->args[0], layer->args[1], node->args[1],
                             etx_ir_none()};
  *out_done = true;
  return etx_build_op(builder, ETX_OP_linear_w8_out, args, 4,
                      &builder->results[0]);
}

static etx_status fuse_embedding(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  if (builder->node->op->id != ETX_OP_embedding_out) return ETX_OK;
  const etx_ir_node* const weight =
      find_weight(rewrite, builder->node, 0, true);
  if (weight == NULL) return ETX_OK;
  const bool has_zeros = !etx_prequantized_has_no_zero_points(rewrite, weight);
  etx_ir_arg args[] = {
      weight->args[ETX_PREQUANTIZED_INPUT],
      weight->args[ETX_PREQUANTIZED_SCALES],
      has_zeros ? weight->args[ETX_PREQUANTIZED_ZEROS] : etx_ir_none(),
      weight->args[ETX_PREQUANTIZED_LOW],
      weight->args[ETX_PREQUANTIZED_HIGH],
      builder->node->args[1]};
  for (size_t i = ETX_PREQUANTIZED_SCALES; i <= ETX_PREQUANTIZED_ZEROS; ++i) {
    uint32_t value = 0;
    if (args[i].kind != ETX_IR_ARG_VALUE) continue;
    ETX_TRY(
        etx_build_cast(builder, args[i].as.value, ETX_DTYPE_FLOAT32, &value));
    args[i] = etx_ir_value_arg(value);
  }
  *out_done = true;
  return etx_build_op(builder, ETX_OP_embedding_byte_out, args, 6,
                      &builder->results[0]);
}

etx_status etx_pass_fuse_dequantize(etx_pass_context* context) {
  static const etx_rewrite_rule rules[] = {recompose_dequantize,
                                           etx_prequantized_group_linear,
                                           fuse_linear,
                                           fuse_per_tensor_linear,
                                           fuse_mm,
                                           unshift_mm,
                                           fuse_integer_mm,
                                           fuse_scales,
                                           etx_prequantized_group_embedding,
                                           fuse_embedding};
  if (context->options->target != ETX_TARGET_ETX) return ETX_OK;
  return etx_rewrite_module(context, rules, sizeof rules / sizeof *rules);
}
