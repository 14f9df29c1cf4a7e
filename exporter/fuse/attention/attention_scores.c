// Follows the score chain of attention from the softmax to the product of
// queries and keys, and collects what scales, caps and masks the scores on the
// way.

#include <math.h>

#include "exporter/fuse/attention/attention_pattern.h"
#include "exporter/ir/ir_edit.h"
#include "format/tensor/dtype_limits.h"

// Nodes of a chain at most: far more than any model has.
enum { MAX_STEPS = 24 };

bool etx_rewrite_value_number(const etx_rewrite* rewrite, uint32_t value,
                              double* out_number) {
  const etx_ir_constant* const constant = etx_rewrite_constant(
      rewrite->builder.module, rewrite->builder.method, value);
  return constant != NULL && etx_rewrite_number(constant, out_number);
}

// A number, or a constant of one element.
static bool arg_number(const etx_rewrite* rewrite, const etx_ir_arg* arg,
                       double* out_number) {
  if (arg->kind == ETX_IR_ARG_VALUE) {
    const etx_shape* const shape = etx_rewrite_shape(rewrite, arg);
    for (size_t i = 0; i < shape->rank; ++i) {
      if (shape->dims[i] != 1) return false;
    }
    return etx_rewrite_value_number(rewrite, arg->as.value, out_number);
  }
  if (arg->kind == ETX_IR_ARG_DOUBLE) *out_number = arg->as.real;
  if (arg->kind == ETX_IR_ARG_INT) *out_number = (double)arg->as.integer;
  return arg->kind == ETX_IR_ARG_DOUBLE ||
         (arg->kind == ETX_IR_ARG_INT && etx_dim_is_number(arg->as.integer));
}

// True if a view keeps the last dimension.
static bool keeps_last(const etx_rewrite* rewrite, const etx_ir_node* view) {
  const etx_shape* const from = etx_rewrite_shape(rewrite, &view->args[0]);
  const etx_shape* const to =
      etx_builder_shape(&rewrite->builder, view->outputs[0]);
  return from->rank != 0 && to->rank != 0 &&
         etx_symbols_equal(&rewrite->builder.method->symbols,
                           from->dims[from->rank - 1], to->dims[to->rank - 1]);
}

// True for a cast between float32, float16 and bfloat16: the kernel computes
// all of them in float32.
static bool is_narrow_cast(const etx_rewrite* rewrite,
                           const etx_ir_node* node) {
  if (node->op->id != ETX_OP_to_dim_order_copy_out) return false;
  const etx_dtype types[] = {
      etx_rewrite_shape(rewrite, &node->args[0])->dtype,
      etx_builder_shape(&rewrite->builder, node->outputs[0])->dtype};
  for (size_t i = 0; i < 2; ++i) {
    if (types[i] != ETX_DTYPE_FLOAT32 && types[i] != ETX_DTYPE_FLOAT16 &&
        types[i] != ETX_DTYPE_BFLOAT16) {
      return false;
    }
  }
  return true;
}

// True for a view or cast that leaves the rows of scores or weights as they
// are.
static bool keeps_rows(const etx_rewrite* rewrite, const etx_ir_node* node) {
  return (node->op->id == ETX_OP_view_copy_out && keeps_last(rewrite, node)) ||
         is_narrow_cast(rewrite, node);
}

uint32_t etx_rewrite_skip_views(const etx_rewrite* rewrite, uint32_t value) {
  for (size_t score_step = 0; score_step < MAX_STEPS; ++score_step) {
    const etx_ir_node* const node = etx_rewrite_definition(rewrite, value);
    if (node == NULL || !keeps_rows(rewrite, node)) break;
    value = node->args[0].as.value;
  }
  return value;
}

// ------------------------------------------------ one node

typedef enum step_kind {
  STEP_NONE,     // not part of a score chain
  STEP_VIEW,     // a view or cast
  STEP_SCALE,    // scales by a number
  STEP_SCALER,   // scales by one number per row
  STEP_WHERE,    // where() between scores and a number
  STEP_MINIMUM,  // maximum() of scores and a number
  STEP_CAP       // tanh
} step_kind;

typedef struct score_step {
  step_kind kind;
  size_t scored;  // the operand that leads to the product
  size_t other;   // the operand that is the scaler or the bool mask
  double number;
  bool divides;
  bool is_inverted;  // true in the mask selects the number
} score_step;

static bool is_product(const etx_ir_node* node) {
  return node->op->id == ETX_OP_bmm_out || node->op->id == ETX_OP_bmm_nt_out;
}

// True if operand `other` has one number for each row of the other operand.
static bool is_scaler(const etx_rewrite* rewrite, const etx_ir_node* node,
                      size_t other) {
  if (node->args[other].kind != ETX_IR_ARG_VALUE) return false;
  const etx_shape* const out =
      etx_builder_shape(&rewrite->builder, node->outputs[0]);
  const etx_shape* const scored =
      etx_rewrite_shape(rewrite, &node->args[1 - other]);
  const etx_shape* const scaler =
      etx_rewrite_shape(rewrite, &node->args[other]);
  const size_t rank = scaler->rank;
  return out->rank >= 2 && out->dims[out->rank - 1] != 1 &&
         (rank == 0 || scaler->dims[rank - 1] == 1) &&
         scaler->dtype == out->dtype && scored->dtype == out->dtype &&
         scored->rank == out->rank &&
         etx_builder_same_dims(&rewrite->builder, scored->dims, out->dims,
                               out->rank);
}

// Reads a multiplication or division.
static score_step read_scaling(const etx_rewrite* rewrite,
                               const etx_ir_node* node) {
  score_step s = {.kind = STEP_NONE};
  const bool is_scalar = node->op->id == ETX_OP_mul_scalar_out ||
                         node->op->id == ETX_OP_div_scalar_out;
  s.divides =
      node->op->id == ETX_OP_div_out || node->op->id == ETX_OP_div_scalar_out;
  for (size_t i = 0; i < 2; ++i) {
    s.scored = i;
    s.other = 1 - i;
    if (arg_number(rewrite, &node->args[s.other], &s.number)) {
      s.kind = STEP_SCALE;
    } else if (!is_scalar && is_scaler(rewrite, node, s.other)) {
      s.kind = STEP_SCALER;
    }
    if (s.kind != STEP_NONE) return s;
    if (is_scalar || s.divides) break;
  }
  return (score_step){.kind = STEP_NONE};
}

// Reads a where() or masked_fill between scores and a number.
static score_step read_where(const etx_rewrite* rewrite,
                             const etx_ir_node* node) {
  score_step s = {.kind = STEP_WHERE, .is_inverted = true};
  if (node->op->id == ETX_OP_masked_fill_scalar_out) {
    s.other = 1;
    if (!arg_number(rewrite, &node->args[2], &s.number)) s.kind = STEP_NONE;
    return s;
  }
  for (s.scored = 1; s.scored <= 2; ++s.scored) {
    const uint32_t number = node->args[3 - s.scored].as.value;
    s.is_inverted = s.scored == 2;
    if (etx_rewrite_value_number(rewrite, number, &s.number)) return s;
  }
  s.kind = STEP_NONE;
  return s;
}

// Reads a maximum() with a number that is much lower than any score, as models
// use it to keep sums of masks from overflowing.
static score_step read_minimum(const etx_rewrite* rewrite,
                               const etx_ir_node* node) {
  score_step s = {.kind = STEP_MINIMUM};
  for (s.scored = 0; s.scored < 2; ++s.scored) {
    if (arg_number(rewrite, &node->args[1 - s.scored], &s.number) &&
        s.number < -1e30) {
      return s;
    }
  }
  return (score_step){.kind = STEP_NONE};
}

// Reads what the node does with the scores, unless it is an addition.
static score_step read_step(const etx_rewrite* rewrite,
                            const etx_ir_node* node) {
  switch (node->op->id) {
    case ETX_OP_view_copy_out:
    case ETX_OP_to_dim_order_copy_out:
      return (score_step){.kind = keeps_rows(rewrite, node) ? STEP_VIEW
                                                            : STEP_NONE};
    case ETX_OP_mul_out:
    case ETX_OP_mul_scalar_out:
    case ETX_OP_div_out:
    case ETX_OP_div_scalar_out:
      return read_scaling(rewrite, node);
    case ETX_OP_masked_fill_scalar_out:
    case ETX_OP_where_self_out:
      return read_where(rewrite, node);
    case ETX_OP_maximum_out:
      return read_minimum(rewrite, node);
    case ETX_OP_tanh_out:
      return (score_step){.kind = STEP_CAP};
    default:
      return (score_step){.kind = STEP_NONE};
  }
}

static bool is_addition(const etx_ir_node* node) {
  return node->op->id == ETX_OP_add_out || node->op->id == ETX_OP_sub_out;
}

// True if a score chain leads from `value` to a matrix product; with
// `past_additions`, over additions too. The scores are the first operand of an
// addition, or the second one if a chain without additions leads from there to
// a product. Of a subtraction they are the first.
static bool leads_to_product(const etx_rewrite* rewrite, uint32_t value,
                             bool past_additions) {
  for (size_t count = 0; count < MAX_STEPS; ++count) {
    const etx_ir_node* const node = etx_rewrite_definition(rewrite, value);
    size_t position = 0;
    if (node == NULL) return false;
    if (is_product(node)) return true;
    if (past_additions && is_addition(node)) {
      const uint32_t second = node->args[1].as.value;
      if (node->op->id == ETX_OP_add_out &&
          leads_to_product(rewrite, second, false)) {
        return true;
      }
    } else {
      const score_step s = read_step(rewrite, node);
      if (s.kind == STEP_NONE) return false;
      position = s.scored;
    }
    value = node->args[position].as.value;
  }
  return false;
}

// ------------------------------------------------ the chain

// Operand `position` of `node` as a tensor that is combined with the scores.
// Keeps the shape of the scores if it is better than the one so far: rank 4
// shows batch and heads.
static etx_score_operand make_operand(const etx_rewrite* rewrite,
                                      etx_attention_scores* s,
                                      const etx_ir_node* node,
                                      size_t position) {
  const etx_score_operand b = {
      .value = node->args[position].as.value,
      .scores = *etx_builder_shape(&rewrite->builder, node->outputs[0]),
      .factor = s->scale};
  if (s->shape.rank != 4 &&
      (b.scores.rank == 4 || b.scores.rank > s->shape.rank)) {
    s->shape = b.scores;
  }
  return b;
}

static etx_fusion_obstacle take_scaler(const etx_rewrite* rewrite,
                                       etx_attention_scores* s,
                                       const etx_ir_node* node,
                                       const score_step* taken) {
  if (s->scaler.value != ETX_IR_NONE)
    return "its scores are scaled by two tensors";
  s->scaler = make_operand(rewrite, s, node, taken->other);
  s->is_divisor = taken->divides;
  return NULL;
}

// The score of hidden keys at the softmax: the number that where() selects,
// scaled like the scores; -infinity if that overflows the type.
static double scaled_number(const etx_rewrite* rewrite,
                            const etx_attention_scores* s,
                            const etx_ir_node* node, double number) {
  const etx_dtype dtype =
      etx_builder_shape(&rewrite->builder, node->outputs[0])->dtype;
  const double scaled = number * s->scale;
  const bool is_beyond = scaled < -etx_dtype_max(dtype);
  return fmax(is_beyond ? -(double)INFINITY : scaled, s->minimum);
}

static etx_fusion_obstacle take_where(const etx_rewrite* rewrite,
                                      etx_attention_scores* s,
                                      const etx_ir_node* node,
                                      const score_step* taken) {
  if (s->scaler.value != ETX_IR_NONE || !(s->scale > 0)) {
    return "its scores are scaled after they are masked";
  }
  if (s->condition.value != ETX_IR_NONE) {
    return "its scores have more than one where()";
  }
  s->condition = make_operand(rewrite, s, node, taken->other);
  s->added_after_where = s->added_count;
  s->is_inverted = taken->is_inverted;
  s->hidden = scaled_number(rewrite, s, node, taken->number);
  return etx_builder_shape(&rewrite->builder, s->condition.value)->dtype ==
                 ETX_DTYPE_BOOL
             ? NULL
             : "its mask has an integer type";
}

// max(s + m, minimum) = s + max(m, minimum), because |s| is negligible compared
// with the minimum.
static etx_fusion_obstacle take_minimum(etx_attention_scores* s,
                                        const score_step* taken) {
  if (s->added_count != 0 || s->scale != 1 || s->scaler.value != ETX_IR_NONE ||
      s->minimum != -(double)INFINITY) {
    return "its scores are scaled or masked after a maximum()";
  }
  s->minimum = taken->number;
  return NULL;
}

// Adds a mask to the list. A tensor that is added twice, without the where()
// between, is kept once with the sum of the factors.
static etx_fusion_obstacle take_mask(const etx_rewrite* rewrite,
                                     etx_attention_scores* s,
                                     const etx_ir_node* node, size_t position,
                                     double weight) {
  etx_score_operand mask = make_operand(rewrite, s, node, position);
  mask.factor *= weight;
  const etx_dtype dtype =
      etx_builder_shape(&rewrite->builder, mask.value)->dtype;
  if (etx_dtype_category_of(dtype) != ETX_CATEGORY_FLOATING) {
    return "its mask has an integer type";
  }
  if (s->scaler.value != ETX_IR_NONE) {
    return "its scores are scaled after they are masked";
  }
  for (size_t i = s->added_after_where; i < s->added_count; ++i) {
    if (s->added[i].value != mask.value ||
        s->added[i].scores.rank != mask.scores.rank) {
      continue;
    }
    s->added[i].factor += mask.factor;
    return NULL;
  }
  if (s->added_count == ETX_ATTENTION_MAX_ADDENDS) {
    return "its scores have more than four added masks";
  }
  s->added[s->added_count++] = mask;
  return NULL;
}

// Reads scores + alpha mask, mask + alpha scores, or scores - alpha mask.
static etx_fusion_obstacle take_addition(const etx_rewrite* rewrite,
                                         etx_attention_scores* s,
                                         const etx_ir_node* node,
                                         uint32_t* at) {
  double alpha = 1;
  if (!arg_number(rewrite, &node->args[2], &alpha)) return "";
  const bool is_sum = node->op->id == ETX_OP_add_out;
  for (size_t i = 0; i < (is_sum ? 2u : 1u); ++i) {
    const uint32_t scored = node->args[i].as.value;
    if (!leads_to_product(rewrite, scored, true)) continue;
    const double weight = i == 1 ? 1 : is_sum ? alpha : -alpha;
    *at = scored;
    const etx_fusion_obstacle reason =
        take_mask(rewrite, s, node, 1 - i, weight);
    if (i == 1) s->scale *= alpha;
    return reason;
  }
  return "";
}

// Reads cap * tanh(scores): the factors that have been found so far, between
// tanh and softmax, are the cap.
static etx_fusion_obstacle take_cap(etx_attention_scores* s) {
  if (s->cap != 0) return "its scores have two tanh";
  if (s->scaler.value != ETX_IR_NONE || !(s->scale > 0)) {
    return "its scores are scaled by a tensor or a negative number after tanh";
  }
  s->cap = s->scale;
  return NULL;
}

static etx_fusion_obstacle take_step(const etx_rewrite* rewrite,
                                     etx_attention_scores* s,
                                     const etx_ir_node* node, uint32_t* at) {
  const bool adds = is_addition(node);
  const score_step taken =
      adds ? (score_step){.kind = STEP_NONE} : read_step(rewrite, node);
  if (s->cap != 0 &&
      (adds || taken.kind == STEP_WHERE || taken.kind == STEP_MINIMUM)) {
    return "its scores are masked before tanh";
  }
  if (adds) return take_addition(rewrite, s, node, at);
  if (taken.kind == STEP_NONE) return "";
  *at = node->args[taken.scored].as.value;
  if (taken.kind == STEP_CAP) return take_cap(s);
  if (taken.kind == STEP_SCALER) return take_scaler(rewrite, s, node, &taken);
  if (taken.kind == STEP_MINIMUM) return take_minimum(s, &taken);
  if (taken.kind == STEP_WHERE) return take_where(rewrite, s, node, &taken);
  if (taken.kind == STEP_SCALE) {
    s->scale =
        taken.divides ? s->scale / taken.number : s->scale * taken.number;
  }
  return NULL;
}

// True if `value` has other uses than the chain and the guard.
static bool has_other_uses(const etx_rewrite* rewrite, uint32_t value,
                           bool is_guarded) {
  return value < rewrite->value_count &&
         rewrite->uses[value] > (is_guarded ? 2u : 1u);
}

// True if `value` is computed from a matrix product through any operators.
static bool comes_from_product(const etx_rewrite* rewrite, uint32_t value) {
  for (size_t count = 0; count < MAX_STEPS; ++count) {
    const etx_ir_node* const node = etx_rewrite_definition(rewrite, value);
    if (node == NULL || node->arg_count == 0 ||
        node->args[0].kind != ETX_IR_ARG_VALUE) {
      return false;
    }
    if (is_product(node)) return true;
    const size_t position = read_step(rewrite, node).scored;
    const bool is_second =
        position == 0 && node->arg_count > 1 &&
        node->args[1].kind == ETX_IR_ARG_VALUE &&
        leads_to_product(rewrite, node->args[1].as.value, true);
    value = node->args[is_second ? 1 : position].as.value;
  }
  return false;
}

// Keys that the where() hides must stay hidden with everything that is added.
static etx_fusion_obstacle check_masks(const etx_attention_scores* s) {
  return s->condition.value != ETX_IR_NONE && s->added_count != 0 &&
                 s->hidden > -1e30
             ? "its scores are masked twice, by a where() with a number above "
               "-1e30"
             : NULL;
}

etx_fusion_obstacle etx_attention_scores_follow(const etx_rewrite* rewrite,
                                                uint32_t at,
                                                etx_attention_scores* s) {
  for (size_t count = 0; count < MAX_STEPS; ++count) {
    const etx_ir_node* const node = etx_rewrite_definition(rewrite, at);
    if (node == NULL) return "";
    if (has_other_uses(rewrite, at, count == 0 && s->is_guarded)) {
      return "its scores have other uses";
    }
    if (is_product(node)) {
      s->products = at;
      s->left = node->args[0].as.value;
      s->right = node->args[1].as.value;
      s->is_nt = node->op->id == ETX_OP_bmm_nt_out;
      return check_masks(s);
    }
    const etx_fusion_obstacle reason = take_step(rewrite, s, node, &at);
    if (reason != NULL && reason[0] == '\0' &&
        comes_from_product(rewrite, at)) {
      return "its scores are changed by an operator that neither scales nor "
             "masks "
             "them";
    }
    if (reason != NULL) return reason;
  }
  return "";
}
