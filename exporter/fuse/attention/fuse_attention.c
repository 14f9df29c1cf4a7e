// Fuses scaled dot product attention into one operator, which reads its
// operands with any order of dimensions and writes its result in any order:
//
//   bmm(softmax(mask(scale(bmm_nt(q, k)))), v)  ->  attention(q, k, v, mask)
//   .. mask(c tanh(scale(bmm_nt(q, k)))) ..     ->  attention_capped(.., c)
//   attention(q, cast(k), cast(v), ..), k and v of a half type
//                                               ->  attention(q, k, v, ..)
//   permute(view(attention(..)))                ->  view(attention(..))
//
// Transposes, expands for grouped heads and constant scales of the operands are
// skipped. Sums have another order than in the separate operators: results
// agree within 1e-5 of the largest value. Values between the operators are no
// longer rounded to half types.

#include "exporter/fuse/attention/attention_pattern.h"
#include "exporter/report/fusion_report.h"
#include "exporter/ir/ir_edit.h"
#include "exporter/passes/pass_context.h"
#include "exporter/rewrite/simplify_rules.h"

// Arguments of etx::attention. etx::attention_capped has one more, the cap.
enum { OUT_ORDER = 8, ARGUMENTS = 13, MAX_ARGUMENTS };

static bool is_attention(const etx_ir_node* node) {
  return node->op->id == ETX_OP_attention_out ||
         node->op->id == ETX_OP_attention_capped_out;
}

static etx_status emit(etx_builder* builder, etx_op_id op,
                       const etx_ir_arg args[MAX_ARGUMENTS],
                       uint32_t* out_value) {
  const size_t count =
      op == ETX_OP_attention_out ? (size_t)ARGUMENTS : (size_t)MAX_ARGUMENTS;
  return etx_build_op(builder, op, args, count, out_value);
}

// ------------------------------------------------ sizes

static bool equal(const etx_rewrite* rewrite, etx_dim a, etx_dim b) {
  return etx_symbols_equal(&rewrite->builder.method->symbols, a, b);
}

// Finds batch and heads of scores [N, L, S] from the queries, which were viewed
// from [B, H, L, D] as [N, L, D].
static void split_batch(const etx_rewrite* rewrite,
                        const etx_attention_scores* s,
                        etx_attention_sizes* out) {
  uint32_t at = s->left;
  const etx_ir_node* node = etx_ir_definition(rewrite->builder.method, at);
  while (node != NULL && node->op->id != ETX_OP_permute_copy_out) {
    if (node->op->id != ETX_OP_view_copy_out &&
        node->op->id != ETX_OP_mul_out) {
      return;
    }
    node = etx_ir_definition(rewrite->builder.method, node->args[0].as.value);
  }
  if (node == NULL) return;
  const etx_shape* const source =
      etx_builder_shape(&rewrite->builder, node->outputs[0]);
  if (source->rank != 4 || !equal(rewrite, source->dims[2], out->rows)) return;
  out->batch = source->dims[0];
  out->heads = source->dims[1];
}

// Reads [batch, heads, rows, keys] from the shape of the scores.
static bool read_scores(etx_rewrite* rewrite, const etx_attention_scores* s,
                        etx_attention_sizes* out) {
  const etx_shape* const shape = &s->shape;
  const size_t rank = shape->rank;
  if (rank < 2 || rank > 5) return false;
  out->keys = shape->dims[rank - 1];
  out->rows = shape->dims[rank - 2];
  out->batch = out->heads = 1;
  if (rank == 3) {
    out->heads = shape->dims[0];
    etx_attention_sizes other = *out;
    split_batch(rewrite, s, &other);
    if (etx_rewrite_is_product(rewrite, other.batch, other.heads, out->heads)) {
      *out = other;
    }
  } else if (rank >= 4) {
    out->batch = shape->dims[0];
    out->heads = shape->dims[1];
  }
  if (rank < 5) return true;
  out->heads = 0;
  return etx_symbols_apply(&rewrite->builder.method->symbols,
                           ETX_SYMBOL_MULTIPLY, shape->dims[1], shape->dims[2],
                           &out->heads) == ETX_OK;
}

// Reads the number of key heads. Queries are [N, rows, D], and several query
// heads that share a key head may be rows of one product
// (fold_expanded_operands).
static bool read_groups(etx_rewrite* rewrite, const etx_attention_scores* s,
                        etx_attention_sizes* out) {
  const etx_shape left = *etx_builder_shape(&rewrite->builder, s->left);
  out->width = left.dims[2];
  out->groups = out->heads;
  if (equal(rewrite, left.dims[1], out->rows)) {
    return etx_rewrite_is_product(rewrite, out->batch, out->groups,
                                  left.dims[0]);
  }
  if (!etx_dim_is_number(out->heads)) return false;
  for (etx_dim times = 2; times <= out->heads; ++times) {
    if (out->heads % times != 0 ||
        !etx_rewrite_is_product(rewrite, times, out->rows, left.dims[1])) {
      continue;
    }
    out->groups = out->heads / times;
    return etx_rewrite_is_product(rewrite, out->batch, out->groups,
                                  left.dims[0]);
  }
  return false;
}

// ------------------------------------------------ operands

static etx_status order_arg(etx_builder* builder, const size_t order[4],
                            etx_ir_arg* out) {
  etx_dim dims[4];
  for (size_t i = 0; i < 4; ++i) dims[i] = (etx_dim)order[i];
  return etx_build_int_list(builder, dims, 4, out);
}

// Emits the 4-d view of an operand and its order of dimensions. `swaps`
// exchanges rows and elements in the order.
static etx_status emit_operand(etx_rewrite* rewrite, etx_attention_operand* o,
                               bool swaps, etx_ir_arg* out_value,
                               etx_ir_arg* out_order) {
  etx_builder* const builder = &rewrite->builder;
  uint32_t value = 0;
  ETX_TRY(etx_build_view(builder, o->base, o->stored.dims, 4, &value));
  if (swaps) {
    const size_t last = o->order[3];
    o->order[3] = o->order[2];
    o->order[2] = last;
  }
  *out_value = etx_ir_value_arg(value);
  return order_arg(builder, o->order, out_order);
}

// The operand without skipping anything: as the matrix product reads it.
static etx_attention_operand product_operand(const etx_rewrite* rewrite,
                                             uint32_t value,
                                             const etx_dim dims[4]) {
  etx_attention_operand o = {
      value, *etx_builder_shape(&rewrite->builder, value), {0, 1, 2, 3}, 1};
  o.stored.rank = 4;
  memcpy(o.stored.dims, dims, 4 * sizeof *dims);
  return o;
}

// True if the operand has these sizes, so no expand was skipped.
static bool has_sizes(const etx_rewrite* rewrite,
                      const etx_attention_operand* o, const etx_dim dims[4]) {
  for (size_t i = 0; i < 4; ++i) {
    if (!equal(rewrite, o->stored.dims[o->order[i]], dims[i])) return false;
  }
  return true;
}

// A scaler per row of scores is applied to the queries instead, in the order in
// which they are stored.
static etx_status scale_queries(etx_rewrite* rewrite,
                                const etx_attention_scores* s,
                                const etx_attention_sizes* z,
                                etx_attention_operand* o) {
  etx_builder* const builder = &rewrite->builder;
  uint32_t scaler = s->scaler.value;
  size_t places[4];
  if (scaler == ETX_IR_NONE) return ETX_OK;
  ETX_TRY(etx_score_operand_broadcast(rewrite, &s->scaler, z, scaler, &scaler));
  const etx_shape own = *etx_builder_shape(builder, scaler);
  if (own.rank != 0) {
    etx_dim dims[4] = {1, 1, 1, 1};
    memcpy(dims + 4 - own.rank, own.dims, own.rank * sizeof *dims);
    for (size_t i = 0; i < 4; ++i) places[o->order[i]] = i;
    ETX_TRY(etx_build_view(builder, scaler, dims, 4, &scaler));
    ETX_TRY(etx_build_permute(builder, scaler, places, &scaler));
  }
  ETX_TRY(etx_build_view(builder, o->base, o->stored.dims, 4, &o->base));
  ETX_TRY(etx_build_binary(builder,
                           s->is_divisor ? ETX_OP_div_out : ETX_OP_mul_out,
                           o->base, scaler, &o->base));
  o->stored = *etx_builder_shape(builder, o->base);
  return ETX_OK;
}

static etx_status emit_operands(etx_rewrite* rewrite,
                                const etx_attention_scores* s,
                                const etx_attention_sizes* z, double* scale,
                                etx_ir_arg args[MAX_ARGUMENTS]) {
  const uint32_t values = rewrite->builder.node->args[1].as.value;
  const etx_dim query[] = {z->batch, z->heads, z->rows, z->width};
  const etx_dim key[] = {z->batch, z->groups, z->keys, z->width};
  const etx_dim transposed_key[] = {z->batch, z->groups, z->width, z->keys};
  const etx_dim value[] = {z->batch, z->groups, z->keys, z->height};
  etx_attention_operand operands[] = {
      etx_attention_operand_find(rewrite, s->left, query),
      etx_attention_operand_find(rewrite, s->right,
                                 s->is_nt ? key : transposed_key),
      etx_attention_operand_find(rewrite, values, value)};
  // The operator takes batch and heads of the result from the queries.
  if (!has_sizes(rewrite, &operands[0], query)) {
    operands[0] = product_operand(rewrite, s->left, query);
  }
  // A factor of the values scales the result, not the scores.
  if (operands[2].factor != 1)
    operands[2] = product_operand(rewrite, values, value);
  *scale *= operands[0].factor * operands[1].factor;
  ETX_TRY(scale_queries(rewrite, s, z, &operands[0]));
  for (size_t i = 0; i < 3; ++i) {
    ETX_TRY(emit_operand(rewrite, &operands[i], i == 1 && !s->is_nt, &args[i],
                         &args[5 + i]));
  }
  return ETX_OK;
}

// ------------------------------------------------ the operator

static etx_status emit_attention(etx_rewrite* rewrite,
                                 const etx_attention_scores* s,
                                 const etx_attention_sizes* z) {
  static const size_t identity[] = {0, 1, 2, 3};
  etx_builder* const builder = &rewrite->builder;
  const etx_shape result =
      *etx_builder_shape(builder, builder->node->outputs[0]);
  double scale = s->scale;
  etx_attention_masking masking;
  etx_ir_arg args[MAX_ARGUMENTS];
  for (size_t i = 0; i < MAX_ARGUMENTS; ++i) args[i] = etx_ir_none();
  ETX_TRY(emit_operands(rewrite, s, z, &scale, args));
  ETX_TRY(order_arg(builder, identity, &args[OUT_ORDER]));
  ETX_TRY(etx_attention_masking_emit(rewrite, s, z, &masking));
  args[3] = masking.mask;
  args[4] = masking.last;
  args[9] = etx_ir_double(scale);
  args[10] = etx_ir_double(masking.hidden);
  args[11] = etx_ir_bool(masking.is_causal);
  args[12] = etx_ir_bool(s->is_guarded);
  args[13] = etx_ir_double(s->cap);
  uint32_t value = 0;
  ETX_TRY(emit(builder,
               s->cap == 0 ? ETX_OP_attention_out : ETX_OP_attention_capped_out,
               args, &value));
  return etx_build_view(builder, value, result.dims, result.rank,
                        &builder->results[0]);
}

static etx_fusion_obstacle read_sizes(etx_rewrite* rewrite,
                                      const etx_attention_scores* s,
                                      etx_attention_sizes* out) {
  const etx_shape values =
      *etx_rewrite_shape(rewrite, &rewrite->builder.node->args[1]);
  const etx_dtype dtype = etx_builder_shape(&rewrite->builder, s->left)->dtype;
  out->height = values.dims[2];
  if (values.dtype != dtype ||
      (s->scaler.value != ETX_IR_NONE &&
       etx_builder_shape(&rewrite->builder, s->scaler.value)->dtype != dtype)) {
    return "its operands have different types";
  }
  if (!read_scores(rewrite, s, out) || !read_groups(rewrite, s, out)) {
    return "its batch and head dimensions are not recognised";
  }
  if (!etx_rewrite_is_product(rewrite, out->batch, out->groups,
                              values.dims[0])) {
    return "its keys and values have different numbers of heads";
  }
  bool fits = etx_score_operand_fits(rewrite, &s->condition, out) &&
              etx_score_operand_fits(rewrite, &s->scaler, out);
  for (size_t i = 0; i < s->added_count; ++i) {
    fits = fits && etx_score_operand_fits(rewrite, &s->added[i], out);
  }
  return fits ? NULL : "the shape of its mask is not recognised";
}

static etx_status fuse_attention(etx_rewrite* rewrite, bool* out_done) {
  const etx_ir_node* const node = rewrite->builder.node;
  etx_attention_scores s;
  etx_attention_sizes z;
  etx_fusion_obstacle reason = NULL;
  if (node->op->id != ETX_OP_bmm_out) return ETX_OK;
  if (!etx_attention_scores_read(rewrite, node->args[0].as.value, &s,
                                 &reason)) {
    return etx_fusion_report_missed(rewrite->fusions, &rewrite->builder,
                                    "attention", reason);
  }
  reason = read_sizes(rewrite, &s, &z);
  if (reason != NULL) {
    return etx_fusion_report_missed(rewrite->fusions, &rewrite->builder,
                                    "attention", reason);
  }
  *out_done = true;
  ETX_TRY(etx_fusion_report_fused(rewrite->fusions, &rewrite->builder,
                                  "attention"));
  return emit_attention(rewrite, &s, &z);
}

// The attention operator whose result `value` is a view of, if none of the
// values between has another use; otherwise NULL.
static const etx_ir_node* find_viewed_attention(const etx_rewrite* rewrite,
                                                uint32_t value) {
  while (etx_rewrite_is_only_use(rewrite, value)) {
    const etx_ir_node* const node =
        etx_ir_definition(rewrite->builder.method, value);
    if (node == NULL) return NULL;
    if (is_attention(node)) return node;
    if (node->op->id != ETX_OP_view_copy_out) return NULL;
    value = node->args[0].as.value;
  }
  return NULL;
}

// ------------------------------------------------ halves

// Finds the half tensor that `value` is a view of a cast of.
static bool read_halves(const etx_rewrite* rewrite, uint32_t value,
                        etx_dtype dtype, uint32_t* out_value) {
  const etx_ir_node* node = etx_ir_definition(rewrite->builder.method, value);
  while (node != NULL && node->op->id == ETX_OP_view_copy_out) {
    node = etx_ir_definition(rewrite->builder.method, node->args[0].as.value);
  }
  if (node == NULL || node->op->id != ETX_OP_to_dim_order_copy_out) {
    return false;
  }
  *out_value = node->args[0].as.value;
  return etx_builder_shape(&rewrite->builder, *out_value)->dtype == dtype;
}

// Makes operand `i` of an attention read the half tensor directly.
static etx_status emit_halves(etx_rewrite* rewrite, size_t i, uint32_t halves,
                              etx_ir_arg args[MAX_ARGUMENTS]) {
  const etx_shape given = *etx_rewrite_shape(rewrite, &args[i]);
  const etx_ir_arg* const places = args[5 + i].as.list.items;
  etx_attention_operand o =
      etx_attention_operand_find(rewrite, halves, given.dims);
  const bool can_skip =
      i == 0 ? has_sizes(rewrite, &o, given.dims) : i == 1 || o.factor == 1;
  if (!can_skip) o = product_operand(rewrite, halves, given.dims);
  const etx_attention_operand found = o;
  for (size_t at = 0; at < 4; ++at) {
    o.order[at] = found.order[places[at].as.integer];
  }
  args[9].as.real *= o.factor;
  return emit_operand(rewrite, &o, false, &args[i], &args[5 + i]);
}

// Removes the casts to float32 before the operator and back to halves after it.
// The operator computes halves in float32 by itself.
static etx_status remove_half_casts(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const node = builder->node;
  const etx_shape result = *etx_builder_shape(builder, node->outputs[0]);
  etx_ir_arg args[MAX_ARGUMENTS];
  uint32_t halves[3];
  if (node->op->id != ETX_OP_to_dim_order_copy_out ||
      etx_dtype_bytes(result.dtype) != 2) {
    return ETX_OK;
  }
  const etx_ir_node* const attention =
      find_viewed_attention(rewrite, node->args[0].as.value);
  if (attention == NULL) return ETX_OK;
  memcpy(args, attention->args, attention->arg_count * sizeof *args);
  for (size_t i = 0; i < 3; ++i) {
    if (!read_halves(rewrite, args[i].as.value, result.dtype, &halves[i])) {
      return ETX_OK;
    }
  }
  uint32_t value = 0;
  for (size_t i = 0; i < 3; ++i) {
    ETX_TRY(emit_halves(rewrite, i, halves[i], args));
  }
  ETX_TRY(emit(builder, attention->op->id, args, &value));
  *out_done = true;
  return etx_build_view(builder, value, result.dims, result.rank,
                        &builder->results[0]);
}

// Removes the casts of keys and values to the float32 of the queries: caches of
// a half type are read as they are stored. The operator expands them itself, to
// the same numbers.
static etx_status remove_cache_casts(etx_rewrite* rewrite, bool* out_done) {
  static const etx_dtype types[] = {ETX_DTYPE_FLOAT16, ETX_DTYPE_BFLOAT16};
  enum { KEY = 1, VALUE = 2 };
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const node = builder->node;
  etx_ir_arg args[MAX_ARGUMENTS];
  uint32_t key = 0, value = 0;
  if (!is_attention(node) ||
      etx_rewrite_shape(rewrite, &node->args[0])->dtype != ETX_DTYPE_FLOAT32) {
    return ETX_OK;
  }
  memcpy(args, node->args, node->arg_count * sizeof *args);
  for (size_t i = 0; i < sizeof types / sizeof *types; ++i) {
    if (!read_halves(rewrite, args[KEY].as.value, types[i], &key) ||
        !read_halves(rewrite, args[VALUE].as.value, types[i], &value)) {
      continue;
    }
    ETX_TRY(emit_halves(rewrite, KEY, key, args));
    ETX_TRY(emit_halves(rewrite, VALUE, value, args));
    *out_done = true;
    return emit(builder, node->op->id, args, &builder->results[0]);
  }
  return ETX_OK;
}

// ------------------------------------------------ the order of the result

// Fuses a permute of the result into the operator's order of the result.
static etx_status fuse_result_permute(etx_rewrite* rewrite, bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_node* const node = builder->node;
  if (node->op->id != ETX_OP_permute_copy_out) return ETX_OK;
  const etx_ir_node* const attention =
      find_viewed_attention(rewrite, node->args[0].as.value);
  if (attention == NULL) return ETX_OK;
  const etx_shape from = *etx_rewrite_shape(rewrite, &node->args[0]);
  const etx_shape result = *etx_builder_shape(builder, node->outputs[0]);
  const etx_shape own = *etx_builder_shape(builder, attention->outputs[0]);
  const size_t added = 4u - from.rank;
  size_t order[4] = {0, 1, 2, 3};
  if ((from.rank != 4 && !(from.rank == 3 && own.dims[0] == 1)) ||
      !etx_builder_same_dims(builder, from.dims, own.dims + added, from.rank)) {
    return ETX_OK;
  }
  etx_ir_arg args[MAX_ARGUMENTS];
  memcpy(args, attention->args, attention->arg_count * sizeof *args);
  for (size_t i = 0; i < 4; ++i) {
    if (!etx_rewrite_is_int(&args[OUT_ORDER].as.list.items[i], (int64_t)i)) {
      return ETX_OK;
    }
  }
  for (size_t i = 0; i < from.rank; ++i) {
    const etx_dim at = node->args[1].as.list.items[i].as.integer;
    order[(size_t)at + added] = i + added;
  }
  uint32_t value = 0;
  ETX_TRY(order_arg(builder, order, &args[OUT_ORDER]));
  ETX_TRY(emit(builder, attention->op->id, args, &value));
  *out_done = true;
  return etx_build_view(builder, value, result.dims, result.rank,
                        &builder->results[0]);
}

etx_status etx_pass_fuse_attention(etx_pass_context* context) {
  static const etx_rewrite_rule image_biases[] = {
      etx_attention_scores_fold_image_bias};
  static const etx_rewrite_rule rules[] = {fuse_attention};
  static const etx_rewrite_rule halves[] = {remove_half_casts};
  static const etx_rewrite_rule caches[] = {remove_cache_casts};
  static const etx_rewrite_rule orders[] = {fuse_result_permute};
  static const etx_rewrite_rule views[] = {etx_simplify_view};
  if (context->options->target != ETX_TARGET_ETX) return ETX_OK;
  for (size_t i = 0; i < context->module->method_count; ++i) {
    etx_ir_method* const method = &context->module->methods[i];
    bool changed = false;
    ETX_TRY(etx_rewrite_method(context, method, image_biases, 1, &changed));
    ETX_TRY(etx_rewrite_method(context, method, rules, 1, &changed));
    if (!changed) continue;
    ETX_TRY(etx_rewrite_method(context, method, halves, 1, &changed));
    ETX_TRY(etx_rewrite_method(context, method, caches, 1, &changed));
    ETX_TRY(etx_rewrite_method(context, method, orders, 1, &changed));
    ETX_TRY(etx_rewrite_method(context, method, views, 1, &changed));
  }
  return ETX_OK;
}
