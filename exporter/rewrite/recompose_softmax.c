// Replaces a spelled-out softmax by one operator:
//
//   exp(x - max(x)) / sum(exp(x - max(x)))  ->  softmax(x)
//   exp(log_softmax(x))                     ->  softmax(x)
//   softmax(x - max(x))                     ->  softmax(x)
//   softmax((x - max(x)) c)                 ->  softmax(x c)
//
// Sums have another order: results agree within 1e-5 of the largest value.

#include <math.h>

#include "exporter/ir/ir_edit.h"
#include "exporter/rewrite/ir_rewrite.h"

// Reads the only dimension of a reduction, counted from the front. `stays` is
// the value of keepdim that the reduction must have.
static bool read_dim(const etx_rewrite* rewrite, const etx_ir_node* node,
                     bool stays, etx_dim* out_dim) {
  const etx_ir_arg* dim = &node->args[1];
  const bool keeps =
      node->args[2].kind == ETX_IR_ARG_BOOL && node->args[2].as.boolean;
  if (dim->kind == ETX_IR_ARG_LIST) {
    if (dim->as.list.count != 1) return false;
    dim = &dim->as.list.items[0];
  }
  if (keeps != stays || dim->kind != ETX_IR_ARG_INT) return false;
  const etx_dim rank = etx_rewrite_shape(rewrite, &node->args[0])->rank;
  *out_dim = dim->as.integer < 0 ? dim->as.integer + rank : dim->as.integer;
  return true;
}

// True if `view` restores dimension `dim` that a reduction of `from` removed.
static bool restores_dim(const etx_rewrite* rewrite, const etx_ir_node* view,
                         const etx_shape* from, etx_dim dim) {
  const etx_shape* const to =
      etx_builder_shape(&rewrite->builder, view->outputs[0]);
  etx_shape wanted = *from;
  if (dim < 0 || dim >= from->rank) return false;
  wanted.dims[dim] = 1;
  return to->rank == from->rank &&
         etx_builder_same_dims(&rewrite->builder, to->dims, wanted.dims,
                               to->rank);
}

// Reads x - max(x) over one dimension.
static bool read_shifted(const etx_rewrite* rewrite, const etx_ir_node* node,
                         uint32_t* out_value, etx_dim* out_dim) {
  if (node == NULL || !etx_rewrite_is_int(&node->args[2], 1)) return false;
  uint32_t most = node->args[1].as.value;
  const etx_ir_node* reduction =
      etx_ir_definition(rewrite->builder.method, most);
  const etx_ir_node* view = NULL;
  if (etx_rewrite_is_op(reduction, ETX_OP_view_copy_out)) {
    view = reduction;
    most = view->args[0].as.value;
    reduction = etx_ir_definition(rewrite->builder.method, most);
  }
  if (reduction == NULL || (reduction->op->id != ETX_OP_amax_out &&
                            reduction->op->id != ETX_OP_max_dim_max)) {
    return false;
  }
  *out_value = node->args[0].as.value;
  return reduction->outputs[0] == most &&
         reduction->args[0].as.value == *out_value &&
         read_dim(rewrite, reduction, view == NULL, out_dim) &&
         (view == NULL ||
          restores_dim(rewrite, view,
                       etx_builder_shape(&rewrite->builder, *out_value),
                       *out_dim));
}

// Reads exp(x - max(x)) / sum(exp(x - max(x))).
static bool read_quotient(const etx_rewrite* rewrite, uint32_t* out_value,
                          etx_dim* out_dim) {
  const etx_ir_node* const node = rewrite->builder.node;
  const etx_ir_node* const powers =
      etx_rewrite_operand(rewrite, node, 0, ETX_OP_exp_out);
  const etx_ir_node* const sum =
      etx_rewrite_operand(rewrite, node, 1, ETX_OP_sum_intlist_out);
  etx_dim dim = 0;
  return powers != NULL && sum != NULL &&
         sum->args[0].as.value == node->args[0].as.value &&
         read_shifted(rewrite,
                      etx_rewrite_operand(rewrite, powers, 0, ETX_OP_sub_out),
                      out_value, out_dim) &&
         read_dim(rewrite, sum, true, &dim) && dim == *out_dim;
}

// Reads exp(log_softmax(x)).
static bool read_exp(const etx_rewrite* rewrite, uint32_t* out_value,
                     etx_dim* out_dim) {
  const etx_ir_node* const softmax = etx_rewrite_operand(
      rewrite, rewrite->builder.node, 0, ETX_OP_log_softmax_out);
  if (softmax == NULL) return false;
  *out_value = softmax->args[0].as.value;
  *out_dim = softmax->args[1].as.integer;
  return true;
}

static etx_status recompose_quotient_or_exp(etx_rewrite* rewrite,
                                            bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  uint32_t value = 0;
  etx_dim dim = 0;
  const bool is_found = builder->node->op->id == ETX_OP_div_out
                            ? read_quotient(rewrite, &value, &dim)
                        : builder->node->op->id == ETX_OP_exp_out
                            ? read_exp(rewrite, &value, &dim)
                            : false;
  const etx_dtype dtype =
      etx_builder_shape(builder, builder->node->outputs[0])->dtype;
  if (!is_found || etx_builder_shape(builder, value)->dtype != dtype)
    return ETX_OK;
  *out_done = true;
  ETX_TRY(etx_fusion_report_fused(rewrite->fusions, builder, "softmax"));
  return etx_build_softmax(builder, value, dim, &builder->results[0]);
}

// The constant factor by which `node` scales a tensor (1 / c for a division by
// c), and the position of the tensor; 0 if it is not a scaling.
static double factor_of(const etx_rewrite* rewrite, const etx_ir_node* node,
                        size_t* out_scaled) {
  double number = 0;
  *out_scaled = 0;
  if (!etx_rewrite_is_op(node, ETX_OP_mul_out) &&
      !etx_rewrite_is_op(node, ETX_OP_div_out)) {
    return 0;
  }
  const bool divides = node->op->id == ETX_OP_div_out;
  for (size_t i = 0; i < (divides ? 1u : 2u); ++i) {
    const etx_ir_constant* const constant =
        etx_rewrite_constant(rewrite->builder.module, rewrite->builder.method,
                             node->args[1 - i].as.value);
    if (constant == NULL || !etx_rewrite_number(constant, &number)) continue;
    *out_scaled = i;
    return divides ? 1 / number : number;
  }
  return 0;
}

// softmax subtracts the maximum itself, so an earlier subtraction is removed.
// It stays if a factor larger than 1 follows, which could overflow without it,
// unless that factor only undoes an earlier one.
static etx_status drop_shift(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const node = builder->node;
  if (node->op->id != ETX_OP_softmax_out) return ETX_OK;
  const etx_shape type = *etx_builder_shape(builder, node->outputs[0]);
  const etx_ir_node* const scaling =
      etx_rewrite_definition(rewrite, node->args[0].as.value);
  size_t scaled = 0, inner = 0;
  uint32_t value = 0;
  etx_dim dim = 0, own = node->args[1].as.integer;
  double factor = factor_of(rewrite, scaling, &scaled);
  const etx_ir_node* const shifted =
      factor == 0
          ? etx_rewrite_operand(rewrite, node, 0, ETX_OP_sub_out)
          : etx_rewrite_operand(rewrite, scaling, scaled, ETX_OP_sub_out);
  if (own < 0) own += type.rank;
  if (factor < 0 || type.dtype == ETX_DTYPE_FLOAT16 ||
      !read_shifted(rewrite, shifted, &value, &dim) || dim != own ||
      etx_builder_shape(builder, value)->dtype != type.dtype) {
    return ETX_OK;
  }
  const double before =
      factor_of(rewrite, etx_rewrite_definition(rewrite, value), &inner);
  if (factor > 1 && !(before != 0 && fabs(before * factor) <= 1)) return ETX_OK;
  if (factor != 0) {
    uint32_t operands[2] = {value, scaling->args[1 - scaled].as.value};
    if (scaled == 1) {
      operands[0] = operands[1];
      operands[1] = value;
    }
    ETX_TRY(etx_build_binary(builder, scaling->op->id, operands[0], operands[1],
                             &value));
  }
  *out_done = true;
  return etx_build_softmax(builder, value, dim, &builder->results[0]);
}

etx_status etx_pass_recompose_softmax(etx_pass_context* context) {
  static const etx_rewrite_rule rules[] = {recompose_quotient_or_exp,
                                           drop_shift};
  if (context->options->target != ETX_TARGET_ETX) return ETX_OK;
  return etx_rewrite_module(context, rules, sizeof rules / sizeof *rules);
}
