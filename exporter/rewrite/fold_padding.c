// Folds zero padding of a convolution's input into its padding argument, if
// both ends of each dimension get the same number of zeros:
//
//   conv(constant_pad_nd(x, [1, 1, 1, 1], 0), w, padding [0, 0])
//     -> conv(x, w, padding [1, 1])

#include "exporter/ir/ir_edit.h"
#include "exporter/rewrite/ir_rewrite.h"

// Arguments of the convolution.
enum { INPUT, PADDING = 4, TRANSPOSED = 6, ARGUMENTS = 9 };

static bool is_zero(const etx_ir_arg* arg) {
  return etx_rewrite_is_int(arg, 0) ||
         (arg->kind == ETX_IR_ARG_DOUBLE && arg->as.real == 0);
}

// Adds the node's padding to `padding`, which has `count` spatial dimensions.
// The node lists pairs (before, after) from the last dimension on. False if the
// two numbers of a pair differ or other dimensions are padded.
static bool add_padding(const etx_ir_node* pad, etx_dim* padding,
                        size_t count) {
  const etx_ir_arg* const ends = &pad->args[1];
  if (ends->as.list.count % 2 != 0 || ends->as.list.count > 2 * count) {
    return false;
  }
  for (size_t i = 0; i < ends->as.list.count; i += 2) {
    const etx_ir_arg* const pair = &ends->as.list.items[i];
    if (pair[0].kind != ETX_IR_ARG_INT || pair[1].kind != ETX_IR_ARG_INT ||
        !etx_dim_is_number(pair[0].as.integer) || pair[0].as.integer < 0 ||
        pair[0].as.integer != pair[1].as.integer) {
      return false;
    }
    padding[count - 1 - i / 2] += pair[0].as.integer;
  }
  return true;
}

// Reads the convolution's padding; false if it is symbolic.
static bool read_padding(const etx_ir_node* node, size_t count,
                         etx_dim out_padding[ETX_MAX_RANK]) {
  const etx_ir_arg* const list = &node->args[PADDING];
  for (size_t i = 0; i < count; ++i) {
    const size_t at = list->as.list.count == 1 ? 0 : i;
    if (at >= list->as.list.count) return false;
    const etx_ir_arg* const item = &list->as.list.items[at];
    if (item->kind != ETX_IR_ARG_INT || !etx_dim_is_number(item->as.integer)) {
      return false;
    }
    out_padding[i] = item->as.integer;
  }
  return true;
}

static etx_status fold_pad(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const node = builder->node;
  if (node->op->id != ETX_OP_convolution_out ||
      node->args[TRANSPOSED].as.boolean) {
    return ETX_OK;
  }
  const etx_ir_node* const pad =
      etx_rewrite_operand(rewrite, node, INPUT, ETX_OP_constant_pad_nd_out);
  const size_t rank = etx_rewrite_shape(rewrite, &node->args[INPUT])->rank;
  etx_dim padding[ETX_MAX_RANK];
  if (pad == NULL || rank < 3 || !is_zero(&pad->args[2]) ||
      !etx_rewrite_is_only_use(rewrite, node->args[INPUT].as.value) ||
      !read_padding(node, rank - 2, padding) ||
      !add_padding(pad, padding, rank - 2)) {
    return ETX_OK;
  }
  etx_ir_arg args[ARGUMENTS];
  memcpy(args, node->args, sizeof args);
  args[INPUT] = pad->args[0];
  ETX_TRY(etx_build_int_list(builder, padding, rank - 2, &args[PADDING]));
  *out_done = true;
  ETX_TRY(etx_fusion_report_fused(rewrite->fusions, builder, "padding"));
  return etx_build_op(builder, ETX_OP_convolution_out, args, ARGUMENTS,
                      &builder->results[0]);
}

etx_status etx_pass_fold_padding(etx_pass_context* context) {
  static const etx_rewrite_rule rules[] = {fold_pad};
  return etx_rewrite_module(context, rules, 1);
}
