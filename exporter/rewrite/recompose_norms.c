// Finds the norms that models spell out over one dimension:
//
//   x / sqrt(mean(x x) + eps)                rms_norm(x)
//   d / sqrt(mean(d d) + eps), d = x - mean(x)
//                                            native_layer_norm(x)
//   d / sqrt(var(x) + eps)                   native_layer_norm(x)
//   norm(x) w, norm(x) w + b                 norm(x, w, b)
//   half(norm(float(x)))                     norm(x)
//
// Other spellings are the same (exporter/rewrite/norm_pattern.h). Operators
// normalise the last dimension; another one, as that of channels, becomes the
// last one for a layer norm. For an rms norm that would take longer than its
// few steps do.
//
// Sums have another order: results agree within 1e-5 of the largest value.
// Halves are rounded once, behind the weight.

#include "exporter/ir/ir_edit.h"
#include "exporter/rewrite/ir_rewrite.h"
#include "exporter/rewrite/norm_pattern.h"

// ------------------------------------------------ operators

// The order in which dimension `axis` is the last one, and the way back.
static void axis_orders(size_t rank, size_t axis, size_t* there, size_t* back) {
  for (size_t i = 0; i < rank; ++i) {
    there[i] = i < axis ? i : i + 1;
    back[i] = i < axis ? i : i == axis ? rank - 1 : i - 1;
  }
  there[rank - 1] = axis;
}

// A line as a tensor of rank 1.
static etx_status shape_line(etx_builder* lower, etx_dim size,
                             etx_ir_arg* line) {
  if (line->kind != ETX_IR_ARG_VALUE) return ETX_OK;
  uint32_t value = line->as.value;
  if (etx_builder_shape(lower, value)->rank != 1) {
    ETX_TRY(etx_build_view(lower, value, &size, 1, &value));
  }
  *line = etx_ir_value_arg(value);
  return ETX_OK;
}

// A norm over the last dimension of `value`, whose result's last dimension
// becomes dimension `axis`.
static etx_status emit_norm(etx_builder* lower, bool is_centred, uint32_t value,
                            etx_ir_arg weight, etx_ir_arg bias, double eps,
                            size_t axis) {
  const etx_shape shape = *etx_builder_shape(lower, value);
  const etx_dim last = shape.dims[shape.rank - 1];
  etx_ir_arg args[5] = {etx_ir_value_arg(value)};
  uint32_t values[3];
  ETX_TRY(etx_build_int_list(lower, &last, 1, &args[1]));
  ETX_TRY(shape_line(lower, last, &weight));
  ETX_TRY(shape_line(lower, last, &bias));
  args[2] = weight;
  args[3] = is_centred ? bias : etx_ir_double(eps);
  args[4] = etx_ir_double(eps);
  ETX_TRY(etx_build_op_outputs(
      lower, is_centred ? ETX_OP_native_layer_norm_out : ETX_OP_rms_norm_out,
      args, is_centred ? 5 : 4, NULL, values));
  lower->results[0] = values[0];
  if (axis + 1u == shape.rank) return ETX_OK;
  size_t there[ETX_MAX_RANK], back[ETX_MAX_RANK];
  axis_orders(shape.rank, axis, there, back);
  return etx_build_permute(lower, values[0], back, &lower->results[0]);
}

// The kernels know floats and halves, of one type.
static etx_status find_norm(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const lower = &rewrite->lower;
  const etx_dtype dtype =
      etx_builder_shape(lower, lower->node->outputs[0])->dtype;
  etx_norm_pattern n;
  if ((dtype != ETX_DTYPE_FLOAT32 && dtype != ETX_DTYPE_FLOAT64) ||
      !etx_norm_pattern_read(rewrite, lower->node, &n)) {
    return ETX_OK;
  }
  const etx_shape shape = *etx_builder_shape(lower, n.value);
  if (!etx_dim_is_number(shape.dims[n.axis]) ||
      (n.axis + 1u < shape.rank && !n.is_centred)) {
    return ETX_OK;
  }
  ETX_TRY(etx_fusion_report_fused(rewrite->fusions, lower,
                                  n.is_centred ? "layer norm" : "rms norm"));
  if (n.axis + 1u < shape.rank) {
    size_t there[ETX_MAX_RANK], back[ETX_MAX_RANK];
    axis_orders(shape.rank, n.axis, there, back);
    ETX_TRY(etx_build_permute(lower, n.value, there, &n.value));
  }
  *out_done = true;
  return emit_norm(
      lower, n.is_centred, n.value,
      n.weight == ETX_IR_NONE ? etx_ir_none() : etx_ir_value_arg(n.weight),
      etx_ir_none(), n.eps, n.axis);
}

// ------------------------------------------------ weight and bias

// A norm as it stands in the graph.
typedef struct found {
  const etx_ir_node* node;
  bool is_centred;
  size_t axis;
} found;

// The norm whose result `arg` is, perhaps permuted, and that nobody else reads.
static bool find_operand(const etx_rewrite* rewrite, const etx_ir_arg* arg,
                         found* out) {
  const etx_ir_node* node = etx_rewrite_argument(rewrite, arg);
  if (node == NULL || !etx_rewrite_is_only_use(rewrite, arg->as.value)) {
    return false;
  }
  const size_t rank = etx_rewrite_shape(rewrite, arg)->rank;
  uint32_t value = arg->as.value;
  out->axis = rank - 1u;
  if (etx_rewrite_is_op(node, ETX_OP_permute_copy_out)) {
    const etx_ir_arg* const order = node->args[1].as.list.items;
    size_t there[ETX_MAX_RANK], back[ETX_MAX_RANK];
    out->axis = 0;
    while (order[out->axis].as.integer != (int64_t)rank - 1) ++out->axis;
    axis_orders(rank, out->axis, there, back);
    for (size_t i = 0; i < rank; ++i) {
      if (order[i].as.integer != (int64_t)back[i]) return false;
    }
    value = node->args[0].as.value;
    node = etx_ir_definition(rewrite->lower.method, value);
    if (!etx_rewrite_is_only_use(rewrite, value)) return false;
  }
  out->node = node;
  out->is_centred = etx_rewrite_is_op(node, ETX_OP_native_layer_norm_out);
  return (out->is_centred || etx_rewrite_is_op(node, ETX_OP_rms_norm_out)) &&
         node->args[1].as.list.count == 1 && node->outputs[0] == value;
}

// The norm among the operands where the other one is a line along its
// dimension.
static bool find_pair(const etx_rewrite* rewrite, found* out,
                      etx_ir_arg* out_line) {
  const etx_ir_node* const node = rewrite->lower.node;
  const etx_shape* const result =
      etx_builder_shape(&rewrite->lower, node->outputs[0]);
  for (size_t i = 0; i < 2; ++i) {
    *out_line = node->args[1 - i];
    if (find_operand(rewrite, &node->args[i], out) &&
        etx_norm_pattern_is_one_dim(rewrite, out_line, result, out->axis)) {
      return true;
    }
  }
  return false;
}

static etx_status find_weight(etx_rewrite* rewrite, bool* out_done) {
  found f;
  etx_ir_arg line;
  if (rewrite->lower.node->op->id != ETX_OP_mul_out ||
      !find_pair(rewrite, &f, &line)) {
    return ETX_OK;
  }
  const etx_ir_arg* const args = f.node->args;
  if (args[2].kind != ETX_IR_ARG_NONE ||
      (f.is_centred && args[3].kind != ETX_IR_ARG_NONE)) {
    return ETX_OK;
  }
  *out_done = true;
  return emit_norm(&rewrite->lower, f.is_centred, args[0].as.value, line,
                   etx_ir_none(), args[f.is_centred ? 4 : 3].as.real, f.axis);
}

static etx_status find_bias(etx_rewrite* rewrite, bool* out_done) {
  const etx_ir_node* const node = rewrite->lower.node;
  found f;
  etx_ir_arg line;
  if (node->op->id != ETX_OP_add_out ||
      !etx_rewrite_is_int(&node->args[2], 1) ||
      !find_pair(rewrite, &f, &line) || !f.is_centred ||
      f.node->args[3].kind != ETX_IR_ARG_NONE) {
    return ETX_OK;
  }
  *out_done = true;
  return emit_norm(&rewrite->lower, true, f.node->args[0].as.value,
                   f.node->args[2], line, f.node->args[4].as.real, f.axis);
}

// A norm that is computed in a wider type, between two casts.
static etx_status find_cast(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const lower = &rewrite->lower;
  const etx_ir_node* const node = lower->node;
  found f;
  if (node->op->id != ETX_OP_to_dim_order_copy_out ||
      !find_operand(rewrite, &node->args[0], &f) ||
      f.axis + 1u != etx_rewrite_shape(rewrite, &node->args[0])->rank ||
      f.node->args[2].kind != ETX_IR_ARG_NONE ||
      (f.is_centred && f.node->args[3].kind != ETX_IR_ARG_NONE)) {
    return ETX_OK;
  }
  const etx_ir_node* const up = etx_rewrite_argument(rewrite, &f.node->args[0]);
  const etx_dtype dtype = etx_builder_shape(lower, node->outputs[0])->dtype;
  if (!etx_rewrite_is_op(up, ETX_OP_to_dim_order_copy_out) ||
      etx_rewrite_shape(rewrite, &up->args[0])->dtype != dtype ||
      etx_dtype_bytes(dtype) >=
          etx_dtype_bytes(etx_rewrite_shape(rewrite, &node->args[0])->dtype)) {
    return ETX_OK;
  }
  *out_done = true;
  return emit_norm(lower, f.is_centred, up->args[0].as.value, etx_ir_none(),
                   etx_ir_none(), f.node->args[f.is_centred ? 4 : 3].as.real,
                   f.axis);
}

etx_status etx_pass_recompose_norms(etx_pass_context* context) {
  static const etx_rewrite_rule rules[] = {find_norm, find_cast, find_weight,
                                           find_bias};
  if (context->options->target != ETX_TARGET_ETX) return ETX_OK;
  return etx_rewrite_module(context, rules, 4);
}
