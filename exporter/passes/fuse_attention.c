// Products of queries and keys, softmax and the product with values become one
// etx::attention, which reads its operands as they lie and writes its result
// as its reader wants it:
//
//   bmm(softmax(mask(scale(bmm_nt(q, k)))), v)     attention(q, k, v, mask)
//   permute(view(attention(..)))                   view(attention(..))
//
// Keys and values that were transposed, repeated for several heads or scaled
// are taken from before that. Sums have another order than those of the
// products and the softmax: results agree within 1e-5 of the largest value.

#include "exporter/attention_parts.h"
#include "exporter/fusions.h"
#include "exporter/ir_edit.h"
#include "exporter/passes/pass_list.h"
#include "exporter/simplify_internal.h"

// Sizes of one attention.
typedef struct sizes {
  etx_dim batch, heads, rows, keys;
  etx_dim groups;         // heads of key and value
  etx_dim width, height;  // elements of a row of key, and of value
} sizes;

// Positions of the arguments of etx::attention.
enum { OUT_ORDER = 8, ARGUMENTS = 13 };

// ------------------------------------------------ sizes

static bool equal(const etx_rewrite* rewrite, etx_dim a, etx_dim b) {
  return etx_symbols_equal(&rewrite->lower.method->symbols, a, b);
}

static bool equals_product(etx_rewrite* rewrite, etx_dim a, etx_dim b,
                           etx_dim wanted) {
  etx_dim product = 0;
  return etx_symbols_apply(&rewrite->lower.method->symbols, ETX_SYMBOL_MULTIPLY,
                           a, b, &product) == ETX_OK &&
         equal(rewrite, product, wanted);
}

// Batch and heads of a tensor of products [N, L, S], as those of the queries
// before they were collapsed: [B, H, L, D] to [N, L, D].
static void split_batch(const etx_rewrite* rewrite, const etx_scores* s,
                        sizes* out) {
  uint32_t at = s->left;
  const etx_ir_node* node = etx_ir_definition(rewrite->lower.method, at);
  while (node != NULL && node->op->id != ETX_OP_permute_copy_out) {
    if (node->op->id != ETX_OP_view_copy_out &&
        node->op->id != ETX_OP_mul_out) {
      return;
    }
    node = etx_ir_definition(rewrite->lower.method, node->args[0].as.value);
  }
  if (node == NULL) return;
  const etx_shape* const source =
      etx_lower_shape(&rewrite->lower, node->outputs[0]);
  if (source->rank != 4 || !equal(rewrite, source->dims[2], out->rows)) return;
  out->batch = source->dims[0];
  out->heads = source->dims[1];
}

// Dimensions [batch, heads, rows, keys] of the masked scores.
static bool read_scores(etx_rewrite* rewrite, const etx_scores* s, sizes* out) {
  const etx_shape* const shape = &s->shape;
  const size_t rank = shape->rank;
  if (rank < 2 || rank > 5) return false;
  out->keys = shape->dims[rank - 1];
  out->rows = shape->dims[rank - 2];
  out->batch = out->heads = 1;
  if (rank == 3) {
    out->heads = shape->dims[0];
    const etx_shape* const mask =
        s->mask == ETX_IR_NONE ? NULL
                               : etx_lower_shape(&rewrite->lower, s->mask);
    const bool is_free = mask == NULL || mask->rank <= 2 || mask->dims[0] == 1;
    sizes other = *out;
    if (is_free) split_batch(rewrite, s, &other);
    if (equals_product(rewrite, other.batch, other.heads, out->heads)) {
      *out = other;
    }
  } else if (rank >= 4) {
    out->batch = shape->dims[0];
    out->heads = shape->dims[1];
  }
  if (rank < 5) return true;
  out->heads = 0;
  return etx_symbols_apply(&rewrite->lower.method->symbols, ETX_SYMBOL_MULTIPLY,
                           shape->dims[1], shape->dims[2],
                           &out->heads) == ETX_OK;
}

// How many heads keys and values have: [N, rows, D] are the queries of N
// products, and those of several heads may be rows of one.
static bool read_groups(etx_rewrite* rewrite, const etx_scores* s, sizes* out) {
  const etx_shape left = *etx_lower_shape(&rewrite->lower, s->left);
  out->width = left.dims[2];
  out->groups = out->heads;
  if (equal(rewrite, left.dims[1], out->rows)) {
    return equals_product(rewrite, out->batch, out->groups, left.dims[0]);
  }
  if (!etx_dim_is_number(out->heads)) return false;
  for (etx_dim times = 2; times <= out->heads; ++times) {
    if (out->heads % times != 0 ||
        !equals_product(rewrite, times, out->rows, left.dims[1])) {
      continue;
    }
    out->groups = out->heads / times;
    return equals_product(rewrite, out->batch, out->groups, left.dims[0]);
  }
  return false;
}

// ------------------------------------------------ operands

static etx_status order_arg(etx_lower* lower, const size_t order[4],
                            etx_ir_arg* out) {
  etx_dim dims[4];
  for (size_t i = 0; i < 4; ++i) dims[i] = (etx_dim)order[i];
  return etx_lower_ints(lower, dims, 4, out);
}

// Emits the view of an operand; `swaps` exchanges rows and elements.
static etx_status emit_operand(etx_rewrite* rewrite, etx_ordered* o, bool swaps,
                               etx_ir_arg* out_value, etx_ir_arg* out_order) {
  etx_lower* const lower = &rewrite->lower;
  uint32_t value = 0;
  ETX_TRY(etx_lower_view(lower, o->base, o->stored.dims, 4, &value));
  if (swaps) {
    const size_t last = o->order[3];
    o->order[3] = o->order[2];
    o->order[2] = last;
  }
  *out_value = etx_ir_value_arg(value);
  return order_arg(lower, o->order, out_order);
}

static etx_status emit_operands(etx_rewrite* rewrite, const etx_scores* s,
                                const sizes* z, double* scale,
                                etx_ir_arg args[ARGUMENTS]) {
  const uint32_t values = rewrite->lower.node->args[1].as.value;
  const etx_dim query[] = {z->batch, z->heads, z->rows, z->width};
  const etx_dim key[] = {z->batch, z->groups, z->keys, z->width};
  const etx_dim turned[] = {z->batch, z->groups, z->width, z->keys};
  const etx_dim value[] = {z->batch, z->groups, z->keys, z->height};
  etx_ordered sides[] = {
      etx_ordered_find(rewrite, s->left, query),
      etx_ordered_find(rewrite, s->right, s->is_nt ? key : turned),
      etx_ordered_find(rewrite, values, value)};
  // What values are multiplied with belongs to the result, not to the scores.
  if (sides[2].factor != 1) {
    sides[2] = (etx_ordered){values, sides[2].stored, {0, 1, 2, 3}, 1};
    memcpy(sides[2].stored.dims, value, sizeof value);
  }
  *scale *= sides[0].factor * sides[1].factor;
  for (size_t i = 0; i < 3; ++i) {
    ETX_TRY(emit_operand(rewrite, &sides[i], i == 1 && !s->is_nt, &args[i],
                         &args[5 + i]));
  }
  return ETX_OK;
}

// ------------------------------------------------ masks

// What is added, times its factor.
static etx_status emit_factor(etx_rewrite* rewrite, const etx_scores* s,
                              uint32_t* value) {
  if (s->factor == 1) return ETX_OK;
  return etx_lower_with_constant(&rewrite->lower, ETX_OP_mul_out, *value,
                                 s->factor, value);
}

// The mask over [batch, heads, rows, keys]; of five dimensions the two of the
// heads must be one.
static etx_status emit_mask(etx_rewrite* rewrite, const etx_scores* s,
                            etx_ir_arg* out) {
  etx_lower* const lower = &rewrite->lower;
  const etx_shape shape = *etx_lower_shape(lower, s->mask);
  uint32_t mask = s->mask;
  if (shape.rank > 4) {
    const etx_dim dims[] = {shape.dims[0], 1, shape.dims[3], shape.dims[4]};
    ETX_TRY(etx_lower_view(lower, mask, dims, 4, &mask));
  }
  if (shape.dtype != ETX_DTYPE_BOOL) ETX_TRY(emit_factor(rewrite, s, &mask));
  if (s->is_inverted) {
    ETX_TRY(etx_lower_unary(lower, ETX_OP_logical_not_out, mask, &mask));
  }
  *out = etx_ir_value_arg(mask);
  return ETX_OK;
}

static bool mask_fits(const etx_rewrite* rewrite, const etx_scores* s) {
  if (s->mask == ETX_IR_NONE || s->shape.rank < 5) return true;
  const etx_shape* const shape = etx_lower_shape(&rewrite->lower, s->mask);
  return shape->rank <= 2 ||
         (shape->rank == 5 && shape->dims[1] == 1 && shape->dims[2] == 1);
}

static etx_status emit_last(etx_rewrite* rewrite, const etx_position_mask* m,
                            etx_ir_arg* out) {
  uint32_t last = m->last;
  if (m->shift != 0) {
    ETX_TRY(etx_lower_with_constant(&rewrite->lower, ETX_OP_add_out, last,
                                    (double)m->shift, &last));
  }
  *out = etx_ir_value_arg(last);
  return ETX_OK;
}

// The second mask as one that is added to scores of the mask's shape.
static etx_status emit_also(etx_rewrite* rewrite, const etx_scores* s,
                            uint32_t* out) {
  const etx_shape own = *etx_lower_shape(&rewrite->lower, s->also);
  const etx_dim dims[] = {s->shape.dims[0], s->shape.dims[1], own.dims[1],
                          own.dims[2]};
  *out = s->also;
  if (s->is_by_product) {
    ETX_TRY(etx_lower_view(&rewrite->lower, s->also, dims, 4, out));
  }
  const bool is_sum =
      etx_lower_shape(&rewrite->lower, s->mask)->dtype != ETX_DTYPE_BOOL;
  return is_sum ? ETX_OK : emit_factor(rewrite, s, out);
}

// One mask of two.
static etx_status emit_both(etx_rewrite* rewrite, const etx_scores* s,
                            uint32_t also, etx_ir_arg* out) {
  etx_lower* const lower = &rewrite->lower;
  uint32_t value = 0, number = 0;
  if (etx_lower_shape(lower, s->mask)->dtype != ETX_DTYPE_BOOL) {
    ETX_TRY(etx_lower_binary(lower, ETX_OP_add_out, s->mask, also, &value));
    ETX_TRY(emit_factor(rewrite, s, &value));
  } else {
    const etx_ir_arg hidden = etx_ir_double(s->hidden);
    ETX_TRY(etx_lower_number(lower, &hidden, ETX_DTYPE_FLOAT32, &number));
    ETX_TRY(s->is_inverted
                ? etx_lower_where(lower, s->mask, number, also, &value)
                : etx_lower_where(lower, s->mask, also, number, &value));
  }
  *out = etx_ir_value_arg(value);
  return ETX_OK;
}

// A mask that depends on positions alone needs no tensor.
static etx_status emit_masks(etx_rewrite* rewrite, const etx_scores* s,
                             etx_ir_arg args[ARGUMENTS]) {
  etx_position_mask m;
  args[10] = etx_ir_double(s->hidden);
  if (s->mask == ETX_IR_NONE) return ETX_OK;
  const bool is_bool =
      etx_lower_shape(&rewrite->lower, s->mask)->dtype == ETX_DTYPE_BOOL;
  // A key that is hidden by a number of its own is as good as unseen.
  const bool is_low = is_bool ? s->hidden <= -1e8 : s->factor > 0;
  const bool is_tensor =
      !is_low || !etx_position_mask_read(rewrite, s->mask, s->is_inverted, &m);
  uint32_t also = s->also;
  if (also != ETX_IR_NONE) {
    ETX_TRY(emit_also(rewrite, s, &also));
    if (is_tensor) return emit_both(rewrite, s, also, &args[3]);
    if (!is_bool) ETX_TRY(emit_factor(rewrite, s, &also));
    args[3] = etx_ir_value_arg(also);
  } else if (is_tensor) {
    return emit_mask(rewrite, s, &args[3]);
  }
  if (m.hides_nothing) return ETX_OK;
  if (!is_bool) args[10] = etx_ir_double(m.hidden * s->factor);
  args[11] = etx_ir_bool(m.is_causal);
  if (m.is_causal) return ETX_OK;
  return emit_last(rewrite, &m, &args[4]);
}

// ------------------------------------------------ the product with values

static etx_status emit_attention(etx_rewrite* rewrite, const etx_scores* s,
                                 const sizes* z) {
  static const size_t identity[] = {0, 1, 2, 3};
  etx_lower* const lower = &rewrite->lower;
  const etx_shape result = *etx_lower_shape(lower, lower->node->outputs[0]);
  double scale = s->scale;
  etx_ir_arg args[ARGUMENTS];
  for (size_t i = 0; i < ARGUMENTS; ++i) args[i] = etx_ir_none();
  ETX_TRY(emit_operands(rewrite, s, z, &scale, args));
  ETX_TRY(order_arg(lower, identity, &args[OUT_ORDER]));
  args[9] = etx_ir_double(scale);
  args[11] = etx_ir_bool(false);
  args[12] = etx_ir_bool(s->is_guarded);
  ETX_TRY(emit_masks(rewrite, s, args));
  uint32_t value = 0;
  ETX_TRY(etx_lower_emit(lower, ETX_OP_attention_out, args, ARGUMENTS, &value));
  return etx_lower_view(lower, value, result.dims, result.rank,
                        &lower->results[0]);
}

static etx_status find_attention(etx_rewrite* rewrite, bool* out_done) {
  const etx_ir_node* const node = rewrite->lower.node;
  etx_scores s;
  sizes z;
  etx_reason reason = NULL;
  if (node->op->id != ETX_OP_bmm_out) return ETX_OK;
  if (!etx_scores_read(rewrite, node->args[0].as.value, &s, &reason)) {
    return etx_fusion_missed(rewrite->fusions, &rewrite->lower, "attention",
                             reason);
  }
  const etx_shape values = *etx_rewrite_shape(rewrite, &node->args[1]);
  z.height = values.dims[2];
  if (!mask_fits(rewrite, &s) || !read_scores(rewrite, &s, &z) ||
      !read_groups(rewrite, &s, &z)) {
    return etx_fusion_missed(rewrite->fusions, &rewrite->lower, "attention",
                             "its heads are laid out in an unknown way");
  }
  if (!equals_product(rewrite, z.batch, z.groups, values.dims[0])) {
    return etx_fusion_missed(rewrite->fusions, &rewrite->lower, "attention",
                             "keys have fewer heads than values");
  }
  *out_done = true;
  ETX_TRY(etx_fusion_made(rewrite->fusions, &rewrite->lower, "attention"));
  return emit_attention(rewrite, &s, &z);
}

// ------------------------------------------------ the order of the result

// The attention behind views, each used once.
static const etx_ir_node* behind_views(const etx_rewrite* rewrite,
                                       uint32_t value) {
  while (etx_rewrite_is_only_use(rewrite, value)) {
    const etx_ir_node* const node =
        etx_ir_definition(rewrite->lower.method, value);
    if (node == NULL) return NULL;
    if (node->op->id == ETX_OP_attention_out) return node;
    if (node->op->id != ETX_OP_view_copy_out) return NULL;
    value = node->args[0].as.value;
  }
  return NULL;
}

static etx_status find_permuted(etx_rewrite* rewrite, bool* out_done) {
  etx_lower* const lower = &rewrite->lower;
  const etx_ir_node* const node = lower->node;
  if (node->op->id != ETX_OP_permute_copy_out) return ETX_OK;
  const etx_ir_node* const attention =
      behind_views(rewrite, node->args[0].as.value);
  if (attention == NULL) return ETX_OK;
  const etx_shape from = *etx_rewrite_shape(rewrite, &node->args[0]);
  const etx_shape result = *etx_lower_shape(lower, node->outputs[0]);
  const etx_shape own = *etx_lower_shape(lower, attention->outputs[0]);
  const size_t added = 4u - from.rank;
  size_t order[4] = {0, 1, 2, 3};
  if ((from.rank != 4 && !(from.rank == 3 && own.dims[0] == 1)) ||
      !etx_lower_same_dims(lower, from.dims, own.dims + added, from.rank)) {
    return ETX_OK;
  }
  etx_ir_arg args[ARGUMENTS];
  memcpy(args, attention->args, sizeof args);
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
  ETX_TRY(order_arg(lower, order, &args[OUT_ORDER]));
  ETX_TRY(etx_lower_emit(lower, ETX_OP_attention_out, args, ARGUMENTS, &value));
  *out_done = true;
  return etx_lower_view(lower, value, result.dims, result.rank,
                        &lower->results[0]);
}

etx_status etx_pass_fuse_attention(etx_pass_context* context) {
  static const etx_rewrite_rule rules[] = {find_attention};
  static const etx_rewrite_rule orders[] = {find_permuted};
  static const etx_rewrite_rule views[] = {etx_simplify_view};
  if (context->options->target != ETX_TARGET_ETX) return ETX_OK;
  for (size_t i = 0; i < context->module->method_count; ++i) {
    etx_ir_method* const method = &context->module->methods[i];
    bool changed = false;
    ETX_TRY(etx_rewrite_method(context, method, rules, 1, &changed));
    if (!changed) continue;
    ETX_TRY(etx_rewrite_method(context, method, orders, 1, &changed));
    ETX_TRY(etx_rewrite_method(context, method, views, 1, &changed));
  }
  return ETX_OK;
}
