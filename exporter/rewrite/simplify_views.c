// Merges nested views, permutes and expands, and removes those that change
// nothing.

#include "exporter/rewrite/simplify_rules.h"

static uint32_t operand(const etx_ir_node* node) {
  return node->args[0].as.value;
}

etx_status etx_simplify_view(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const node = builder->node;
  if (node->op->id != ETX_OP_view_copy_out) return ETX_OK;
  const etx_shape to = *etx_builder_shape(builder, node->outputs[0]);
  const etx_ir_node* const inner =
      etx_rewrite_operand(rewrite, node, 0, ETX_OP_view_copy_out);
  const uint32_t base = inner != NULL ? operand(inner) : operand(node);
  uint32_t value = 0;
  const etx_shape from = *etx_builder_shape(builder, base);
  const bool same = from.rank == to.rank &&
                    etx_builder_same_dims(builder, from.dims, to.dims, to.rank);
  if (inner == NULL && !same) return ETX_OK;
  ETX_TRY(etx_build_view(builder, base, to.dims, to.rank, &value));
  builder->results[0] = value;
  *out_done = true;
  return ETX_OK;
}

static void read_order(const etx_ir_node* permute, size_t* order) {
  const etx_ir_arg* const dims = &permute->args[1];
  for (size_t i = 0; i < dims->as.list.count; ++i) {
    order[i] = (size_t)dims->as.list.items[i].as.integer;
  }
}

etx_status etx_simplify_permute(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const node = builder->node;
  if (node->op->id != ETX_OP_permute_copy_out) return ETX_OK;
  const etx_ir_node* const inner =
      etx_rewrite_operand(rewrite, node, 0, ETX_OP_permute_copy_out);
  if (inner == NULL) return ETX_OK;
  const size_t rank = node->args[1].as.list.count;
  size_t outer_order[ETX_MAX_RANK];
  size_t inner_order[ETX_MAX_RANK];
  size_t order[ETX_MAX_RANK];
  read_order(node, outer_order);
  read_order(inner, inner_order);
  for (size_t i = 0; i < rank; ++i) order[i] = inner_order[outer_order[i]];
  *out_done = true;
  return etx_build_permute(builder, operand(inner), order,
                           &builder->results[0]);
}

etx_status etx_simplify_expand(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const node = builder->node;
  if (node->op->id != ETX_OP_expand_copy_out) return ETX_OK;
  const etx_shape to = *etx_builder_shape(builder, node->outputs[0]);
  const etx_ir_node* const inner =
      etx_rewrite_operand(rewrite, node, 0, ETX_OP_expand_copy_out);
  const uint32_t base = inner != NULL ? operand(inner) : operand(node);
  const etx_shape from = *etx_builder_shape(builder, base);
  const bool same = from.rank == to.rank &&
                    etx_builder_same_dims(builder, from.dims, to.dims, to.rank);
  if (inner == NULL && !same) return ETX_OK;
  *out_done = true;
  return etx_build_expand(builder, base, to.dims, to.rank,
                          &builder->results[0]);
}
