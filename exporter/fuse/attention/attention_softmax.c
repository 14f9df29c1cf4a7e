// Reads the softmax of attention and the guard of safe softmax, which gives
// zeros for rows that see no key.

#include <float.h>
#include <math.h>

#include "exporter/fuse/attention/attention_pattern.h"
#include "exporter/ir/ir_edit.h"

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

static bool is_minus_infinity(const etx_ir_arg* arg) {
  return arg->kind == ETX_IR_ARG_DOUBLE && arg->as.real < -DBL_MAX;
}

// True for eq(scores, -inf).
static bool finds_hidden(const etx_ir_node* node, uint32_t scores) {
  return node != NULL && node->op->id == ETX_OP_eq_scalar_out &&
         node->args[0].as.value == scores && is_minus_infinity(&node->args[1]);
}

// The operand of an expand that repeats a mask for rows, not for keys; any
// other value as it is.
static uint32_t skip_repeated_rows(const etx_rewrite* rewrite, uint32_t mask) {
  const etx_ir_node* const node = etx_rewrite_definition(rewrite, mask);
  if (!etx_rewrite_is_op(node, ETX_OP_expand_copy_out)) return mask;
  const etx_shape* const from = etx_rewrite_shape(rewrite, &node->args[0]);
  const etx_shape* const to = etx_builder_shape(&rewrite->builder, mask);
  const bool keeps_keys =
      from->rank != 0 &&
      etx_builder_same_dims(&rewrite->builder, &from->dims[from->rank - 1],
                            &to->dims[to->rank - 1], 1);
  return keeps_keys ? node->args[0].as.value : mask;
}

// True if `dead` is true for exactly the rows whose scores are all -infinity.
static bool marks_dead_rows(const etx_rewrite* rewrite, uint32_t dead,
                            uint32_t scores, const etx_attention_scores* s) {
  const etx_ir_node* const node = etx_rewrite_definition(rewrite, dead);
  if (node == NULL) return false;
  if (node->op->id == ETX_OP_eq_scalar_out) {
    const etx_ir_node* const most = operand_of(rewrite, node, ETX_OP_amax_out);
    return most != NULL && most->args[0].as.value == scores &&
           is_minus_infinity(&node->args[1]) &&
           most->args[1].as.list.count == 1 &&
           is_last_dim(rewrite, most, &most->args[1].as.list.items[0]);
  }
  if (node->op->id != ETX_OP_logical_not_out) return false;
  const etx_ir_node* const any = operand_of(rewrite, node, ETX_OP_any_out);
  if (any == NULL || !is_last_dim(rewrite, any, &any->args[1])) return false;
  const uint32_t seen = any->args[0].as.value;
  const bool is_condition =
      seen == s->condition.value ||
      skip_repeated_rows(rewrite, seen) == s->condition.value;
  if (is_condition && !s->is_inverted) return true;
  const etx_ir_node* const known = etx_rewrite_definition(rewrite, seen);
  return known != NULL && known->op->id == ETX_OP_logical_not_out &&
         finds_hidden(operand_of(rewrite, known, ETX_OP_eq_scalar_out), scores);
}

// Reads where(dead, 0, weights), the guard of a row that sees no key; leaves
// `*weights` alone if there is no where().
static bool read_guard(const etx_rewrite* rewrite, uint32_t* weights,
                       uint32_t* out_dead) {
  const etx_ir_node* const node = etx_rewrite_definition(rewrite, *weights);
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

// ------------------------------------------------ softmax

static bool is_softmax_of_last(const etx_rewrite* rewrite,
                               const etx_ir_node* node) {
  if (node == NULL || node->op->id != ETX_OP_softmax_out) return false;
  return is_last_dim(rewrite, node, &node->args[1]);
}

bool etx_attention_scores_read(const etx_rewrite* rewrite, uint32_t weights,
                               etx_attention_scores* out_scores,
                               etx_fusion_obstacle* out_reason) {
  uint32_t dead = ETX_IR_NONE;
  *out_scores = (etx_attention_scores){.scale = 1,
                                       .scaler = {.value = ETX_IR_NONE},
                                       .condition = {.value = ETX_IR_NONE},
                                       .hidden = -(double)INFINITY,
                                       .minimum = -(double)INFINITY};
  *out_reason = "";
  uint32_t at = etx_rewrite_skip_views(rewrite, weights);
  if (!read_guard(rewrite, &at, &dead)) return false;
  out_scores->is_guarded = dead != ETX_IR_NONE;
  at = etx_rewrite_skip_views(rewrite, at);
  const etx_ir_node* const softmax = etx_rewrite_definition(rewrite, at);
  if (!is_softmax_of_last(rewrite, softmax)) return false;
  const bool is_shared = !etx_rewrite_is_only_use(rewrite, at);
  const uint32_t scores = softmax->args[0].as.value;
  out_scores->shape = *etx_builder_shape(&rewrite->builder, scores);
  *out_reason = etx_attention_scores_follow(rewrite, scores, out_scores);
  if (*out_reason == NULL && is_shared) {
    *out_reason = "the result of its softmax has other uses";
  }
  if (*out_reason == NULL && dead != ETX_IR_NONE &&
      !marks_dead_rows(rewrite, dead, scores, out_scores)) {
    *out_reason = "";
  }
  return *out_reason == NULL;
}
