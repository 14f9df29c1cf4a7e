#include <math.h>

#include "exporter/attention_parts.h"

#include "exporter/ir_edit.h"

// Steps that a chain has at most: far more than any model's.
enum { MAX_STEPS = 24 };

static const etx_ir_node* definition_of(const etx_rewrite* rewrite,
                                        uint32_t value) {
  return etx_ir_definition(rewrite->lower.method, value);
}

bool etx_rewrite_value_number(const etx_rewrite* rewrite, uint32_t value,
                              double* out_number) {
  const etx_ir_constant* const constant =
      etx_rewrite_constant(rewrite->lower.module, rewrite->lower.method, value);
  return constant != NULL && etx_rewrite_number(constant, out_number);
}

static bool arg_number(const etx_rewrite* rewrite, const etx_ir_arg* arg,
                       double* out_number) {
  if (arg->kind == ETX_IR_ARG_VALUE) {
    return etx_rewrite_shape(rewrite, arg)->rank == 0 &&
           etx_rewrite_value_number(rewrite, arg->as.value, out_number);
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
      etx_lower_shape(&rewrite->lower, view->outputs[0]);
  return from->rank != 0 && to->rank != 0 &&
         etx_symbols_equal(&rewrite->lower.method->symbols,
                           from->dims[from->rank - 1], to->dims[to->rank - 1]);
}

static uint32_t skip_views(const etx_rewrite* rewrite, uint32_t value) {
  for (size_t step = 0; step < MAX_STEPS; ++step) {
    const etx_ir_node* const node = definition_of(rewrite, value);
    if (node == NULL || node->op->id != ETX_OP_view_copy_out ||
        !keeps_last(rewrite, node)) {
      break;
    }
    value = node->args[0].as.value;
  }
  return value;
}

// ------------------------------------------------ the chain

static bool is_product(const etx_ir_node* node) {
  return node->op->id == ETX_OP_bmm_out || node->op->id == ETX_OP_bmm_nt_out;
}

// The operand of a step through which the chain goes on; false if the node is
// no step of a chain.
static bool step_operand(const etx_rewrite* rewrite, const etx_ir_node* node,
                         size_t* out_position) {
  double number = 0;
  *out_position = 0;
  switch (node->op->id) {
    case ETX_OP_view_copy_out:
      return keeps_last(rewrite, node);
    case ETX_OP_mul_out:
    case ETX_OP_mul_scalar_out:
    case ETX_OP_div_out:
    case ETX_OP_div_scalar_out:
      return arg_number(rewrite, &node->args[1], &number);
    case ETX_OP_masked_fill_scalar_out:
      return true;
    case ETX_OP_where_self_out: {
      if (etx_rewrite_value_number(rewrite, node->args[2].as.value, &number)) {
        *out_position = 1;
        return true;
      }
      *out_position = 2;
      return etx_rewrite_value_number(rewrite, node->args[1].as.value, &number);
    }
    default:
      return false;
  }
}

// True if steps lead from `value` to a product; past additions, too, if that is
// wanted. Scores are an addition's first operand, or its second if no other
// addition comes before it.
static bool leads_to_product(const etx_rewrite* rewrite, uint32_t value,
                             bool past_additions) {
  for (size_t step = 0; step < MAX_STEPS; ++step) {
    const etx_ir_node* const node = definition_of(rewrite, value);
    size_t position = 0;
    if (node == NULL) return false;
    if (is_product(node)) return true;
    if (past_additions && node->op->id == ETX_OP_add_out) {
      const uint32_t second = node->args[1].as.value;
      if (leads_to_product(rewrite, second, false)) return true;
    } else if (!step_operand(rewrite, node, &position)) {
      return false;
    }
    value = node->args[position].as.value;
  }
  return false;
}

static bool is_bool(const etx_rewrite* rewrite, uint32_t value) {
  return etx_lower_shape(&rewrite->lower, value)->dtype == ETX_DTYPE_BOOL;
}

// True if what is added to scores of the shape `inner` can be added to those of
// `outer`, which are a view of them: batch and heads of [N, L, S] may be two
// dimensions there.
static bool is_addable(const etx_rewrite* rewrite, const etx_shape* outer,
                       const etx_shape* inner, const etx_shape* mask) {
  const etx_symbols* const symbols = &rewrite->lower.method->symbols;
  const size_t apart = outer->rank - inner->rank;
  if (outer->rank > 4 || outer->rank < inner->rank || apart > 1) return false;
  if (mask->rank > inner->rank || inner->rank < 3) return false;
  for (size_t i = apart == 0 ? 0 : 1; i < inner->rank; ++i) {
    if (!etx_symbols_equal(symbols, inner->dims[i], outer->dims[i + apart])) {
      return false;
    }
  }
  if (apart == 0 || mask->rank < 3 || mask->dims[0] == 1) return true;
  return inner->rank == 3 &&
         etx_symbols_equal(symbols, mask->dims[0], inner->dims[0]);
}

// A second mask: one of the two is added, and what the other hides stays hidden
// whatever is added to it.
static etx_reason take_another(const etx_rewrite* rewrite, etx_scores* s,
                               uint32_t scored, uint32_t mask) {
  const bool was_choice = is_bool(rewrite, s->mask);
  const bool is_choice = is_bool(rewrite, mask);
  if (s->also != ETX_IR_NONE || (was_choice && is_choice)) {
    return "its scores are masked more often than attention can";
  }
  if ((was_choice || is_choice) && s->hidden > -1e30) {
    return "its scores are masked twice, by a number that is not far away";
  }
  const etx_shape* const inner = etx_lower_shape(&rewrite->lower, scored);
  const etx_shape* const shape = etx_lower_shape(&rewrite->lower, mask);
  const bool is_view = inner->rank != s->shape.rank;
  if (!is_addable(rewrite, &s->shape, inner, shape) || (is_choice && is_view)) {
    return "its scores are masked twice, in two shapes";
  }
  if (!was_choice && !is_choice && s->factor != s->scale) {
    return "its scores are masked twice, and scaled between";
  }
  if (!is_choice) s->factor = s->scale;
  s->is_by_product = is_view && shape->rank == 3 && shape->dims[0] != 1;
  s->also = is_choice ? s->mask : mask;
  if (is_choice) s->mask = mask;
  const etx_dtype also = etx_lower_shape(&rewrite->lower, s->also)->dtype;
  const etx_dtype first = etx_lower_shape(&rewrite->lower, s->mask)->dtype;
  const bool fits =
      also == ETX_DTYPE_FLOAT32 && (first == also || first == ETX_DTYPE_BOOL);
  return fits ? NULL : "its scores are masked twice, in two types";
}

static etx_reason take_mask(const etx_rewrite* rewrite, etx_scores* s,
                            uint32_t scored, uint32_t mask, bool is_choice) {
  const bool is_far = s->hidden < -1e30 && s->scale > 0;
  if (is_choice && s->scale != 1 && !is_far) {
    return "its scores are scaled after they are masked";
  }
  const etx_dtype dtype = etx_lower_shape(&rewrite->lower, mask)->dtype;
  const bool fits = is_choice
                        ? dtype == ETX_DTYPE_BOOL
                        : etx_dtype_category_of(dtype) == ETX_CATEGORY_FLOATING;
  if (!fits) return "its mask is of integers";
  if (s->mask != ETX_IR_NONE) return take_another(rewrite, s, scored, mask);
  if (!is_choice) s->factor = s->scale;
  s->mask = mask;
  s->shape = *etx_lower_shape(&rewrite->lower, scored);
  return NULL;
}

// scores + alpha mask, or mask + alpha scores.
static etx_reason take_addition(const etx_rewrite* rewrite, etx_scores* s,
                                const etx_ir_node* node, uint32_t* at) {
  double alpha = 1;
  if (!arg_number(rewrite, &node->args[2], &alpha)) return "";
  for (size_t i = 0; i < 2; ++i) {
    const uint32_t scored = node->args[i].as.value;
    if (!leads_to_product(rewrite, scored, true)) continue;
    if (alpha != 1 && i == 0) return "its mask is scaled where it is added";
    *at = scored;
    const etx_reason reason = take_mask(rewrite, s, node->outputs[0],
                                        node->args[1 - i].as.value, false);
    s->scale *= alpha;
    return reason;
  }
  return "";
}

// A choice between scores and a number.
static etx_reason take_choice(const etx_rewrite* rewrite, etx_scores* s,
                              const etx_ir_node* node, size_t position,
                              uint32_t* at) {
  const bool is_fill = node->op->id == ETX_OP_masked_fill_scalar_out;
  const size_t mask = is_fill ? 1 : 0;
  const size_t number = is_fill ? 2 : 3 - position;
  if (is_fill) {
    if (!arg_number(rewrite, &node->args[number], &s->hidden)) return "";
  } else if (!etx_rewrite_value_number(rewrite, node->args[number].as.value,
                                       &s->hidden)) {
    return "";
  }
  *at = node->args[position].as.value;
  s->is_inverted = is_fill || position == 2;
  return take_mask(rewrite, s, node->outputs[0], node->args[mask].as.value,
                   true);
}

static etx_reason take_step(const etx_rewrite* rewrite, etx_scores* s,
                            const etx_ir_node* node, uint32_t* at) {
  size_t position = 0;
  double number = 1;
  if (node->op->id == ETX_OP_add_out) {
    return take_addition(rewrite, s, node, at);
  }
  if (!step_operand(rewrite, node, &position)) return "";
  switch (node->op->id) {
    case ETX_OP_view_copy_out:
      break;
    case ETX_OP_mul_out:
    case ETX_OP_mul_scalar_out:
      if (!arg_number(rewrite, &node->args[1], &number)) return "";
      s->scale *= number;
      break;
    case ETX_OP_div_out:
    case ETX_OP_div_scalar_out:
      if (!arg_number(rewrite, &node->args[1], &number)) return "";
      s->scale /= number;
      break;
    default:
      return take_choice(rewrite, s, node, position, at);
  }
  *at = node->args[0].as.value;
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
  for (size_t step = 0; step < MAX_STEPS; ++step) {
    const etx_ir_node* const node = definition_of(rewrite, value);
    if (node == NULL || node->arg_count == 0 ||
        node->args[0].kind != ETX_IR_ARG_VALUE) {
      return false;
    }
    if (is_product(node)) return true;
    size_t position = 0;
    if (!step_operand(rewrite, node, &position)) position = 0;
    const bool is_second =
        position == 0 && node->arg_count > 1 &&
        node->args[1].kind == ETX_IR_ARG_VALUE &&
        leads_to_product(rewrite, node->args[1].as.value, true);
    value = node->args[is_second ? 1 : position].as.value;
  }
  return false;
}

static etx_reason read_chain(const etx_rewrite* rewrite, uint32_t at,
                             etx_scores* s) {
  for (size_t step = 0; step < MAX_STEPS; ++step) {
    const etx_ir_node* const node = definition_of(rewrite, at);
    if (node == NULL) return "";
    if (is_read_by_others(rewrite, at, step == 0 && s->is_guarded)) {
      return "its scores are read by others too";
    }
    if (is_product(node)) {
      s->products = at;
      s->left = node->args[0].as.value;
      s->right = node->args[1].as.value;
      s->is_nt = node->op->id == ETX_OP_bmm_nt_out;
      return NULL;
    }
    const etx_reason reason = take_step(rewrite, s, node, &at);
    if (reason != NULL && reason[0] == '\0' &&
        comes_from_product(rewrite, at)) {
      return "its scores are neither scaled nor masked but changed otherwise";
    }
    if (reason != NULL) return reason;
  }
  return "";
}

// ------------------------------------------------ the guard

static const etx_ir_node* operand_of(const etx_rewrite* rewrite,
                                     const etx_ir_node* node, etx_op_id op) {
  return node == NULL ? NULL : etx_rewrite_operand(rewrite, node, 0, op);
}

static bool is_last_dim(const etx_rewrite* rewrite, const etx_ir_node* node,
                        const etx_ir_arg* dim) {
  const size_t rank = etx_rewrite_shape(rewrite, &node->args[0])->rank;
  return etx_rewrite_is_int(dim, -1) ||
         etx_rewrite_is_int(dim, (int64_t)rank - 1);
}

static bool is_minus_infinity(const etx_rewrite* rewrite,
                              const etx_ir_arg* arg) {
  double number = 0;
  return arg_number(rewrite, arg, &number) && number < -1.7976931348623157e308;
}

// eq(scores, -inf), the comparison of core ATen.
static bool compares_scores(const etx_rewrite* rewrite, const etx_ir_node* node,
                            uint32_t scores) {
  return node != NULL && node->op->id == ETX_OP_eq_scalar_out &&
         node->args[0].as.value == scores &&
         is_minus_infinity(rewrite, &node->args[1]);
}

// True if `dead` says of each row whether all of `scores` are -infinity.
static bool tells_dead_rows(const etx_rewrite* rewrite, uint32_t dead,
                            uint32_t scores, const etx_scores* s) {
  const etx_ir_node* const node = definition_of(rewrite, dead);
  if (node == NULL) return false;
  if (node->op->id == ETX_OP_eq_scalar_out) {
    const etx_ir_node* const most = operand_of(rewrite, node, ETX_OP_amax_out);
    return most != NULL && most->args[0].as.value == scores &&
           is_minus_infinity(rewrite, &node->args[1]) &&
           most->args[1].as.list.count == 1 &&
           is_last_dim(rewrite, most, &most->args[1].as.list.items[0]);
  }
  if (node->op->id != ETX_OP_logical_not_out) return false;
  const etx_ir_node* const any = operand_of(rewrite, node, ETX_OP_any_out);
  if (any == NULL || !is_last_dim(rewrite, any, &any->args[1])) return false;
  const uint32_t seen = any->args[0].as.value;
  if (seen == s->mask && !s->is_inverted) return true;
  const etx_ir_node* const known = definition_of(rewrite, seen);
  return known != NULL && known->op->id == ETX_OP_logical_not_out &&
         compares_scores(
             rewrite, operand_of(rewrite, known, ETX_OP_eq_scalar_out), scores);
}

// where(dead, 0, weights): the weights, and what says that a row is dead.
static bool read_guard(const etx_rewrite* rewrite, uint32_t* weights,
                       uint32_t* out_dead) {
  const etx_ir_node* const node = definition_of(rewrite, *weights);
  double number = 1;
  *out_dead = ETX_IR_NONE;
  if (node == NULL || node->op->id != ETX_OP_where_self_out) return true;
  if (!etx_rewrite_value_number(rewrite, node->args[1].as.value, &number) ||
      number != 0) {
    return false;
  }
  *out_dead = node->args[0].as.value;
  *weights = node->args[2].as.value;
  return true;
}

// ------------------------------------------------ all of it

static bool is_softmax_of_last(const etx_rewrite* rewrite,
                               const etx_ir_node* node) {
  if (node == NULL || node->op->id != ETX_OP_softmax_out) return false;
  const etx_dtype dtype = etx_rewrite_shape(rewrite, &node->args[0])->dtype;
  return is_last_dim(rewrite, node, &node->args[1]) &&
         (dtype == ETX_DTYPE_FLOAT32 || dtype == ETX_DTYPE_FLOAT64);
}

bool etx_scores_read(const etx_rewrite* rewrite, uint32_t weights,
                     etx_scores* out_scores, etx_reason* out_reason) {
  uint32_t dead = ETX_IR_NONE;
  *out_scores = (etx_scores){
      .scale = 1, .mask = ETX_IR_NONE, .also = ETX_IR_NONE, .factor = 1};
  out_scores->hidden = -(double)INFINITY;
  *out_reason = "";
  uint32_t at = skip_views(rewrite, weights);
  if (!read_guard(rewrite, &at, &dead)) return false;
  out_scores->is_guarded = dead != ETX_IR_NONE;
  at = skip_views(rewrite, at);
  const etx_ir_node* const softmax = definition_of(rewrite, at);
  if (!is_softmax_of_last(rewrite, softmax)) return false;
  const bool is_shared = !etx_rewrite_is_only_use(rewrite, at);
  const uint32_t scores = softmax->args[0].as.value;
  out_scores->shape = *etx_lower_shape(&rewrite->lower, scores);
  *out_reason = read_chain(rewrite, scores, out_scores);
  if (*out_reason == NULL && is_shared) {
    *out_reason = "its weights are read by others too";
  }
  if (*out_reason == NULL && dead != ETX_IR_NONE &&
      !tells_dead_rows(rewrite, dead, scores, out_scores)) {
    *out_reason = "";
  }
  return *out_reason == NULL;
}
