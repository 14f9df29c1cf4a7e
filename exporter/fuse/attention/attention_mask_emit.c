// One mask of all that is added to scores and of what chooses among them. A
// mask that depends on positions alone needs no tensor.

#include <math.h>

#include "exporter/fuse/attention/attention_pattern.h"
#include "exporter/ir/ir_edit.h"

// A mask that is known to depend on positions; `at` is that of an addend, or of
// none: the choice.
typedef struct positions {
  bool is_found;
  size_t at;
  etx_causal_mask mask;
} positions;

static bool is_choice(const etx_attention_scores* s) {
  return s->choice.value != ETX_IR_NONE;
}

// The first addends that hidden keys get too; infinity is what it was.
static size_t behind_choice(const etx_attention_scores* s) {
  return s->hidden == -(double)INFINITY ? 0 : s->behind_choice;
}

static bool has_least(const etx_attention_scores* s) {
  return s->least != -(double)INFINITY;
}

// A key that is hidden by a number of its own is as good as unseen.
static positions find_positions(etx_rewrite* rewrite,
                                const etx_attention_scores* s) {
  positions p = {.at = s->added_count};
  if (is_choice(s)) {
    p.is_found =
        s->hidden <= -1e8 &&
        etx_causal_mask_read(rewrite, s->choice.value, s->is_inverted, &p.mask);
    p.mask.hidden = s->hidden;
    return p;
  }
  for (p.at = 0; p.at < s->added_count; ++p.at) {
    const etx_score_operand* const added = &s->added[p.at];
    p.is_found = added->factor > 0 &&
                 etx_causal_mask_read(rewrite, added->value, false, &p.mask);
    p.mask.hidden = fmax(p.mask.hidden * added->factor, s->least);
    if (p.is_found) break;
  }
  return p;
}

static etx_status emit_positions(etx_rewrite* rewrite,
                                 const etx_attention_scores* s,
                                 const etx_attention_sizes* z,
                                 const positions* p,
                                 etx_attention_masking* out) {
  const etx_causal_mask* const m = &p->mask;
  const etx_score_operand* const beside =
      p->at < s->added_count ? &s->added[p->at] : &s->choice;
  if (m->hides_nothing) return ETX_OK;
  out->hidden = m->hidden;
  out->is_causal = m->is_causal;
  if (m->is_causal) return ETX_OK;
  uint32_t last = m->last;
  if (m->shift != 0) {
    ETX_TRY(etx_build_binary_constant(&rewrite->lower, ETX_OP_add_out, last,
                                      (double)m->shift, &last));
  }
  ETX_TRY(etx_score_operand_broadcast(rewrite, beside, z, last, &last));
  out->last = etx_ir_value_arg(last);
  return ETX_OK;
}

// An addend to compute with: sums have the type of the products.
static etx_status emit_addend(etx_rewrite* rewrite,
                              const etx_attention_scores* s,
                              const etx_score_operand* added,
                              uint32_t* out_value) {
  etx_builder* const lower = &rewrite->lower;
  const bool is_double =
      etx_builder_shape(lower, s->left)->dtype == ETX_DTYPE_FLOAT64;
  const bool is_alone = s->added_count == 1 && !is_choice(s) && !has_least(s);
  *out_value = added->value;
  if (is_alone && added->factor == 1) return ETX_OK;
  ETX_TRY(etx_build_cast(lower, added->value,
                         is_double ? ETX_DTYPE_FLOAT64 : ETX_DTYPE_FLOAT32,
                         out_value));
  if (added->factor == 1) return ETX_OK;
  return etx_build_binary_constant(lower, ETX_OP_mul_out, *out_value,
                                   added->factor, out_value);
}

// Adds to `*sum`, ETX_IR_NONE for nothing yet, the addends from `first` to
// `end` but `without`.
static etx_status emit_sum(etx_rewrite* rewrite, const etx_attention_scores* s,
                           const etx_attention_sizes* z, size_t first,
                           size_t end, size_t without, uint32_t* sum) {
  etx_builder* const lower = &rewrite->lower;
  for (size_t i = first; i < end; ++i) {
    uint32_t value = 0;
    if (i == without) continue;
    ETX_TRY(emit_addend(rewrite, s, &s->added[i], &value));
    ETX_TRY(
        etx_score_operand_broadcast(rewrite, &s->added[i], z, value, &value));
    if (*sum != ETX_IR_NONE) {
      ETX_TRY(etx_build_binary(lower, ETX_OP_add_out, *sum, value, &value));
    }
    *sum = value;
  }
  return ETX_OK;
}

// The choice, or one between what is added before it, perhaps nothing, and the
// number that hides.
static etx_status emit_choice(etx_rewrite* rewrite,
                              const etx_attention_scores* s,
                              const etx_attention_sizes* z, uint32_t* sum) {
  etx_builder* const lower = &rewrite->lower;
  const etx_ir_arg hidden = etx_ir_double(s->hidden),
                   nothing = etx_ir_double(0);
  const bool is_double =
      etx_builder_shape(lower, s->left)->dtype == ETX_DTYPE_FLOAT64;
  etx_dtype dtype = is_double ? ETX_DTYPE_FLOAT64 : ETX_DTYPE_FLOAT32;
  uint32_t choice = 0, number = 0;
  ETX_TRY(etx_score_operand_broadcast(rewrite, &s->choice, z, s->choice.value,
                                      &choice));
  if (*sum == ETX_IR_NONE && behind_choice(s) == 0) {
    *sum = choice;
    return s->is_inverted
               ? etx_build_unary(lower, ETX_OP_logical_not_out, choice, sum)
               : ETX_OK;
  }
  if (*sum == ETX_IR_NONE) {
    ETX_TRY(etx_build_scalar(lower, &nothing, dtype, sum));
  }
  dtype = etx_builder_shape(lower, *sum)->dtype;
  ETX_TRY(etx_build_scalar(lower, &hidden, dtype, &number));
  return s->is_inverted ? etx_build_where(lower, choice, number, *sum, sum)
                        : etx_build_where(lower, choice, *sum, number, sum);
}

// In the order of the scores' own steps: a key that is hidden twice is hidden
// more, which tells where a row sees no key at all.
static etx_status emit_mask(etx_rewrite* rewrite, const etx_attention_scores* s,
                            const etx_attention_sizes* z, const positions* p,
                            uint32_t* out_mask) {
  const size_t without = p->is_found ? p->at : s->added_count;
  const size_t behind = behind_choice(s);
  *out_mask = ETX_IR_NONE;
  ETX_TRY(emit_sum(rewrite, s, z, behind, s->added_count, without, out_mask));
  if (is_choice(s) && !p->is_found) {
    ETX_TRY(emit_choice(rewrite, s, z, out_mask));
  }
  ETX_TRY(emit_sum(rewrite, s, z, 0, behind, without, out_mask));
  const bool is_sum = s->added_count > (p->is_found && !is_choice(s) ? 1u : 0u);
  if (!is_sum || !has_least(s)) return ETX_OK;
  return etx_build_binary_constant(&rewrite->lower, ETX_OP_maximum_out,
                                   *out_mask, s->least, out_mask);
}

etx_status etx_attention_masking_emit(etx_rewrite* rewrite,
                                      const etx_attention_scores* s,
                                      const etx_attention_sizes* z,
                                      etx_attention_masking* out) {
  const positions p = find_positions(rewrite, s);
  uint32_t mask = 0;
  *out =
      (etx_attention_masking){etx_ir_none(), etx_ir_none(), s->hidden, false};
  if (p.is_found) ETX_TRY(emit_positions(rewrite, s, z, &p, out));
  ETX_TRY(emit_mask(rewrite, s, z, &p, &mask));
  if (mask != ETX_IR_NONE) out->mask = etx_ir_value_arg(mask);
  return ETX_OK;
}
