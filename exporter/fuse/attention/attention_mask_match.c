#include <math.h>

#include "exporter/fuse/attention/attention_pattern.h"
#include "exporter/ir/ir_edit.h"

enum { MAX_STEPS = 24 };

// What is added to a score, or stands for it, to hide a key: so low that the
// key adds nothing beside one that is seen.
static const double hidden_most = -1e8;

// What is known of the mask on the way inward.
typedef struct way {
  bool is_inverted;  // of truth values: true where a key is hidden
  double hidden;     // by it
} way;

// ------------------------------------------------ constants

// True if a key is seen; false in `*out_known` if the element is neither.
static bool is_seen(const etx_ir_constant* constant, size_t at, const way* w,
                    double* hidden, bool* out_known) {
  float single = 0;
  *out_known = true;
  if (constant->dtype == ETX_DTYPE_BOOL) {
    return (constant->data.data[at] != 0) != w->is_inverted;
  }
  memcpy(&single, constant->data.data + at * sizeof single, sizeof single);
  if (single == 0.0f) return true;
  *out_known = (double)single <= hidden_most &&
               (*hidden == 0 || *hidden == (double)single);
  *hidden = (double)single;
  return false;
}

// Rows of which each sees the keys up to its own number, or all. What is left
// of a mask that hides nothing may be a single number.
static bool read_constant(const etx_ir_constant* constant, const way* w,
                          etx_causal_mask* out) {
  const bool is_bool = constant->dtype == ETX_DTYPE_BOOL;
  if (!is_bool && constant->dtype != ETX_DTYPE_FLOAT32) return false;
  const size_t rank = constant->rank;
  const size_t keys = rank == 0 ? 1 : (size_t)constant->sizes[rank - 1];
  size_t count = 1;
  for (size_t i = 0; i + 1 < rank; ++i) count *= (size_t)constant->sizes[i];
  const size_t rows = rank < 2 ? 1 : (size_t)constant->sizes[rank - 2];
  if (keys == 0 || rows == 0) return false;
  double hidden = 0;
  bool is_causal = true;
  bool sees_all = true;
  for (size_t i = 0; i < count * keys; ++i) {
    bool known = false;
    const bool seen = is_seen(constant, i, w, &hidden, &known);
    if (!known) return false;
    is_causal = is_causal && seen == (i % keys <= i / keys % rows);
    sees_all = sees_all && seen;
  }
  out->hides_nothing = sees_all;
  out->is_causal = is_causal;
  out->hidden = is_bool ? w->hidden : hidden;
  return sees_all || (is_causal && rank >= 2);
}

// ------------------------------------------------ comparisons

// 0, 1, .. along the last dimension and no other.
static bool is_range(const etx_rewrite* rewrite, const etx_ir_arg* arg) {
  const etx_ir_constant* const constant = etx_rewrite_constant(
      rewrite->lower.module, rewrite->lower.method, arg->as.value);
  if (constant == NULL || constant->rank == 0 ||
      constant->dtype != ETX_DTYPE_INT64) {
    return false;
  }
  const int64_t keys = constant->sizes[constant->rank - 1];
  if (keys * (int64_t)sizeof keys != (int64_t)constant->data.size) return false;
  for (int64_t i = 0; i < keys; ++i) {
    int64_t number = 0;
    memcpy(&number, constant->data.data + (size_t)i * sizeof number,
           sizeof number);
    if (number != i) return false;
  }
  return true;
}

// One number a row, or one for all.
static bool is_of_rows(const etx_rewrite* rewrite, const etx_ir_arg* arg) {
  const etx_shape* const shape = etx_rewrite_shape(rewrite, arg);
  const bool is_whole = shape->dtype == ETX_DTYPE_INT64;
  return is_whole && (shape->rank == 0 || shape->dims[shape->rank - 1] == 1);
}

// `range < rows` and the like: which keys it is true for.
static bool read_comparison(const etx_rewrite* rewrite, const etx_ir_node* node,
                            const way* w, etx_causal_mask* out) {
  bool is_less = false;  // true for small keys
  bool is_equal = false;
  switch (node->op->id) {
    case ETX_OP_le_tensor_out:
      is_equal = is_less = true;
      break;
    case ETX_OP_lt_tensor_out:
      is_less = true;
      break;
    case ETX_OP_ge_tensor_out:
      is_equal = true;
      break;
    case ETX_OP_gt_tensor_out:
      break;
    default:
      return false;
  }
  size_t range = 0;
  if (!is_range(rewrite, &node->args[0])) {
    if (!is_range(rewrite, &node->args[1])) return false;
    range = 1;
    is_less = !is_less;
  }
  if (!is_of_rows(rewrite, &node->args[1 - range])) return false;
  // Keys that are seen are the small ones.
  if (is_less == w->is_inverted) return false;
  const bool includes = is_equal != w->is_inverted;
  out->last = node->args[1 - range].as.value;
  out->shift = includes ? 0 : -1;
  out->hidden = w->hidden;
  return true;
}

// ------------------------------------------------ the way inward

// A view that only adds or drops dimensions of 1 in front.
static bool keeps_rows(const etx_rewrite* rewrite, const etx_ir_node* view) {
  const etx_shape* const from = etx_rewrite_shape(rewrite, &view->args[0]);
  const etx_shape* const to =
      etx_builder_shape(&rewrite->lower, view->outputs[0]);
  const size_t shared = from->rank < to->rank ? from->rank : to->rank;
  for (size_t i = 0; i + shared < from->rank; ++i) {
    if (from->dims[i] != 1) return false;
  }
  for (size_t i = 0; i + shared < to->rank; ++i) {
    if (to->dims[i] != 1) return false;
  }
  return shared != 0 && etx_builder_same_dims(
                            &rewrite->lower, from->dims + from->rank - shared,
                            to->dims + to->rank - shared, shared);
}

// An expand of anything but the keys.
static bool keeps_keys(const etx_rewrite* rewrite, const etx_ir_node* expand) {
  const etx_shape* const from = etx_rewrite_shape(rewrite, &expand->args[0]);
  const etx_shape* const to =
      etx_builder_shape(&rewrite->lower, expand->outputs[0]);
  return from->rank != 0 &&
         etx_builder_same_dims(&rewrite->lower, from->dims + from->rank - 1,
                               to->dims + to->rank - 1, 1);
}

// where(truth, 0, low) or where(truth, low, 0)
static bool step_over_choice(const etx_rewrite* rewrite,
                             const etx_ir_node* node, way* w) {
  double numbers[2];
  for (size_t i = 0; i < 2; ++i) {
    if (!etx_rewrite_value_number(rewrite, node->args[1 + i].as.value,
                                  &numbers[i])) {
      return false;
    }
  }
  const size_t low = numbers[0] == 0 ? 1 : 0;
  if (numbers[1 - low] != 0 || !(numbers[low] <= hidden_most)) return false;
  w->is_inverted = low == 0;
  w->hidden = numbers[low];
  return true;
}

bool etx_causal_mask_read(const etx_rewrite* rewrite, uint32_t mask,
                          bool is_inverted, etx_causal_mask* out) {
  way w = {is_inverted, -(double)INFINITY};
  *out = (etx_causal_mask){.last = ETX_IR_NONE};
  for (size_t step = 0; step < MAX_STEPS; ++step) {
    const etx_ir_constant* const constant = etx_rewrite_constant(
        rewrite->lower.module, rewrite->lower.method, mask);
    if (constant != NULL) return read_constant(constant, &w, out);
    const etx_ir_node* const node = etx_rewrite_definition(rewrite, mask);
    if (node == NULL) return false;
    switch (node->op->id) {
      case ETX_OP_view_copy_out:
        if (!keeps_rows(rewrite, node)) return false;
        break;
      case ETX_OP_expand_copy_out:
        if (!keeps_keys(rewrite, node)) return false;
        break;
      case ETX_OP_logical_not_out:
        w.is_inverted = !w.is_inverted;
        break;
      case ETX_OP_where_self_out:
        if (!step_over_choice(rewrite, node, &w)) return false;
        break;
      default:
        return read_comparison(rewrite, node, &w, out);
    }
    mask = node->args[0].as.value;
  }
  return false;
}
