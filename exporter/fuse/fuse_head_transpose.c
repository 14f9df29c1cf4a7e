// Fuses the transpose of attention heads that follows a packed linear layer
// into the store of the layer:
//
//   permute(view(linear_panels(x, p, b, [], "x"), [1, T, H, D]), [0, 2, 1, 3])
//     -> view(linear_heads(x, p, b, H))
//
// Attention keeps keys and values by head, while a linear layer computes them
// row by row. With the fusion, a key or value cache is written once and in
// place.

#include "exporter/rewrite/ir_rewrite.h"

static const char* const kind = "head transpose";

// True if `node` exchanges the two dimensions before the last, and no other.
static bool is_exchange(const etx_ir_node* node) {
  const etx_ir_arg* const dims = &node->args[1];
  const size_t rank = dims->as.list.count;
  if (rank < 3) return false;
  for (size_t i = 0; i < rank; ++i) {
    const size_t from = i == rank - 2 ? i - 1 : i == rank - 3 ? i + 1 : i;
    if (dims->as.list.items[i].as.integer != (int64_t)from) return false;
  }
  return true;
}

// True if the layer has a fused epilogue.
static bool has_epilogue(const etx_ir_node* layer) {
  return !etx_text_is(layer->args[4].as.string, "x");
}

// True if all dimensions but the last `kept` are 1.
static bool has_unit_batch(const etx_shape* shape, size_t kept) {
  for (size_t i = 0; i + kept < shape->rank; ++i) {
    if (shape->dims[i] != 1) return false;
  }
  return true;
}

// True if each head is a whole number of panels of 16 columns.
static bool has_whole_panels(const etx_shape* rows, const etx_shape* heads) {
  const etx_dim* const last = &heads->dims[heads->rank - 2];
  const etx_dim columns = rows->dims[rows->rank - 1];
  return etx_dim_is_number(columns) && etx_dim_is_number(last[0]) &&
         etx_dim_is_number(last[1]) && last[0] > 0 && last[1] % 16 == 0 &&
         last[0] * last[1] == columns;
}

static etx_status fuse_transpose(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const node = builder->node;
  if (node->op->id != ETX_OP_permute_copy_out || !is_exchange(node)) {
    return ETX_OK;
  }
  const etx_ir_node* const view =
      etx_rewrite_operand(rewrite, node, 0, ETX_OP_view_copy_out);
  if (view == NULL) return ETX_OK;
  const etx_ir_node* const layer =
      etx_rewrite_operand(rewrite, view, 0, ETX_OP_linear_panels_out);
  if (layer == NULL) return ETX_OK;
  const etx_shape rows = *etx_builder_shape(builder, layer->outputs[0]);
  const etx_shape heads = *etx_builder_shape(builder, view->outputs[0]);
  const etx_shape out = *etx_builder_shape(builder, node->outputs[0]);
  const char* reason = NULL;
  if (rows.rank < 2 || !has_whole_panels(&rows, &heads)) {
    reason = "the width of a head is not a multiple of 16";
  } else if (!has_unit_batch(&rows, 2) || !has_unit_batch(&heads, 3)) {
    reason = "the batch has more than one sequence";
  } else if (has_epilogue(layer)) {
    reason = "the layer has a fused epilogue";
  } else if (!etx_rewrite_is_only_use(rewrite, layer->outputs[0]) ||
             !etx_rewrite_is_only_use(rewrite, view->outputs[0])) {
    reason = "the result of the layer has other uses";
  }
  if (reason != NULL) {
    return etx_fusion_report_missed(rewrite->fusions, builder, kind, reason);
  }
  const etx_ir_arg args[] = {layer->args[0], layer->args[1], layer->args[2],
                             etx_ir_int(heads.dims[heads.rank - 2u])};
  uint32_t value = 0;
  ETX_TRY(etx_fusion_report_fused(rewrite->fusions, builder, kind));
  ETX_TRY(etx_build_op(builder, ETX_OP_linear_heads_out, args, 4, &value));
  *out_done = true;
  return etx_build_view(builder, value, out.dims, out.rank,
                        &builder->results[0]);
}

etx_status etx_pass_fuse_head_transpose(etx_pass_context* context) {
  static const etx_rewrite_rule rules[] = {fuse_transpose};
  if (context->options->target != ETX_TARGET_ETX) return ETX_OK;
  return etx_rewrite_module(context, rules, 1);
}
