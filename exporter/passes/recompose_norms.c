// Finds the norms that models spell out over their last dimension:
//
//   x / sqrt(mean(x x) + eps)                rms_norm(x)
//   d / sqrt(mean(d d) + eps), d = x - mean(x)
//                                            native_layer_norm(x)
//   norm(x) w, norm(x) w + b                 norm(x, w, b)
//
// The last step may be a product with rsqrt. Sums have another order: results
// agree within 1e-5 of the largest value.

#include "exporter/ir_edit.h"
#include "exporter/ir_rewrite.h"

static const etx_ir_node* definition_of(const etx_rewrite* rewrite,
                                        const etx_ir_arg* arg) {
  return arg->kind == ETX_IR_ARG_VALUE
             ? etx_ir_definition(rewrite->lower.method, arg->as.value)
             : NULL;
}

static bool is_op(const etx_ir_node* node, etx_op_id op) {
  return node != NULL && node->op->id == op;
}

// mean(value) over the last dimension, which stays; what it is the mean of.
static bool read_mean(const etx_rewrite* rewrite, const etx_ir_node* node,
                      etx_ir_arg* out_operand) {
  if (!is_op(node, ETX_OP_mean_out) || !node->args[2].as.boolean) return false;
  const etx_ir_arg* const dims = &node->args[1];
  const size_t rank = etx_rewrite_shape(rewrite, &node->args[0])->rank;
  if (dims->kind != ETX_IR_ARG_LIST || dims->as.list.count != 1 || rank == 0) {
    return false;
  }
  *out_operand = node->args[0];
  const etx_ir_arg* const dim = &dims->as.list.items[0];
  return etx_rewrite_is_int(dim, -1) ||
         etx_rewrite_is_int(dim, (int64_t)rank - 1);
}

// The value that `arg` is the square of.
static bool read_square(const etx_rewrite* rewrite, const etx_ir_arg* arg,
                        uint32_t* out_value) {
  const etx_ir_node* const node = definition_of(rewrite, arg);
  if (node == NULL) return false;
  *out_value = node->args[0].kind == ETX_IR_ARG_VALUE ? node->args[0].as.value
                                                      : ETX_IR_NONE;
  if (is_op(node, ETX_OP_square_out)) return true;
  if (is_op(node, ETX_OP_pow_tensor_scalar_out)) {
    return etx_rewrite_is_int(&node->args[1], 2) ||
           (node->args[1].kind == ETX_IR_ARG_DOUBLE &&
            node->args[1].as.real == 2);
  }
  return is_op(node, ETX_OP_mul_out) &&
         node->args[1].as.value == node->args[0].as.value;
}

// mean(value^2) + eps
static bool read_spread(const etx_rewrite* rewrite, const etx_ir_arg* arg,
                        uint32_t* out_value, double* out_eps) {
  const etx_ir_node* const sum = definition_of(rewrite, arg);
  etx_ir_arg squares;
  if (!is_op(sum, ETX_OP_add_out) || !etx_rewrite_is_int(&sum->args[2], 1)) {
    return false;
  }
  for (size_t i = 0; i < 2; ++i) {
    const etx_ir_constant* const eps =
        etx_rewrite_constant(rewrite->lower.module, rewrite->lower.method,
                             sum->args[1 - i].as.value);
    if (eps == NULL || eps->data.size != sizeof(float)) continue;
    return etx_rewrite_number(eps, out_eps) &&
           read_mean(rewrite, definition_of(rewrite, &sum->args[i]),
                     &squares) &&
           read_square(rewrite, &squares, out_value);
  }
  return false;
}

// A node that divides `out_value` by the root of its mean square.
static bool read_quotient(const etx_rewrite* rewrite, const etx_ir_node* node,
                          uint32_t* out_value, double* out_eps) {
  const bool divides = is_op(node, ETX_OP_div_out);
  if (!divides && !is_op(node, ETX_OP_mul_out)) return false;
  for (size_t i = divides ? 1 : 0; i < 2; ++i) {
    const etx_ir_node* const root = definition_of(rewrite, &node->args[i]);
    if (!is_op(root, divides ? ETX_OP_sqrt_out : ETX_OP_rsqrt_out)) continue;
    return read_spread(rewrite, &root->args[0], out_value, out_eps) &&
           node->args[1 - i].as.value == *out_value;
  }
  return false;
}

// x of x - mean(x).
static bool read_centred(const etx_rewrite* rewrite, uint32_t value,
                         uint32_t* out_value) {
  const etx_ir_node* const node =
      etx_ir_definition(rewrite->lower.method, value);
  etx_ir_arg operand;
  if (!is_op(node, ETX_OP_sub_out) || !etx_rewrite_is_int(&node->args[2], 1) ||
      !read_mean(rewrite, definition_of(rewrite, &node->args[1]), &operand)) {
    return false;
  }
  *out_value = node->args[0].as.value;
  return operand.as.value == *out_value;
}

static etx_status emit_norm(etx_lower* lower, bool is_centred, uint32_t value,
                            const etx_ir_arg* weight, const etx_ir_arg* bias,
                            double eps) {
  const etx_shape shape = *etx_lower_shape(lower, value);
  etx_ir_arg args[5] = {etx_ir_value_arg(value)};
  uint32_t values[3];
  ETX_TRY(etx_lower_ints(lower, &shape.dims[shape.rank - 1], 1, &args[1]));
  args[2] = *weight;
  args[3] = is_centred ? *bias : etx_ir_double(eps);
  args[4] = etx_ir_double(eps);
  ETX_TRY(etx_lower_emit_all(
      lower, is_centred ? ETX_OP_native_layer_norm_out : ETX_OP_rms_norm_out,
      args, is_centred ? 5 : 4, NULL, values));
  lower->results[0] = values[0];
  return ETX_OK;
}

static etx_status find_norm(etx_rewrite* rewrite, bool* out_done) {
  etx_lower* const lower = &rewrite->lower;
  const etx_ir_arg none = etx_ir_none();
  uint32_t value = 0;
  double eps = 0;
  if (etx_lower_shape(lower, lower->node->outputs[0])->dtype !=
          ETX_DTYPE_FLOAT32 ||
      !read_quotient(rewrite, lower->node, &value, &eps)) {
    return ETX_OK;
  }
  const bool is_centred = read_centred(rewrite, value, &value);
  if (!etx_dim_is_number(etx_lower_shape(lower, value)
                             ->dims[etx_lower_shape(lower, value)->rank - 1])) {
    return ETX_OK;
  }
  *out_done = true;
  ETX_TRY(etx_fusion_made(rewrite->fusions, lower,
                          is_centred ? "layer norm" : "rms norm"));
  return emit_norm(lower, is_centred, value, &none, &none, eps);
}

// ------------------------------------------------ weight and bias

// One number for each element of the last dimension.
static bool is_line(const etx_rewrite* rewrite, const etx_ir_arg* arg,
                    const etx_shape* result) {
  const etx_shape* const shape = etx_rewrite_shape(rewrite, arg);
  return shape->rank == 1 && shape->dtype == result->dtype &&
         shape->dims[0] == result->dims[result->rank - 1];
}

// The norm among the operands, whose result nobody else reads.
static const etx_ir_node* find_operand(const etx_rewrite* rewrite,
                                       size_t* out_other) {
  const etx_ir_node* const node = rewrite->lower.node;
  const etx_shape* const result =
      etx_lower_shape(&rewrite->lower, node->outputs[0]);
  for (size_t i = 0; i < 2; ++i) {
    const etx_ir_node* const norm = definition_of(rewrite, &node->args[i]);
    if ((is_op(norm, ETX_OP_rms_norm_out) ||
         is_op(norm, ETX_OP_native_layer_norm_out)) &&
        norm->args[1].as.list.count == 1 &&
        norm->outputs[0] == node->args[i].as.value &&
        etx_rewrite_is_only_use(rewrite, node->args[i].as.value) &&
        is_line(rewrite, &node->args[1 - i], result)) {
      *out_other = 1 - i;
      return norm;
    }
  }
  return NULL;
}

static etx_status find_weight(etx_rewrite* rewrite, bool* out_done) {
  etx_lower* const lower = &rewrite->lower;
  size_t other = 0;
  if (lower->node->op->id != ETX_OP_mul_out) return ETX_OK;
  const etx_ir_node* const norm = find_operand(rewrite, &other);
  if (norm == NULL || norm->args[2].kind != ETX_IR_ARG_NONE) return ETX_OK;
  const bool is_centred = is_op(norm, ETX_OP_native_layer_norm_out);
  if (is_centred && norm->args[3].kind != ETX_IR_ARG_NONE) return ETX_OK;
  const etx_ir_arg none = etx_ir_none();
  *out_done = true;
  return emit_norm(lower, is_centred, norm->args[0].as.value,
                   &lower->node->args[other], &none,
                   norm->args[is_centred ? 4 : 3].as.real);
}

static etx_status find_bias(etx_rewrite* rewrite, bool* out_done) {
  etx_lower* const lower = &rewrite->lower;
  const etx_ir_node* const node = lower->node;
  size_t other = 0;
  if (node->op->id != ETX_OP_add_out || !etx_rewrite_is_int(&node->args[2], 1))
    return ETX_OK;
  const etx_ir_node* const norm = find_operand(rewrite, &other);
  if (norm == NULL || !is_op(norm, ETX_OP_native_layer_norm_out) ||
      norm->args[3].kind != ETX_IR_ARG_NONE) {
    return ETX_OK;
  }
  const etx_ir_arg weight = norm->args[2];
  *out_done = true;
  return emit_norm(lower, true, norm->args[0].as.value, &weight,
                   &node->args[other], norm->args[4].as.real);
}

etx_status etx_pass_recompose_norms(etx_pass_context* context) {
  static const etx_rewrite_rule norms[] = {find_norm};
  static const etx_rewrite_rule weights[] = {find_weight};
  static const etx_rewrite_rule biases[] = {find_bias};
  if (context->options->target != ETX_TARGET_ETX) return ETX_OK;
  for (size_t i = 0; i < context->module->method_count; ++i) {
    etx_ir_method* const method = &context->module->methods[i];
    bool changed = false;
    ETX_TRY(etx_rewrite_method(context, method, norms, 1, &changed));
    if (!changed) continue;
    ETX_TRY(etx_rewrite_method(context, method, weights, 1, &changed));
    ETX_TRY(etx_rewrite_method(context, method, biases, 1, &changed));
  }
  return ETX_OK;
}
