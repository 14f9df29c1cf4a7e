// Combines everything that masks the scores (added tensors, and a where() or
// masked_fill) into one mask for the attention operator. A causal mask, or one
// that hides keys after a position, needs no tensor. If the mask hides other
// keys, too, the position is given beside it: keys after it are not read. A
// mask that is the first rows and keys of a larger tensor is read from this
// tensor, without a copy.

#include <math.h>

#include "exporter/fuse/attention/attention_pattern.h"
#include "exporter/ir/ir_edit.h"

// A mask that depends on positions.
typedef struct position_mask {
  bool is_found;
  size_t at;  // index of the addend; added_count: the where()
  etx_causal_mask mask;
} position_mask;

static bool has_where(const etx_attention_scores* s) {
  return s->condition.value != ETX_IR_NONE;
}

// Number of addends that are added after the where() and therefore also to
// hidden keys. 0 for a hidden score of -infinity, which no addend changes.
static size_t count_after_where(const etx_attention_scores* s) {
  return s->hidden == -(double)INFINITY ? 0 : s->added_after_where;
}

static bool has_minimum(const etx_attention_scores* s) {
  return s->minimum != -(double)INFINITY;
}

// True if a single tensor masks the scores.
static bool has_one_mask(const etx_attention_scores* s) {
  return s->added_count + has_where(s) == 1 && !has_minimum(s);
}

// True if the mask can be given up for the positions, or kept beside them. Rows
// that see no key differ only if a hidden key has a finite score; the operator
// finds them in a bool mask.
static bool is_usable(const etx_attention_scores* s, const etx_causal_mask* m) {
  return m->tests == ETX_IR_NONE || m->hidden == -(double)INFINITY ||
         has_one_mask(s);
}

// Finds a mask that depends on positions. A key that a large negative number
// hides counts as unseen.
static position_mask find_positions(etx_rewrite* rewrite,
                                    const etx_attention_scores* s) {
  position_mask p = {.at = s->added_count};
  if (has_where(s)) {
    p.is_found =
        s->hidden <= -1e8 && etx_causal_mask_read(rewrite, s->condition.value,
                                                  s->is_inverted, &p.mask);
    p.mask.hidden = s->hidden;
    p.is_found = p.is_found && is_usable(s, &p.mask);
    return p;
  }
  for (p.at = 0; p.at < s->added_count; ++p.at) {
    const etx_score_operand* const added = &s->added[p.at];
    p.is_found = added->factor > 0 &&
                 etx_causal_mask_read(rewrite, added->value, false, &p.mask);
    p.mask.hidden = fmax(p.mask.hidden * added->factor, s->minimum);
    p.is_found = p.is_found && is_usable(s, &p.mask);
    if (p.is_found) break;
  }
  return p;
}

// What broadcasts to the scores as the mask does.
static const etx_score_operand* mask_of(const etx_attention_scores* s,
                                        const position_mask* p) {
  return p->at < s->added_count ? &s->added[p->at] : &s->condition;
}

static etx_status emit_positions(etx_rewrite* rewrite,
                                 const etx_attention_scores* s,
                                 const etx_attention_sizes* z,
                                 const position_mask* p,
                                 etx_attention_masking* out) {
  const etx_causal_mask* const m = &p->mask;
  const etx_score_operand* const beside = mask_of(s, p);
  if (m->hides_nothing) return ETX_OK;
  out->hidden = m->hidden;
  out->is_causal = m->is_causal;
  if (m->is_causal) return ETX_OK;
  uint32_t last = m->last;
  if (m->shift != 0) {
    ETX_TRY(etx_build_binary_constant(&rewrite->builder, ETX_OP_add_out, last,
                                      (double)m->shift, &last));
  }
  ETX_TRY(etx_score_operand_broadcast(rewrite, beside, z, last, &last));
  out->last = etx_ir_value_arg(last);
  return ETX_OK;
}

// An addend, cast to the type in which masks are summed, and scaled.
static etx_status emit_addend(etx_rewrite* rewrite,
                              const etx_attention_scores* s,
                              const etx_score_operand* added,
                              uint32_t* out_value) {
  etx_builder* const builder = &rewrite->builder;
  const bool is_double =
      etx_builder_shape(builder, s->left)->dtype == ETX_DTYPE_FLOAT64;
  const bool is_alone = s->added_count == 1 && !has_where(s) && !has_minimum(s);
  *out_value = added->value;
  if (is_alone && added->factor == 1) return ETX_OK;
  ETX_TRY(etx_build_cast(builder, added->value,
                         is_double ? ETX_DTYPE_FLOAT64 : ETX_DTYPE_FLOAT32,
                         out_value));
  if (added->factor == 1) return ETX_OK;
  return etx_build_binary_constant(builder, ETX_OP_mul_out, *out_value,
                                   added->factor, out_value);
}

// Addends [first, end) of the scores, except `skipped`.
typedef struct addend_range {
  size_t first, end, skipped;
} addend_range;

// Adds the addends of a range to `*sum`, which is ETX_IR_NONE if it is empty.
static etx_status emit_sum(etx_rewrite* rewrite, const etx_attention_scores* s,
                           const etx_attention_sizes* z, addend_range range,
                           uint32_t* sum) {
  etx_builder* const builder = &rewrite->builder;
  for (size_t i = range.first; i < range.end; ++i) {
    uint32_t value = 0;
    if (i == range.skipped) continue;
    ETX_TRY(emit_addend(rewrite, s, &s->added[i], &value));
    ETX_TRY(
        etx_score_operand_broadcast(rewrite, &s->added[i], z, value, &value));
    if (*sum != ETX_IR_NONE) {
      ETX_TRY(etx_build_binary(builder, ETX_OP_add_out, *sum, value, &value));
    }
    *sum = value;
  }
  return ETX_OK;
}

// ------------------------------------------------ parts of larger masks

static bool same_dim(const etx_rewrite* rewrite, etx_dim a, etx_dim b) {
  return etx_symbols_equal(&rewrite->builder.method->symbols, a, b);
}

// True if a part of `base` that starts at index 0 and has the sizes of `part`
// can be left to the operator: where it is smaller, it has as many rows or keys
// as the scores, and their number varies. (A single row that is repeated cannot
// be left to it. A part of fixed sizes is read in every call: it stays dense.)
static bool is_leading_part(const etx_rewrite* rewrite,
                            const etx_attention_sizes* z, const etx_shape* base,
                            const etx_shape* part) {
  const size_t rank = part->rank;
  if (base->rank != rank || rank < 2 || rank > 4) return false;
  for (size_t i = 0; i < rank; ++i) {
    const bool is_all = same_dim(rewrite, base->dims[i], part->dims[i]);
    const etx_dim wanted = i + 1 == rank ? z->keys : z->rows;
    if (!is_all && (i + 2 < rank || etx_dim_is_number(part->dims[i]) ||
                    !same_dim(rewrite, part->dims[i], wanted))) {
      return false;
    }
  }
  return true;
}

static bool starts_at_zero(const etx_ir_node* slice) {
  return (slice->args[2].kind == ETX_IR_ARG_NONE ||
          etx_rewrite_is_int(&slice->args[2], 0)) &&
         etx_rewrite_is_int(&slice->args[4], 1);
}

// True if the strides are those of the contiguous tensor that is read.
static bool has_own_strides(const etx_rewrite* rewrite,
                            const etx_ir_node* node) {
  const etx_shape* const base = etx_rewrite_shape(rewrite, &node->args[0]);
  const etx_ir_arg* const strides = &node->args[2];
  int64_t stride = 1;
  if (strides->kind != ETX_IR_ARG_LIST ||
      strides->as.list.count != base->rank ||
      !etx_rewrite_is_int(&node->args[3], 0)) {
    return false;
  }
  for (size_t i = base->rank; i-- > 0;) {
    if (!etx_dim_is_number(base->dims[i]) ||
        !etx_rewrite_is_int(&strides->as.list.items[i], stride)) {
      return false;
    }
    stride *= base->dims[i];
  }
  return true;
}

// The tensor that `mask` is the first rows and keys of; `mask` itself if there
// is none. Views that add leading sizes of 1 and expands are skipped, because
// the operator broadcasts.
static uint32_t larger_mask(const etx_rewrite* rewrite,
                            const etx_attention_sizes* z, uint32_t mask) {
  for (uint32_t at = mask;;) {
    const etx_ir_node* const node = etx_rewrite_definition(rewrite, at);
    bool is_part = false;
    if (node == NULL || node->output_count != 1) return mask;
    const etx_shape* const part = etx_builder_shape(&rewrite->builder, at);
    switch (node->op->id) {
      case ETX_OP_view_copy_out:
        if (!etx_mask_view_keeps_rows(rewrite, node)) return mask;
        break;
      case ETX_OP_expand_copy_out:
        break;
      case ETX_OP_slice_copy_tensor_out:
        is_part = starts_at_zero(node);
        break;
      case ETX_OP_as_strided_copy_out:
        is_part = has_own_strides(rewrite, node);
        break;
      default:
        return mask;
    }
    at = node->args[0].as.value;
    const etx_shape* const base = etx_builder_shape(&rewrite->builder, at);
    if (is_part) {
      if (!is_leading_part(rewrite, z, base, part)) return mask;
      mask = at;
    }
  }
}

// A bool mask that is true where `hidden` is false. If `hidden` is a part of a
// larger constant, this constant is inverted here, not in each run.
static etx_status emit_seen(etx_rewrite* rewrite, const etx_attention_sizes* z,
                            uint32_t hidden, uint32_t* out_seen) {
  etx_builder* const builder = &rewrite->builder;
  const uint32_t larger = larger_mask(rewrite, z, hidden);
  const etx_ir_constant* const constant =
      etx_rewrite_constant(builder->module, builder->method, larger);
  if (larger == hidden || constant == NULL) {
    return etx_build_unary(builder, ETX_OP_logical_not_out, hidden, out_seen);
  }
  etx_ir_constant seen = *constant;
  uint8_t* const data = etx_pool_take(builder->module->pool, seen.data.size);
  if (data == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < seen.data.size; ++i) {
    data[i] = constant->data.data[i] == 0;
  }
  seen.data.data = data;
  uint32_t index = 0;
  ETX_TRY(etx_ir_add_constant(builder->module, &seen, &index));
  return etx_ir_constant_value(builder->module, builder->method, index,
                               out_seen);
}

// ------------------------------------------------ sums of masks

// The condition of the where() as a bool mask, if nothing else is added;
// otherwise a where() between the sum so far and the score of hidden keys.
static etx_status emit_where(etx_rewrite* rewrite,
                             const etx_attention_scores* s,
                             const etx_attention_sizes* z, uint32_t* sum) {
  etx_builder* const builder = &rewrite->builder;
  const etx_ir_arg hidden = etx_ir_double(s->hidden),
                   nothing = etx_ir_double(0);
  const bool is_double =
      etx_builder_shape(builder, s->left)->dtype == ETX_DTYPE_FLOAT64;
  etx_dtype dtype = is_double ? ETX_DTYPE_FLOAT64 : ETX_DTYPE_FLOAT32;
  uint32_t choice = 0, number = 0;
  ETX_TRY(etx_score_operand_broadcast(rewrite, &s->condition, z,
                                      s->condition.value, &choice));
  if (*sum == ETX_IR_NONE && count_after_where(s) == 0) {
    *sum = choice;
    return s->is_inverted ? emit_seen(rewrite, z, choice, sum) : ETX_OK;
  }
  if (*sum == ETX_IR_NONE) {
    ETX_TRY(etx_build_scalar(builder, &nothing, dtype, sum));
  }
  dtype = etx_builder_shape(builder, *sum)->dtype;
  ETX_TRY(etx_build_scalar(builder, &hidden, dtype, &number));
  return s->is_inverted ? etx_build_where(builder, choice, number, *sum, sum)
                        : etx_build_where(builder, choice, *sum, number, sum);
}

// Emits the steps in the order of the model: a key that two masks hide gets a
// lower score than one that a single mask hides, and this decides the result of
// rows that see no key.
static etx_status emit_mask(etx_rewrite* rewrite, const etx_attention_scores* s,
                            const etx_attention_sizes* z,
                            const position_mask* p, uint32_t* out_mask) {
  const bool has_tests = p->is_found && p->mask.tests != ETX_IR_NONE;
  const bool replaces = p->is_found && !has_tests;
  const size_t skipped = replaces ? p->at : s->added_count;
  const size_t after = count_after_where(s);
  const addend_range before_where = {after, s->added_count, skipped};
  const addend_range after_where = {0, after, skipped};
  if (has_tests && has_one_mask(s)) {
    return etx_score_operand_broadcast(rewrite, mask_of(s, p), z, p->mask.tests,
                                       out_mask);
  }
  *out_mask = ETX_IR_NONE;
  ETX_TRY(emit_sum(rewrite, s, z, before_where, out_mask));
  if (has_where(s) && !replaces) {
    ETX_TRY(emit_where(rewrite, s, z, out_mask));
  }
  ETX_TRY(emit_sum(rewrite, s, z, after_where, out_mask));
  const bool is_sum = s->added_count > (replaces && !has_where(s) ? 1u : 0u);
  if (!is_sum || !has_minimum(s)) return ETX_OK;
  return etx_build_binary_constant(&rewrite->builder, ETX_OP_maximum_out,
                                   *out_mask, s->minimum, out_mask);
}

etx_status etx_attention_masking_emit(etx_rewrite* rewrite,
                                      const etx_attention_scores* s,
                                      const etx_attention_sizes* z,
                                      etx_attention_masking* out) {
  const position_mask p = find_positions(rewrite, s);
  uint32_t mask = 0;
  *out =
      (etx_attention_masking){etx_ir_none(), etx_ir_none(), s->hidden, false};
  if (p.is_found) ETX_TRY(emit_positions(rewrite, s, z, &p, out));
  ETX_TRY(emit_mask(rewrite, s, z, &p, &mask));
  if (mask != ETX_IR_NONE) {
    out->mask = etx_ir_value_arg(larger_mask(rewrite, z, mask));
  }
  return ETX_OK;
}
