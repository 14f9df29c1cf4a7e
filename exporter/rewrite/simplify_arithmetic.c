// Identities of arithmetic: neutral elements, casts to the same type, where()
// with a uniform condition, nested clamps, biases of linear layers, and
// operands that are expanded although the operator broadcasts.
//
// Only exact identities are used. Adding 0.0 is not removed: -0.0 + 0.0 is 0.0.

#include "exporter/rewrite/simplify_rules.h"

// ------------------------------------------------ neutral elements

// The number that a tensor of varying sizes is filled with.
static bool filled_number(const etx_rewrite* rewrite, const etx_ir_arg* arg,
                          double* out) {
  const etx_ir_node* node = etx_rewrite_argument(rewrite, arg);
  while (etx_rewrite_is_op(node, ETX_OP_view_copy_out) ||
         etx_rewrite_is_op(node, ETX_OP_expand_copy_out)) {
    node = etx_rewrite_argument(rewrite, &node->args[0]);
  }
  if (!etx_rewrite_is_op(node, ETX_OP_full_out)) return false;
  const etx_ir_arg* const number = &node->args[1];
  if (number->kind == ETX_IR_ARG_DOUBLE) *out = number->as.real;
  if (number->kind == ETX_IR_ARG_INT) *out = (double)number->as.integer;
  return number->kind == ETX_IR_ARG_DOUBLE ||
         (number->kind == ETX_IR_ARG_INT &&
          etx_dim_is_number(number->as.integer));
}

// The number in operand `position` if it is a uniform constant, or is filled
// with a number.
static bool constant_number(const etx_rewrite* rewrite, size_t position,
                            double* out) {
  const etx_ir_arg* const arg = &rewrite->builder.node->args[position];
  if (arg->kind != ETX_IR_ARG_VALUE) return false;
  if (!etx_ir_is_static(etx_rewrite_shape(rewrite, arg))) {
    return filled_number(rewrite, arg, out);
  }
  const etx_ir_constant* const constant = etx_rewrite_constant(
      rewrite->builder.module, rewrite->builder.method, arg->as.value);
  return constant != NULL && etx_rewrite_number(constant, out);
}

// Replaces the result by operand `position` if both have the same type.
static void replace_by_operand(etx_rewrite* rewrite, size_t position,
                               bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  const uint32_t value = builder->node->args[position].as.value;
  const etx_shape* const from = etx_builder_shape(builder, value);
  const etx_shape* const to =
      etx_builder_shape(builder, builder->node->outputs[0]);
  if (from->dtype != to->dtype || from->rank != to->rank ||
      !etx_builder_same_dims(builder, from->dims, to->dims, to->rank)) {
    return;
  }
  builder->results[0] = value;
  *out_done = true;
}

// True if operand `position` is true everywhere, a constant or one that is
// repeated.
static bool is_true(const etx_rewrite* rewrite, size_t position) {
  const etx_ir_node* const node = rewrite->builder.node;
  const etx_ir_node* const expand =
      etx_rewrite_operand(rewrite, node, position, ETX_OP_expand_copy_out);
  const etx_ir_constant* const constant =
      etx_rewrite_constant(rewrite->builder.module, rewrite->builder.method,
                           expand == NULL ? node->args[position].as.value
                                          : expand->args[0].as.value);
  double number = 0.0;
  return constant != NULL && constant->dtype == ETX_DTYPE_BOOL &&
         etx_rewrite_number(constant, &number) && number != 0.0;
}

// and(x, true) -> x, repeated to the sizes of the result.
static etx_status simplify_and(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const node = builder->node;
  const etx_shape to = *etx_builder_shape(builder, node->outputs[0]);
  for (size_t i = 0; i < 2; ++i) {
    const uint32_t other = node->args[1 - i].as.value;
    if (!is_true(rewrite, i) ||
        etx_builder_shape(builder, other)->dtype != ETX_DTYPE_BOOL) {
      continue;
    }
    *out_done = true;
    return etx_build_expand(builder, other, to.dims, to.rank,
                            &builder->results[0]);
  }
  return ETX_OK;
}

static bool is_integer_type(const etx_rewrite* rewrite) {
  const etx_dtype dtype =
      etx_builder_shape(&rewrite->builder, rewrite->builder.node->outputs[0])
          ->dtype;
  return etx_dtype_category_of(dtype) == ETX_CATEGORY_INTEGER;
}

etx_status etx_simplify_neutral(etx_rewrite* rewrite, bool* out_done) {
  const etx_ir_node* const node = rewrite->builder.node;
  double number = 0.0;
  switch (node->op->id) {
    case ETX_OP_mul_out:
      if (constant_number(rewrite, 1, &number) && number == 1.0) {
        replace_by_operand(rewrite, 0, out_done);
      } else if (constant_number(rewrite, 0, &number) && number == 1.0) {
        replace_by_operand(rewrite, 1, out_done);
      }
      return ETX_OK;
    case ETX_OP_div_out:
      if (constant_number(rewrite, 1, &number) && number == 1.0) {
        replace_by_operand(rewrite, 0, out_done);
      }
      return ETX_OK;
    case ETX_OP_add_out:
      if (!is_integer_type(rewrite)) return ETX_OK;
      if (constant_number(rewrite, 1, &number) && number == 0.0) {
        replace_by_operand(rewrite, 0, out_done);
      }
      return ETX_OK;
    case ETX_OP_sub_out:
      if (constant_number(rewrite, 1, &number) && number == 0.0 &&
          is_integer_type(rewrite)) {
        replace_by_operand(rewrite, 0, out_done);
      }
      return ETX_OK;
    case ETX_OP_bitwise_and_tensor_out:
    case ETX_OP_logical_and_out:
      return simplify_and(rewrite, out_done);
    default:
      return ETX_OK;
  }
}

etx_status etx_simplify_cast(etx_rewrite* rewrite, bool* out_done) {
  if (rewrite->builder.node->op->id == ETX_OP_to_dim_order_copy_out) {
    replace_by_operand(rewrite, 0, out_done);
  }
  return ETX_OK;
}

// ------------------------------------------------ bounds

// clamp(clamp(x, low, None), None, high) -> clamp(x, low, high). Core ATen
// decomposes relu6 in this way.
etx_status etx_simplify_clamp(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const node = builder->node;
  if (node->op->id != ETX_OP_clamp_out) return ETX_OK;
  const etx_ir_node* const inner =
      etx_rewrite_operand(rewrite, node, 0, ETX_OP_clamp_out);
  if (inner == NULL || inner->args[2].kind != ETX_IR_ARG_NONE ||
      node->args[1].kind != ETX_IR_ARG_NONE ||
      etx_rewrite_shape(rewrite, &inner->args[0])->dtype !=
          etx_builder_shape(builder, node->outputs[0])->dtype) {
    return ETX_OK;
  }
  const etx_ir_arg args[] = {inner->args[0], inner->args[1], node->args[2]};
  *out_done = true;
  return etx_build_op(builder, ETX_OP_clamp_out, args, 3, &builder->results[0]);
}

// ------------------------------------------------ biases

// The linear layer without bias that computes operand `position`, if nothing
// else reads it and it has the sizes of the result; otherwise NULL.
static const etx_ir_node* find_unbiased_linear(const etx_rewrite* rewrite,
                                               size_t position) {
  const etx_ir_node* const node = rewrite->builder.node;
  const etx_ir_node* const layer =
      etx_rewrite_operand(rewrite, node, position, ETX_OP_linear_out);
  if (layer == NULL || layer->args[2].kind != ETX_IR_ARG_NONE ||
      !etx_rewrite_is_only_use(rewrite, node->args[position].as.value)) {
    return NULL;
  }
  const etx_shape* const from =
      etx_rewrite_shape(rewrite, &node->args[position]);
  const etx_shape* const to =
      etx_builder_shape(&rewrite->builder, node->outputs[0]);
  return from->dtype == to->dtype && from->rank == to->rank &&
                 etx_builder_same_dims(&rewrite->builder, from->dims, to->dims,
                                       to->rank)
             ? layer
             : NULL;
}

// True if operand `position` is a constant [.., 1, N], where N is the last size
// of the result.
static bool is_bias(const etx_rewrite* rewrite, size_t position) {
  const etx_ir_node* const node = rewrite->builder.node;
  const etx_shape* const to =
      etx_builder_shape(&rewrite->builder, node->outputs[0]);
  const etx_ir_constant* const line =
      etx_rewrite_constant(rewrite->builder.module, rewrite->builder.method,
                           node->args[position].as.value);
  if (line == NULL || line->rank == 0 || line->dtype != to->dtype) return false;
  for (size_t i = 0; i + 1 < line->rank; ++i) {
    if (line->sizes[i] != 1) return false;
  }
  return line->sizes[line->rank - 1] == to->dims[to->rank - 1];
}

// add(linear(x, w), b) -> linear(x, w, b). In float32 both add the bias last,
// with a rounding of its own. Halves would be rounded once instead of twice, so
// they are left alone.
etx_status etx_simplify_bias(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const node = builder->node;
  if (node->op->id != ETX_OP_add_out ||
      etx_builder_shape(builder, node->outputs[0])->dtype !=
          ETX_DTYPE_FLOAT32 ||
      builder->target != ETX_TARGET_ETX ||
      !etx_rewrite_is_int(&node->args[2], 1)) {
    return ETX_OK;
  }
  for (size_t i = 0; i < 2; ++i) {
    const etx_ir_node* const layer = find_unbiased_linear(rewrite, i);
    if (layer == NULL || !is_bias(rewrite, 1 - i)) continue;
    const etx_dim size = etx_rewrite_shape(rewrite, &layer->args[1])->dims[0];
    uint32_t line = node->args[1 - i].as.value;
    ETX_TRY(etx_build_view(builder, line, &size, 1, &line));
    const etx_ir_arg args[] = {layer->args[0], layer->args[1],
                               etx_ir_value_arg(line)};
    *out_done = true;
    return etx_build_op(builder, ETX_OP_linear_out, args, 3,
                        &builder->results[0]);
  }
  return ETX_OK;
}

// ------------------------------------------------ where

etx_status etx_simplify_where(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const node = builder->node;
  double number = 0.0;
  if (node->op->id != ETX_OP_where_self_out ||
      !constant_number(rewrite, 0, &number)) {
    return ETX_OK;
  }
  const uint32_t chosen = node->args[number != 0.0 ? 1 : 2].as.value;
  const etx_shape to = *etx_builder_shape(builder, node->outputs[0]);
  *out_done = true;
  return etx_build_expand(builder, chosen, to.dims, to.rank,
                          &builder->results[0]);
}

// ------------------------------------------------ expanded operands

bool etx_simplify_op_broadcasts(const etx_op* op) {
  return op->shape == etx_shape_broadcast ||
         op->shape == etx_shape_broadcast_bool ||
         op->shape == etx_shape_broadcast_float ||
         op->shape == etx_shape_divide_mode || op->shape == etx_shape_where;
}

static bool has_one_element(const etx_shape* shape) {
  for (size_t i = 0; i < shape->rank; ++i) {
    if (shape->dims[i] != 1) return false;
  }
  return true;
}

// The element of a uniform constant as a 0-d constant.
static etx_status one_element(etx_rewrite* rewrite,
                              const etx_ir_constant* constant,
                              uint32_t* out_value) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_constant scalar = {
      constant->dtype,
      0,
      {0},
      {constant->data.data, etx_dtype_bytes(constant->dtype)}};
  uint32_t index = 0;
  ETX_TRY(etx_ir_add_constant(builder->module, &scalar, &index));
  return etx_ir_constant_value(builder->module, builder->method, index,
                               out_value);
}

// What operand `position` was before it was spread out, or ETX_IR_NONE.
static etx_status smaller_operand(etx_rewrite* rewrite, size_t position,
                                  uint32_t* out_value) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const node = builder->node;
  *out_value = ETX_IR_NONE;
  if (node->args[position].kind != ETX_IR_ARG_VALUE) return ETX_OK;
  const uint32_t value = node->args[position].as.value;
  const etx_ir_node* const expand =
      etx_rewrite_operand(rewrite, node, position, ETX_OP_expand_copy_out);
  if (expand != NULL) {
    *out_value = expand->args[0].as.value;
    return ETX_OK;
  }
  const etx_ir_node* const full =
      etx_rewrite_operand(rewrite, node, position, ETX_OP_full_out);
  if (full != NULL) {
    // A symbolic number would need a new node in each round.
    const etx_ir_arg* const number = &full->args[1];
    if (number->kind == ETX_IR_ARG_INT &&
        !etx_dim_is_number(number->as.integer)) {
      return ETX_OK;
    }
    return etx_build_scalar(builder, &full->args[1],
                            etx_builder_shape(builder, value)->dtype,
                            out_value);
  }
  const etx_ir_constant* const constant =
      etx_rewrite_constant(builder->module, builder->method, value);
  if (constant == NULL || !etx_rewrite_is_uniform(constant) ||
      has_one_element(etx_builder_shape(builder, value))) {
    return ETX_OK;
  }
  return one_element(rewrite, constant, out_value);
}

// True if the node's result has the same type with these arguments.
static bool keeps_sizes(etx_rewrite* rewrite, const etx_ir_arg* args) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const node = builder->node;
  const etx_shape* const old = etx_builder_shape(builder, node->outputs[0]);
  etx_shape shapes[ETX_TYPE_INFERENCE_MAX_OUTPUTS];
  const etx_operator_call call = {
      .op = node->op, .args = args, .arg_count = node->arg_count};
  if (etx_type_inference_outputs(builder->method, &call, shapes, NULL) !=
      ETX_OK) {
    return false;
  }
  return shapes[0].dtype == old->dtype && shapes[0].rank == old->rank &&
         etx_builder_same_dims(builder, shapes[0].dims, old->dims, old->rank);
}

etx_status etx_simplify_broadcast(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const node = builder->node;
  if (!etx_simplify_op_broadcasts(node->op)) return ETX_OK;
  etx_ir_arg args[ETX_MAX_ARGUMENTS];
  memcpy(args, node->args, node->arg_count * sizeof *args);
  bool changed = false;
  for (size_t i = 0; i < node->arg_count; ++i) {
    uint32_t value = 0;
    ETX_TRY(smaller_operand(rewrite, i, &value));
    if (value == ETX_IR_NONE) continue;
    const etx_ir_arg old = args[i];
    args[i] = etx_ir_value_arg(value);
    if (keeps_sizes(rewrite, args)) {
      changed = true;
    } else {
      args[i] = old;
    }
  }
  if (!changed) return ETX_OK;
  *out_done = true;
  return etx_build_op(builder, node->op->id, args, node->arg_count,
                      &builder->results[0]);
}
