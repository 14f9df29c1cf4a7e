// Folds the expand of keys and values in grouped-query attention. The query
// heads that share a key head become rows of one matrix product:
//
//   bmm(q [H G, M, K], view(expand(k [H, 1, ..] to [H, G, ..])))
//     -> view(bmm(view(q, [H, G M, K]), view(k)))
//
// The operand may be transposed and scaled between the expand and the product,
// in either order. Without this pass each call would write the whole key or
// value cache G times.

#include "exporter/ir/ir_edit.h"
#include "exporter/rewrite/ir_rewrite.h"

// How the right operand is computed from the tensor that is expanded.
typedef struct expanded_operand {
  uint32_t source;     // [.., 1, A, B], the argument of expand
  etx_dim times;       // size of the expanded dimension
  uint32_t factor;     // 0-d tensor that scales it, or ETX_IR_NONE
  bool is_transposed;  // in the last two dimensions
} expanded_operand;

// Moves `at` over a permute of the last two dimensions; false at any other
// permute.
static bool skip_transpose(const etx_rewrite* rewrite, const etx_ir_node** at,
                           expanded_operand* r) {
  const etx_ir_node* const node = *at;
  if (node->op->id != ETX_OP_permute_copy_out) return true;
  const etx_ir_arg* const dims = &node->args[1];
  const size_t rank = dims->as.list.count;
  for (size_t i = 0; i < rank; ++i) {
    const size_t wanted = i + 2 < rank ? i : 2 * rank - 3 - i;
    if (rank < 2 || dims->as.list.items[i].as.integer != (etx_dim)wanted) {
      return false;
    }
  }
  r->is_transposed = true;
  *at = etx_rewrite_definition(rewrite, node->args[0].as.value);
  return *at != NULL;
}

// Reads an expand of exactly the dimension before the last two.
static bool read_expand(const etx_rewrite* rewrite, const etx_ir_node* node,
                        expanded_operand* r) {
  if (node->op->id != ETX_OP_expand_copy_out) return false;
  const etx_builder* const builder = &rewrite->builder;
  const etx_shape* const from =
      etx_builder_shape(builder, node->args[0].as.value);
  const etx_shape* const to = etx_builder_shape(builder, node->outputs[0]);
  if (from->rank != to->rank || to->rank < 3) return false;
  const size_t group = to->rank - 3u;
  for (size_t i = 0; i < to->rank; ++i) {
    if (i == group) continue;
    if (!etx_builder_same_dims(builder, &from->dims[i], &to->dims[i], 1)) {
      return false;
    }
  }
  r->source = node->args[0].as.value;
  r->times = to->dims[group];
  return from->dims[group] == 1 && etx_dim_is_number(r->times) && r->times > 1;
}

static bool read_operand(const etx_rewrite* rewrite, uint32_t operand,
                         expanded_operand* r) {
  const etx_ir_node* at = etx_rewrite_definition(rewrite, operand);
  *r = (expanded_operand){ETX_IR_NONE, 1, ETX_IR_NONE, false};
  return at != NULL && etx_rewrite_step_over_batches(rewrite, &at) &&
         etx_rewrite_step_over_factor(rewrite, &at, &r->factor) &&
         skip_transpose(rewrite, &at, r) &&
         etx_rewrite_step_over_batches(rewrite, &at) &&
         (r->factor != ETX_IR_NONE ||
          etx_rewrite_step_over_factor(rewrite, &at, &r->factor)) &&
         etx_rewrite_step_over_batches(rewrite, &at) &&
         read_expand(rewrite, at, r);
}

// The unexpanded operand as [N, rows, columns] of the product.
static etx_status emit_right(etx_rewrite* rewrite, const expanded_operand* r,
                             uint32_t* out_value) {
  etx_builder* const builder = &rewrite->builder;
  const etx_shape from = *etx_builder_shape(builder, r->source);
  etx_dim dims[3] = {0, from.dims[from.rank - 2], from.dims[from.rank - 1]};
  uint32_t value = 0;
  ETX_TRY(etx_builder_product(builder, from.dims, 0, from.rank - 2u, &dims[0]));
  ETX_TRY(etx_build_view(builder, r->source, dims, 3, &value));
  if (r->is_transposed) {
    ETX_TRY(etx_build_transpose(builder, value, 1, 2, &value));
  }
  *out_value = value;
  return ETX_OK;
}

static etx_status fold_expand(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const node = builder->node;
  const etx_op_id op = node->op->id;
  expanded_operand r;
  if ((op != ETX_OP_bmm_out && op != ETX_OP_bmm_nt_out) ||
      !read_operand(rewrite, node->args[1].as.value, &r)) {
    return ETX_OK;
  }
  uint32_t left = node->args[0].as.value;
  const etx_shape queries = *etx_builder_shape(builder, left);
  const etx_shape result = *etx_builder_shape(builder, node->outputs[0]);
  uint32_t right = 0;
  uint32_t value = 0;
  ETX_TRY(emit_right(rewrite, &r, &right));
  if (r.factor != ETX_IR_NONE) {
    ETX_TRY(etx_build_binary(builder, ETX_OP_mul_out, left, r.factor, &left));
  }
  etx_dim rows[3] = {etx_builder_shape(builder, right)->dims[0], 0,
                     queries.dims[2]};
  ETX_TRY(etx_symbols_apply(&builder->method->symbols, ETX_SYMBOL_MULTIPLY,
                            queries.dims[1], r.times, &rows[1]));
  ETX_TRY(etx_build_view(builder, left, rows, 3, &left));
  ETX_TRY(etx_build_binary(builder, op, left, right, &value));
  *out_done = true;
  return etx_build_view(builder, value, result.dims, 3, &builder->results[0]);
}

etx_status etx_pass_fold_expanded_operands(etx_pass_context* context) {
  static const etx_rewrite_rule rules[] = {fold_expand};
  return etx_rewrite_module(context, rules, 1);
}
