// Replaces spelled-out norms over one dimension by one operator:
//
//   x / sqrt(mean(x x) + eps)                    ->  rms_norm(x)
//   d / sqrt(mean(d d) + eps), d = x - mean(x)   ->  native_layer_norm(x)
//   d / sqrt(var(x) + eps)                       ->  native_layer_norm(x)
//   norm(x) w, norm(x) w + b                     ->  norm(x, w, b)
//   half(norm(float(x)))                         ->  norm(x)
//
// and other spellings (norm_pattern.h). The operators normalise the last
// dimension. A layer norm over another one, such as channels, is permuted
// before and after; for an RMS norm that would cost more than its few nodes.
//
// Sums have another order: results agree within 1e-5 of the largest value.
// Halves are rounded once, after the weight.

#include "exporter/ir/ir_edit.h"
#include "exporter/rewrite/ir_rewrite.h"
#include "exporter/rewrite/norm_pattern.h"

// ------------------------------------------------ operators

// The permutation that moves dimension `axis` to the end, and its inverse.
static void axis_orders(size_t rank, size_t axis, size_t* to_last,
                        size_t* inverse) {
  for (size_t i = 0; i < rank; ++i) {
    to_last[i] = i < axis ? i : i + 1;
    inverse[i] = i < axis ? i : i == axis ? rank - 1 : i - 1;
  }
  to_last[rank - 1] = axis;
}

// Makes a weight or bias a tensor of rank 1.
static etx_status flatten_parameter(etx_builder* builder, etx_dim size,
                                    etx_ir_arg* parameter) {
  if (parameter->kind != ETX_IR_ARG_VALUE) return ETX_OK;
  uint32_t value = parameter->as.value;
  if (etx_builder_shape(builder, value)->rank != 1) {
    ETX_TRY(etx_build_view(builder, value, &size, 1, &value));
  }
  *parameter = etx_ir_value_arg(value);
  return ETX_OK;
}

// A norm over one dimension, in the form of the operator's arguments.
typedef struct norm_spec {
  bool is_centred;  // native_layer_norm; otherwise rms_norm
  uint32_t value;   // dimension `axis` of the result is its last one
  size_t axis;
  etx_ir_arg weight, bias;  // none, or one element per index of the dimension
  double eps;
} norm_spec;

// Emits the norm over the last dimension of n->value, and moves that dimension
// of the result to n->axis.
static etx_status emit_norm(etx_builder* builder, const norm_spec* n) {
  const etx_shape shape = *etx_builder_shape(builder, n->value);
  const etx_dim last = shape.dims[shape.rank - 1];
  etx_ir_arg weight = n->weight, bias = n->bias;
  etx_ir_arg args[5] = {etx_ir_value_arg(n->value)};
  uint32_t values[3];
  ETX_TRY(etx_build_int_list(builder, &last, 1, &args[1]));
  ETX_TRY(flatten_parameter(builder, last, &weight));
  ETX_TRY(flatten_parameter(builder, last, &bias));
  args[2] = weight;
  args[3] = n->is_centred ? bias : etx_ir_double(n->eps);
  args[4] = etx_ir_double(n->eps);
  ETX_TRY(etx_build_op_outputs(
      builder,
      n->is_centred ? ETX_OP_native_layer_norm_out : ETX_OP_rms_norm_out, args,
      n->is_centred ? 5 : 4, NULL, values));
  builder->results[0] = values[0];
  if (n->axis + 1u == shape.rank) return ETX_OK;
  size_t to_last[ETX_MAX_RANK], inverse[ETX_MAX_RANK];
  axis_orders(shape.rank, n->axis, to_last, inverse);
  return etx_build_permute(builder, values[0], inverse, &builder->results[0]);
}

static etx_status recompose_norm(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  const etx_dtype dtype =
      etx_builder_shape(builder, builder->node->outputs[0])->dtype;
  etx_norm_pattern n;
  if ((dtype != ETX_DTYPE_FLOAT32 && dtype != ETX_DTYPE_FLOAT64) ||
      !etx_norm_pattern_read(rewrite, builder->node, &n)) {
    return ETX_OK;
  }
  const etx_shape shape = *etx_builder_shape(builder, n.value);
  if (!etx_dim_is_number(shape.dims[n.axis]) ||
      (n.axis + 1u < shape.rank && !n.is_centred)) {
    return ETX_OK;
  }
  ETX_TRY(etx_fusion_report_fused(rewrite->fusions, builder,
                                  n.is_centred ? "layer norm" : "rms norm"));
  if (n.axis + 1u < shape.rank) {
    size_t to_last[ETX_MAX_RANK], inverse[ETX_MAX_RANK];
    axis_orders(shape.rank, n.axis, to_last, inverse);
    ETX_TRY(etx_build_permute(builder, n.value, to_last, &n.value));
  }
  *out_done = true;
  const norm_spec spec = {.is_centred = n.is_centred,
                          .value = n.value,
                          .axis = n.axis,
                          .weight = n.weight == ETX_IR_NONE
                                        ? etx_ir_none()
                                        : etx_ir_value_arg(n.weight),
                          .bias = etx_ir_none(),
                          .eps = n.eps};
  return emit_norm(builder, &spec);
}

// ------------------------------------------------ weight and bias

// A norm operator in the graph.
typedef struct norm_node {
  const etx_ir_node* node;
  bool is_centred;
  size_t axis;
} norm_node;

static double eps_of(const norm_node* norm) {
  return norm->node->args[norm->is_centred ? 4 : 3].as.real;
}

// The norm that computes `arg`, perhaps through a permute, if nothing else
// reads its result.
static bool find_operand(const etx_rewrite* rewrite, const etx_ir_arg* arg,
                         norm_node* out) {
  const etx_ir_node* node = etx_rewrite_argument(rewrite, arg);
  if (node == NULL || !etx_rewrite_is_only_use(rewrite, arg->as.value)) {
    return false;
  }
  const size_t rank = etx_rewrite_shape(rewrite, arg)->rank;
  uint32_t value = arg->as.value;
  out->axis = rank - 1u;
  if (etx_rewrite_is_op(node, ETX_OP_permute_copy_out)) {
    const etx_ir_arg* const order = node->args[1].as.list.items;
    size_t to_last[ETX_MAX_RANK], inverse[ETX_MAX_RANK];
    out->axis = 0;
    while (order[out->axis].as.integer != (int64_t)rank - 1) ++out->axis;
    axis_orders(rank, out->axis, to_last, inverse);
    for (size_t i = 0; i < rank; ++i) {
      if (order[i].as.integer != (int64_t)inverse[i]) return false;
    }
    value = node->args[0].as.value;
    node = etx_ir_definition(rewrite->builder.method, value);
    if (!etx_rewrite_is_only_use(rewrite, value)) return false;
  }
  out->node = node;
  out->is_centred = etx_rewrite_is_op(node, ETX_OP_native_layer_norm_out);
  return (out->is_centred || etx_rewrite_is_op(node, ETX_OP_rms_norm_out)) &&
         node->args[1].as.list.count == 1 && node->outputs[0] == value;
}

// The operand that is a norm, if the other one has one element for each index
// of the normalised dimension.
static bool find_pair(const etx_rewrite* rewrite, norm_node* out,
                      etx_ir_arg* out_parameter) {
  const etx_ir_node* const node = rewrite->builder.node;
  const etx_shape* const result =
      etx_builder_shape(&rewrite->builder, node->outputs[0]);
  for (size_t i = 0; i < 2; ++i) {
    *out_parameter = node->args[1 - i];
    if (find_operand(rewrite, &node->args[i], out) &&
        etx_norm_pattern_is_one_dim(rewrite, out_parameter, result,
                                    out->axis)) {
      return true;
    }
  }
  return false;
}

static etx_status fold_weight(etx_rewrite* rewrite, bool* out_done) {
  norm_node f;
  etx_ir_arg parameter;
  if (rewrite->builder.node->op->id != ETX_OP_mul_out ||
      !find_pair(rewrite, &f, &parameter)) {
    return ETX_OK;
  }
  const etx_ir_arg* const args = f.node->args;
  if (args[2].kind != ETX_IR_ARG_NONE ||
      (f.is_centred && args[3].kind != ETX_IR_ARG_NONE)) {
    return ETX_OK;
  }
  *out_done = true;
  const norm_spec spec = {.is_centred = f.is_centred,
                          .value = args[0].as.value,
                          .axis = f.axis,
                          .weight = parameter,
                          .bias = etx_ir_none(),
                          .eps = eps_of(&f)};
  return emit_norm(&rewrite->builder, &spec);
}

static etx_status fold_bias(etx_rewrite* rewrite, bool* out_done) {
  const etx_ir_node* const node = rewrite->builder.node;
  norm_node f;
  etx_ir_arg parameter;
  if (node->op->id != ETX_OP_add_out ||
      !etx_rewrite_is_int(&node->args[2], 1) ||
      !find_pair(rewrite, &f, &parameter) || !f.is_centred ||
      f.node->args[3].kind != ETX_IR_ARG_NONE) {
    return ETX_OK;
  }
  *out_done = true;
  const norm_spec spec = {.is_centred = true,
                          .value = f.node->args[0].as.value,
                          .axis = f.axis,
                          .weight = f.node->args[2],
                          .bias = parameter,
                          .eps = eps_of(&f)};
  return emit_norm(&rewrite->builder, &spec);
}

// Removes the casts around a norm that is computed in a wider type.
static etx_status fold_casts(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const node = builder->node;
  norm_node f;
  if (node->op->id != ETX_OP_to_dim_order_copy_out ||
      !find_operand(rewrite, &node->args[0], &f) ||
      f.axis + 1u != etx_rewrite_shape(rewrite, &node->args[0])->rank ||
      f.node->args[2].kind != ETX_IR_ARG_NONE ||
      (f.is_centred && f.node->args[3].kind != ETX_IR_ARG_NONE)) {
    return ETX_OK;
  }
  const etx_ir_node* const up = etx_rewrite_argument(rewrite, &f.node->args[0]);
  const etx_dtype dtype = etx_builder_shape(builder, node->outputs[0])->dtype;
  if (!etx_rewrite_is_op(up, ETX_OP_to_dim_order_copy_out) ||
      etx_rewrite_shape(rewrite, &up->args[0])->dtype != dtype ||
      etx_dtype_bytes(dtype) >=
          etx_dtype_bytes(etx_rewrite_shape(rewrite, &node->args[0])->dtype)) {
    return ETX_OK;
  }
  *out_done = true;
  const norm_spec spec = {.is_centred = f.is_centred,
                          .value = up->args[0].as.value,
                          .axis = f.axis,
                          .weight = etx_ir_none(),
                          .bias = etx_ir_none(),
                          .eps = eps_of(&f)};
  return emit_norm(builder, &spec);
}

etx_status etx_pass_recompose_norms(etx_pass_context* context) {
  static const etx_rewrite_rule rules[] = {recompose_norm, fold_casts,
                                           fold_weight, fold_bias};
  if (context->options->target != ETX_TARGET_ETX) return ETX_OK;
  return etx_rewrite_module(context, rules, 4);
}
