// Folds the transposes of operands into matrix products. For target etx, whose
// linear and bmm_nt read the right operand row by row:
//
//   mm(x, permute(w)), addmm(b, x, permute(w))  ->  linear(x, w, b)
//   mm(x, w), addmm(b, x, w), w constant        ->  linear(x, permute(w), b)
//   bmm(view(x), view(permute(w))), one batch   ->  view(linear(x, w))
//   view(linear(view(x), w, b))                 ->  linear(x, w, b)
//   bmm(q, view(permute(k)))                    ->  bmm_nt(q, view(k))
//   bmm(q, view(mul(permute(k), c)))            ->  bmm_nt(mul(q, c), view(k))
//
// So no weight is stored twice and no key is transposed per call.
//
// ExecuTorch's portable library has no bmm_nt. Where queries are fewer than
// keys, as in every step of a decoder, the operands are exchanged instead: the
// queries and the scores are transposed, not the keys. With one query both
// transposes are views.
//
//   bmm(q, view(permute(k)))  ->  permute(bmm(view(k), permute(q)))

#include "exporter/ir/ir_edit.h"
#include "exporter/rewrite/ir_rewrite.h"

// The matrix whose transpose is operand `position` of the node, or NULL.
static const etx_ir_arg* transposed_matrix(const etx_rewrite* rewrite,
                                           size_t position) {
  const etx_ir_node* const permute = etx_rewrite_operand(
      rewrite, rewrite->builder.node, position, ETX_OP_permute_copy_out);
  return permute != NULL && permute->args[1].as.list.count == 2
             ? &permute->args[0]
             : NULL;
}

// ------------------------------------------------ linear

// The matrix that operand `position` is the transpose of: the argument of a
// permute, or a transposed constant if nothing else reads the operand.
static etx_status find_weight(etx_rewrite* rewrite, size_t position,
                              etx_ir_arg* out_weight, bool* out_found) {
  const etx_ir_arg* const operand = &rewrite->builder.node->args[position];
  const etx_ir_arg* const matrix = transposed_matrix(rewrite, position);
  *out_found = matrix != NULL;
  if (matrix != NULL) {
    *out_weight = *matrix;
    return ETX_OK;
  }
  if (etx_rewrite_constant(rewrite->builder.module, rewrite->builder.method,
                           operand->as.value) == NULL ||
      !etx_rewrite_is_only_use(rewrite, operand->as.value)) {
    return ETX_OK;
  }
  uint32_t value = 0;
  ETX_TRY(
      etx_build_transpose(&rewrite->builder, operand->as.value, 0, 1, &value));
  *out_weight = etx_ir_value_arg(value);
  *out_found = true;
  return ETX_OK;
}

static etx_status find_mm(etx_rewrite* rewrite, bool* out_done) {
  const etx_ir_node* const node = rewrite->builder.node;
  if (node->op->id != ETX_OP_mm_out) return ETX_OK;
  etx_ir_arg weight;
  ETX_TRY(find_weight(rewrite, 1, &weight, out_done));
  if (!*out_done) return ETX_OK;
  const etx_ir_arg args[] = {node->args[0], weight};
  return etx_build_op(&rewrite->builder, ETX_OP_linear_out, args, 2,
                      &rewrite->builder.results[0]);
}

// The bias of linear has one dimension; [1, N] is taken as [N].
static etx_status find_addmm(etx_rewrite* rewrite, bool* out_done) {
  const etx_ir_node* const node = rewrite->builder.node;
  if (node->op->id != ETX_OP_addmm_out) return ETX_OK;
  etx_ir_arg weight;
  const etx_shape bias = *etx_rewrite_shape(rewrite, &node->args[0]);
  const bool fits = bias.rank == 1 || (bias.rank == 2 && bias.dims[0] == 1);
  if (!fits || !etx_rewrite_is_int(&node->args[3], 1) ||
      !etx_rewrite_is_int(&node->args[4], 1)) {
    return ETX_OK;
  }
  ETX_TRY(find_weight(rewrite, 2, &weight, out_done));
  if (!*out_done) return ETX_OK;
  uint32_t flat = 0;
  ETX_TRY(etx_build_view(&rewrite->builder, node->args[0].as.value,
                         &bias.dims[bias.rank - 1], 1, &flat));
  const etx_ir_arg args[] = {node->args[1], weight, etx_ir_value_arg(flat)};
  return etx_build_op(&rewrite->builder, ETX_OP_linear_out, args, 3,
                      &rewrite->builder.results[0]);
}

// True for a constant, or views and permutes of one.
static bool is_view_of_constant(const etx_rewrite* rewrite, uint32_t value) {
  const etx_builder* const builder = &rewrite->builder;
  while (etx_rewrite_constant(builder->module, builder->method, value) ==
         NULL) {
    const etx_ir_node* const node = etx_ir_definition(builder->method, value);
    if (node == NULL || (node->op->id != ETX_OP_view_copy_out &&
                         node->op->id != ETX_OP_permute_copy_out)) {
      return false;
    }
    value = node->args[0].as.value;
  }
  return true;
}

// A bmm with one batch and a constant weight, as einsum lowers a layer: x [1,
// M, K] times w [1, K, N]. fold_constants transposes the weight.
static etx_status find_single_bmm(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const node = builder->node;
  if (node->op->id != ETX_OP_bmm_out) return ETX_OK;
  const etx_shape left = *etx_rewrite_shape(rewrite, &node->args[0]);
  const etx_shape right = *etx_rewrite_shape(rewrite, &node->args[1]);
  if (right.dims[0] != 1 ||
      !is_view_of_constant(rewrite, node->args[1].as.value)) {
    return ETX_OK;
  }
  const etx_dim whole[] = {1, left.dims[1], right.dims[2]};
  uint32_t input = node->args[0].as.value;
  uint32_t weight = node->args[1].as.value;
  uint32_t value = 0;
  ETX_TRY(etx_build_view(builder, input, &left.dims[1], 2, &input));
  ETX_TRY(etx_build_view(builder, weight, &right.dims[1], 2, &weight));
  ETX_TRY(etx_build_transpose(builder, weight, 0, 1, &weight));
  ETX_TRY(etx_build_binary(builder, ETX_OP_linear_out, input, weight, &value));
  *out_done = true;
  return etx_build_view(builder, value, whole, 3, &builder->results[0]);
}

// linear keeps all leading dimensions, so views that collapse and restore them
// around it are removed.
static etx_status find_viewed_linear(etx_rewrite* rewrite, bool* out_done) {
  const etx_ir_node* const node = rewrite->builder.node;
  if (node->op->id != ETX_OP_view_copy_out) return ETX_OK;
  const etx_ir_node* const linear =
      etx_rewrite_operand(rewrite, node, 0, ETX_OP_linear_out);
  if (linear == NULL ||
      !etx_rewrite_is_only_use(rewrite, node->args[0].as.value)) {
    return ETX_OK;
  }
  const etx_ir_node* const view =
      etx_rewrite_operand(rewrite, linear, 0, ETX_OP_view_copy_out);
  if (view == NULL) return ETX_OK;
  const etx_shape* const from = etx_rewrite_shape(rewrite, &view->args[0]);
  const etx_shape* const to =
      etx_builder_shape(&rewrite->builder, node->outputs[0]);
  const etx_shape* const flat = etx_rewrite_shape(rewrite, &linear->args[0]);
  const etx_symbols* const symbols = &rewrite->builder.method->symbols;
  const etx_dim wide = etx_rewrite_shape(rewrite, &linear->args[1])->dims[0];
  const bool fits = from->rank == to->rank && from->rank != 0 &&
                    etx_builder_same_dims(&rewrite->builder, from->dims,
                                          to->dims, from->rank - 1u) &&
                    etx_symbols_equal(symbols, from->dims[from->rank - 1],
                                      flat->dims[flat->rank - 1]) &&
                    etx_symbols_equal(symbols, to->dims[to->rank - 1], wide);
  if (!fits) return ETX_OK;
  const etx_ir_arg args[] = {view->args[0], linear->args[1], linear->args[2]};
  *out_done = true;
  return etx_build_op(&rewrite->builder, ETX_OP_linear_out, args, 3,
                      &rewrite->builder.results[0]);
}

// ------------------------------------------------ bmm_nt

// How the right operand of a bmm is computed from the tensor it permutes.
typedef struct permuted_operand {
  const etx_ir_node* permute;
  uint32_t factor;  // 0-d tensor that scales it, or ETX_IR_NONE
} permuted_operand;

static bool read_permuted(const etx_rewrite* rewrite, uint32_t operand,
                          permuted_operand* out) {
  const etx_ir_value* const value = &rewrite->builder.method->values[operand];
  *out = (permuted_operand){NULL, ETX_IR_NONE};
  if (value->origin != ETX_IR_FROM_NODE) return false;
  const etx_ir_node* at = &rewrite->builder.method->nodes[value->index];
  if (!etx_rewrite_step_over_batches(rewrite, &at)) return false;
  if (!etx_rewrite_step_over_factor(rewrite, &at, &out->factor)) return false;
  if (at->op->id != ETX_OP_permute_copy_out) return false;
  out->permute = at;
  // The last two dimensions must be exchanged, or a transpose would remain.
  const size_t rank = at->args[1].as.list.count;
  return rank >= 2 && etx_rewrite_is_int(&at->args[1].as.list.items[rank - 2],
                                         (int64_t)rank - 1);
}

// The operand of the permute in the order that bmm_nt reads: [N, S, K].
static etx_status emit_right(etx_rewrite* rewrite, const permuted_operand* c,
                             const etx_shape* operand, uint32_t* out_value) {
  const etx_ir_arg* const dims = &c->permute->args[1];
  const size_t rank = dims->as.list.count;
  size_t order[ETX_MAX_RANK];
  for (size_t i = 0; i < rank; ++i) {
    order[i] = (size_t)dims->as.list.items[i].as.integer;
  }
  const size_t last = order[rank - 1];
  order[rank - 1] = order[rank - 2];
  order[rank - 2] = last;
  const etx_dim flat[] = {operand->dims[0], operand->dims[2], operand->dims[1]};
  uint32_t value = 0;
  ETX_TRY(etx_build_permute(&rewrite->builder, c->permute->args[0].as.value,
                            order, &value));
  return etx_build_view(&rewrite->builder, value, flat, 3, out_value);
}

// Emits the product of `left` with the transposed matrices of `right`.
typedef etx_status (*product_emitter)(etx_rewrite* rewrite, uint32_t left,
                                      uint32_t right);

static etx_status emit_bmm_nt(etx_rewrite* rewrite, uint32_t left,
                              uint32_t right) {
  return etx_build_binary(&rewrite->builder, ETX_OP_bmm_nt_out, left, right,
                          &rewrite->builder.results[0]);
}

// [N, A, B] as [N, B, A]: a view where one of them is 1.
static etx_status transpose_batch(etx_builder* builder, uint32_t self,
                                  uint32_t* out_value) {
  const etx_shape shape = *etx_builder_shape(builder, self);
  if (shape.dims[1] != 1 && shape.dims[2] != 1) {
    return etx_build_transpose(builder, self, 1, 2, out_value);
  }
  const etx_dim dims[] = {shape.dims[0], shape.dims[2], shape.dims[1]};
  return etx_build_view(builder, self, dims, 3, out_value);
}

static etx_status emit_exchanged_bmm(etx_rewrite* rewrite, uint32_t left,
                                     uint32_t right) {
  etx_builder* const builder = &rewrite->builder;
  ETX_TRY(transpose_batch(builder, left, &left));
  ETX_TRY(etx_build_binary(builder, ETX_OP_bmm_out, right, left, &right));
  return transpose_batch(builder, right, &builder->results[0]);
}

static etx_status rewrite_bmm(etx_rewrite* rewrite, product_emitter emit,
                              bool* out_done) {
  const etx_ir_node* const node = rewrite->builder.node;
  permuted_operand c;
  if (!read_permuted(rewrite, node->args[1].as.value, &c)) return ETX_OK;
  const etx_shape operand = *etx_rewrite_shape(rewrite, &node->args[1]);
  // Appending nodes may move the array that c.permute points into.
  const etx_ir_node permute = *c.permute;
  c.permute = &permute;
  uint32_t left = node->args[0].as.value;
  uint32_t right = 0;
  ETX_TRY(emit_right(rewrite, &c, &operand, &right));
  if (c.factor != ETX_IR_NONE) {
    ETX_TRY(etx_build_binary(&rewrite->builder, ETX_OP_mul_out, left, c.factor,
                             &left));
  }
  *out_done = true;
  return emit(rewrite, left, right);
}

static etx_status find_bmm(etx_rewrite* rewrite, bool* out_done) {
  if (rewrite->builder.node->op->id != ETX_OP_bmm_out) return ETX_OK;
  return rewrite_bmm(rewrite, emit_bmm_nt, out_done);
}

// Upper bound of a dimension.
static double upper(const etx_rewrite* rewrite, etx_dim dim) {
  int64_t low = 0;
  int64_t high = 0;
  etx_symbols_bounds(&rewrite->builder.method->symbols, dim, &low, &high);
  return (double)high;
}

// left [N, M, K] times [N, K, S]: exchanges the operands if queries and scores
// have fewer elements than keys.
static etx_status find_few_queries(etx_rewrite* rewrite, bool* out_done) {
  const etx_ir_node* const node = rewrite->builder.node;
  if (node->op->id != ETX_OP_bmm_out) return ETX_OK;
  const etx_shape* const left = etx_rewrite_shape(rewrite, &node->args[0]);
  const etx_shape* const right = etx_rewrite_shape(rewrite, &node->args[1]);
  const double m = upper(rewrite, left->dims[1]);
  const double k = upper(rewrite, left->dims[2]);
  const double s = upper(rewrite, right->dims[2]);
  if (left->dims[1] != 1 && m * (k + s) >= k * s) return ETX_OK;
  return rewrite_bmm(rewrite, emit_exchanged_bmm, out_done);
}

etx_status etx_pass_fold_matmul_transposes(etx_pass_context* context) {
  static const etx_rewrite_rule rules[] = {
      find_mm, find_addmm, find_viewed_linear, find_single_bmm, find_bmm};
  static const etx_rewrite_rule stock_rules[] = {find_few_queries};
  return context->options->target == ETX_TARGET_ETX
             ? etx_rewrite_module(context, rules, sizeof rules / sizeof *rules)
             : etx_rewrite_module(context, stock_rules,
                                  sizeof stock_rules / sizeof *stock_rules);
}
