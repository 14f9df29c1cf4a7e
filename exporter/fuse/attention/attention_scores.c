#include <math.h>

#include "exporter/fuse/attention/attention_pattern.h"
#include "exporter/ir/ir_edit.h"
#include "format/tensor/dtype_limits.h"

// Steps that a chain has at most: far more than any model's.
enum { MAX_STEPS = 24 };

bool etx_rewrite_value_number(const etx_rewrite* rewrite, uint32_t value,
                              double* out_number) {
  const etx_ir_constant* const constant =
      etx_rewrite_constant(rewrite->lower.module, rewrite->lower.method, value);
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
      etx_builder_shape(&rewrite->lower, view->outputs[0]);
  return from->rank != 0 && to->rank != 0 &&
         etx_symbols_equal(&rewrite->lower.method->symbols,
                           from->dims[from->rank - 1], to->dims[to->rank - 1]);
}

// True of a cast between float32 and the halves, which are computed in float32.
static bool is_narrow_cast(const etx_rewrite* rewrite,
                           const etx_ir_node* node) {
  if (node->op->id != ETX_OP_to_dim_order_copy_out) return false;
  const etx_dtype types[] = {
      etx_rewrite_shape(rewrite, &node->args[0])->dtype,
      etx_builder_shape(&rewrite->lower, node->outputs[0])->dtype};
  for (size_t i = 0; i < 2; ++i) {
    if (types[i] != ETX_DTYPE_FLOAT32 && types[i] != ETX_DTYPE_FLOAT16 &&
        types[i] != ETX_DTYPE_BFLOAT16) {
      return false;
    }
  }
  return true;
}

// True of a node that gives the rows of scores or weights it reads.
static bool keeps_rows(const etx_rewrite* rewrite, const etx_ir_node* node) {
  return (node->op->id == ETX_OP_view_copy_out && keeps_last(rewrite, node)) ||
         is_narrow_cast(rewrite, node);
}

uint32_t etx_rewrite_skip_views(const etx_rewrite* rewrite, uint32_t value) {
  for (size_t step = 0; step < MAX_STEPS; ++step) {
    const etx_ir_node* const node = etx_rewrite_definition(rewrite, value);
    if (node == NULL || !keeps_rows(rewrite, node)) break;
    value = node->args[0].as.value;
  }
  return value;
}

// ------------------------------------------------ one step

typedef enum step_kind {
  STEP_NONE,
  STEP_VIEW,
  STEP_SCALE,   // with a number
  STEP_SCALER,  // with a number for each row
  STEP_CHOICE,  // between scores and a number
  STEP_LEAST,   // no score is less than a number
  STEP_CAP      // tanh
} step_kind;

typedef struct step {
  step_kind kind;
  size_t scored;  // the operand through which the chain goes on
  size_t other;   // the scaler, or the truth values
  double number;
  bool divides;
  bool is_inverted;  // true where the number is chosen
} step;

static bool is_product(const etx_ir_node* node) {
  return node->op->id == ETX_OP_bmm_out || node->op->id == ETX_OP_bmm_nt_out;
}

// True if operand `other` has one number for each row of the other operand.
static bool is_scaler(const etx_rewrite* rewrite, const etx_ir_node* node,
                      size_t other) {
  if (node->args[other].kind != ETX_IR_ARG_VALUE) return false;
  const etx_shape* const out =
      etx_builder_shape(&rewrite->lower, node->outputs[0]);
  const etx_shape* const scored =
      etx_rewrite_shape(rewrite, &node->args[1 - other]);
  const etx_shape* const scaler =
      etx_rewrite_shape(rewrite, &node->args[other]);
  const size_t rank = scaler->rank;
  return out->rank >= 2 && out->dims[out->rank - 1] != 1 &&
         (rank == 0 || scaler->dims[rank - 1] == 1) &&
         scaler->dtype == out->dtype && scored->dtype == out->dtype &&
         scored->rank == out->rank &&
         etx_builder_same_dims(&rewrite->lower, scored->dims, out->dims,
                               out->rank);
}

// A product or a quotient.
static step read_scaling(const etx_rewrite* rewrite, const etx_ir_node* node) {
  step s = {.kind = STEP_NONE};
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
  return (step){.kind = STEP_NONE};
}

static step read_choice(const etx_rewrite* rewrite, const etx_ir_node* node) {
  step s = {.kind = STEP_CHOICE, .is_inverted = true};
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

// A number so low that scores are nothing beside it.
static step read_least(const etx_rewrite* rewrite, const etx_ir_node* node) {
  step s = {.kind = STEP_LEAST};
  for (s.scored = 0; s.scored < 2; ++s.scored) {
    if (arg_number(rewrite, &node->args[1 - s.scored], &s.number) &&
        s.number < -1e30) {
      return s;
    }
  }
  return (step){.kind = STEP_NONE};
}

// What the node does with scores, unless it is an addition.
static step read_step(const etx_rewrite* rewrite, const etx_ir_node* node) {
  switch (node->op->id) {
    case ETX_OP_view_copy_out:
    case ETX_OP_to_dim_order_copy_out:
      return (step){.kind = keeps_rows(rewrite, node) ? STEP_VIEW : STEP_NONE};
    case ETX_OP_mul_out:
    case ETX_OP_mul_scalar_out:
    case ETX_OP_div_out:
    case ETX_OP_div_scalar_out:
      return read_scaling(rewrite, node);
    case ETX_OP_masked_fill_scalar_out:
    case ETX_OP_where_self_out:
      return read_choice(rewrite, node);
    case ETX_OP_maximum_out:
      return read_least(rewrite, node);
    case ETX_OP_tanh_out:
      return (step){.kind = STEP_CAP};
    default:
      return (step){.kind = STEP_NONE};
  }
}

static bool is_addition(const etx_ir_node* node) {
  return node->op->id == ETX_OP_add_out || node->op->id == ETX_OP_sub_out;
}

// True if steps lead from `value` to a product; past additions, too, if that is
// wanted. Scores are an addition's first operand, or its second if no other
// addition comes before it; of a difference they are the first.
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
      const step s = read_step(rewrite, node);
      if (s.kind == STEP_NONE) return false;
      position = s.scored;
    }
    value = node->args[position].as.value;
  }
  return false;
}

// ------------------------------------------------ the chain

// Scores of four dimensions tell batch and heads.
static etx_score_operand beside(const etx_rewrite* rewrite,
                                etx_attention_scores* s,
                                const etx_ir_node* node, size_t position) {
  const etx_score_operand b = {
      .value = node->args[position].as.value,
      .scores = *etx_builder_shape(&rewrite->lower, node->outputs[0]),
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
                                       const step* taken) {
  if (s->scaler.value != ETX_IR_NONE)
    return "its scores are scaled by two tensors";
  s->scaler = beside(rewrite, s, node, taken->other);
  s->is_divisor = taken->divides;
  return NULL;
}

// What is chosen is scaled as scores are, perhaps beyond the type's numbers.
static double scaled_number(const etx_rewrite* rewrite,
                            const etx_attention_scores* s,
                            const etx_ir_node* node, double number) {
  const etx_dtype dtype =
      etx_builder_shape(&rewrite->lower, node->outputs[0])->dtype;
  const double scaled = number * s->scale;
  const bool is_beyond = scaled < -etx_dtype_max(dtype);
  return fmax(is_beyond ? -(double)INFINITY : scaled, s->least);
}

static etx_fusion_obstacle take_choice(const etx_rewrite* rewrite,
                                       etx_attention_scores* s,
                                       const etx_ir_node* node,
                                       const step* taken) {
  if (s->scaler.value != ETX_IR_NONE || !(s->scale > 0)) {
    return "its scores are scaled after they are masked";
  }
  if (s->choice.value != ETX_IR_NONE) {
    return "its scores are masked more often than attention can";
  }
  s->choice = beside(rewrite, s, node, taken->other);
  s->behind_choice = s->added_count;
  s->is_inverted = taken->is_inverted;
  s->hidden = scaled_number(rewrite, s, node, taken->number);
  return etx_builder_shape(&rewrite->lower, s->choice.value)->dtype ==
                 ETX_DTYPE_BOOL
             ? NULL
             : "its mask is of integers";
}

// max(s + m, least) = s + max(m, least): s is nothing beside `least`.
static etx_fusion_obstacle take_least(etx_attention_scores* s,
                                      const step* taken) {
  if (s->added_count != 0 || s->scale != 1 || s->scaler.value != ETX_IR_NONE ||
      s->least != -(double)INFINITY) {
    return "its scores are masked after they have a least value";
  }
  s->least = taken->number;
  return NULL;
}

// What is added twice is added once, doubled, unless the choice is between.
static etx_fusion_obstacle take_mask(const etx_rewrite* rewrite,
                                     etx_attention_scores* s,
                                     const etx_ir_node* node, size_t position,
                                     double weight) {
  etx_score_operand mask = beside(rewrite, s, node, position);
  mask.factor *= weight;
  const etx_dtype dtype = etx_builder_shape(&rewrite->lower, mask.value)->dtype;
  if (etx_dtype_category_of(dtype) != ETX_CATEGORY_FLOATING) {
    return "its mask is of integers";
  }
  if (s->scaler.value != ETX_IR_NONE) {
    return "its scores are scaled after they are masked";
  }
  for (size_t i = s->behind_choice; i < s->added_count; ++i) {
    if (s->added[i].value != mask.value ||
        s->added[i].scores.rank != mask.scores.rank) {
      continue;
    }
    s->added[i].factor += mask.factor;
    return NULL;
  }
  if (s->added_count == ETX_ATTENTION_MAX_ADDENDS) {
    return "its scores are masked more often than attention can";
  }
  s->added[s->added_count++] = mask;
  return NULL;
}

// scores + alpha mask, mask + alpha scores, or scores - alpha mask.
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

// c tanh(s x): the factor behind it is all that was found yet.
static etx_fusion_obstacle take_cap(etx_attention_scores* s) {
  if (s->cap != 0) return "its scores are capped twice";
  if (s->scaler.value != ETX_IR_NONE || !(s->scale > 0)) {
    return "its scores are scaled after they are capped";
  }
  s->cap = s->scale;
  return NULL;
}

static etx_fusion_obstacle take_step(const etx_rewrite* rewrite,
                                     etx_attention_scores* s,
                                     const etx_ir_node* node, uint32_t* at) {
  const bool adds = is_addition(node);
  const step taken =
      adds ? (step){.kind = STEP_NONE} : read_step(rewrite, node);
  if (s->cap != 0 &&
      (adds || taken.kind == STEP_CHOICE || taken.kind == STEP_LEAST)) {
    return "its scores are masked before they are capped";
  }
  if (adds) return take_addition(rewrite, s, node, at);
  if (taken.kind == STEP_NONE) return "";
  *at = node->args[taken.scored].as.value;
  if (taken.kind == STEP_CAP) return take_cap(s);
  if (taken.kind == STEP_SCALER) return take_scaler(rewrite, s, node, &taken);
  if (taken.kind == STEP_LEAST) return take_least(s, &taken);
  if (taken.kind == STEP_CHOICE) return take_choice(rewrite, s, node, &taken);
  if (taken.kind == STEP_SCALE) {
    s->scale =
        taken.divides ? s->scale / taken.number : s->scale * taken.number;
  }
  return NULL;
}

// True if more than one node reads `value`, or two where the guard does too.
static bool is_read_by_others(const etx_rewrite* rewrite, uint32_t value,
                              bool is_guarded) {
  return value < rewrite->value_count &&
         rewrite->uses[value] > (is_guarded ? 2u : 1u);
}

// True if `value` comes from a product of queries and keys through operators
// that keep its shape, whatever they do.
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

// What the choice hides stays hidden whatever is added to it.
static etx_fusion_obstacle check_masks(const etx_attention_scores* s) {
  return s->choice.value != ETX_IR_NONE && s->added_count != 0 &&
                 s->hidden > -1e30
             ? "its scores are masked twice, by a number that is not far away"
             : NULL;
}

etx_fusion_obstacle etx_attention_scores_follow(const etx_rewrite* rewrite,
                                                uint32_t at,
                                                etx_attention_scores* s) {
  for (size_t count = 0; count < MAX_STEPS; ++count) {
    const etx_ir_node* const node = etx_rewrite_definition(rewrite, at);
    if (node == NULL) return "";
    if (is_read_by_others(rewrite, at, count == 0 && s->is_guarded)) {
      return "its scores are read by others too";
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
      return "its scores are neither scaled nor masked but changed otherwise";
    }
    if (reason != NULL) return reason;
  }
  return "";
}
