#include <math.h>

#include "exporter/fuse/attention/attention_pattern.h"
#include "exporter/ir/ir_edit.h"

// Recognises masks that depend on positions alone, from the mask tensor towards
// its operands: a constant lower triangle, or a comparison of arange with the
// last visible key, through views, expands, logical_not and where(mask, 0,
// low). If the last visible key is arange, too, the mask is causal. One of
// several tests that are combined with and() is enough (a window that slides,
// padding): then the mask stays an operand beside the last visible key.

enum { MAX_STEPS = 24, MAX_TESTS = 8 };

// A score, or a number added to one, that is this low hides a key: its weight
// is 0 next to any visible key.
static const double max_hidden_score = -1e8;

// What the nodes that have been passed do with the mask.
typedef struct mask_state {
  bool is_inverted;  // bool masks: true where a key is hidden
  double hidden;     // score or addend of hidden keys
} mask_state;

// ------------------------------------------------ constants

// True if element `at` of the mask lets a key be seen. `*out_known` is false if
// the element neither shows nor hides a key.
static bool is_seen(const etx_ir_constant* constant, size_t at,
                    const mask_state* state, double* hidden, bool* out_known) {
  float single = 0;
  *out_known = true;
  if (constant->dtype == ETX_DTYPE_BOOL) {
    return (constant->data.data[at] != 0) != state->is_inverted;
  }
  memcpy(&single, constant->data.data + at * sizeof single, sizeof single);
  if (single == 0.0f) return true;
  *out_known = (double)single <= max_hidden_score &&
               (*hidden == 0 || *hidden == (double)single);
  *hidden = (double)single;
  return false;
}

// Reads a constant mask in which row i sees keys up to i, or in which all rows
// see all keys (it may then have a single element).
static bool read_constant(const etx_ir_constant* constant,
                          const mask_state* state, etx_causal_mask* out) {
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
    const bool seen = is_seen(constant, i, state, &hidden, &known);
    if (!known) return false;
    is_causal = is_causal && seen == (i % keys <= i / keys % rows);
    sees_all = sees_all && seen;
  }
  out->hides_nothing = sees_all;
  out->is_causal = is_causal;
  out->hidden = is_bool ? state->hidden : hidden;
  return sees_all || (is_causal && rank >= 2);
}

// ------------------------------------------------ comparisons

// True for the constant 0, 1, 2, .. along dimension `axis`, counted from the
// end.
static bool counts_up(const etx_ir_constant* constant, size_t axis) {
  if (constant == NULL || constant->rank <= axis ||
      constant->dtype != ETX_DTYPE_INT64) {
    return false;
  }
  const int64_t size = constant->sizes[constant->rank - 1 - axis];
  if (size * (int64_t)sizeof size != (int64_t)constant->data.size) return false;
  for (int64_t i = 0; i < size; ++i) {
    int64_t number = 0;
    memcpy(&number, constant->data.data + (size_t)i * sizeof number,
           sizeof number);
    if (number != i) return false;
  }
  return true;
}

static const etx_ir_constant* constant_at(const etx_rewrite* rewrite,
                                          uint32_t value) {
  return etx_rewrite_constant(rewrite->builder.module, rewrite->builder.method,
                              value);
}

// True for the first elements of such a constant, a number that varies.
static bool is_part_of_arange(const etx_rewrite* rewrite, const etx_ir_arg* arg,
                              size_t axis) {
  const etx_ir_node* const slice = etx_rewrite_argument(rewrite, arg);
  if (!etx_rewrite_is_op(slice, ETX_OP_slice_copy_tensor_out)) return false;
  const size_t rank = etx_rewrite_shape(rewrite, arg)->rank;
  return axis < rank &&
         etx_rewrite_is_int(&slice->args[1], (int64_t)(rank - 1 - axis)) &&
         etx_rewrite_is_int(&slice->args[2], 0) &&
         etx_rewrite_is_int(&slice->args[4], 1) &&
         counts_up(constant_at(rewrite, slice->args[0].as.value), axis);
}

// True for 0, 1, 2, .. along the last dimension.
static bool is_arange(const etx_rewrite* rewrite, const etx_ir_arg* arg) {
  return counts_up(constant_at(rewrite, arg->as.value), 0) ||
         is_part_of_arange(rewrite, arg, 0);
}

// True for 0, 1, 2, .. along the rows.
static bool is_own_row(const etx_rewrite* rewrite, const etx_ir_arg* arg) {
  return counts_up(constant_at(rewrite, arg->as.value), 1) ||
         is_part_of_arange(rewrite, arg, 1);
}

// True for int64 tensors with one element per row, or one in all.
static bool is_per_row(const etx_rewrite* rewrite, const etx_ir_arg* arg) {
  const etx_shape* const shape = etx_rewrite_shape(rewrite, arg);
  const bool is_whole = shape->dtype == ETX_DTYPE_INT64;
  return is_whole && (shape->rank == 0 || shape->dims[shape->rank - 1] == 1);
}

// Reads comparisons such as `arange < rows`, which are true for the first keys.
static bool read_comparison(const etx_rewrite* rewrite, const etx_ir_node* node,
                            const mask_state* state, etx_causal_mask* out) {
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
  size_t arange = 0;
  if (!is_arange(rewrite, &node->args[0])) {
    if (!is_arange(rewrite, &node->args[1])) return false;
    arange = 1;
    is_less = !is_less;
  }
  if (!is_per_row(rewrite, &node->args[1 - arange])) return false;
  // The first keys must be the visible ones.
  if (is_less == state->is_inverted) return false;
  const bool includes = is_equal != state->is_inverted;
  out->last = node->args[1 - arange].as.value;
  out->shift = includes ? 0 : -1;
  out->is_causal = includes && is_own_row(rewrite, &node->args[1 - arange]);
  out->hidden = state->hidden;
  return true;
}

// ------------------------------------------------ towards the operands

bool etx_mask_view_keeps_rows(const etx_rewrite* rewrite,
                              const etx_ir_node* view) {
  const etx_shape* const from = etx_rewrite_shape(rewrite, &view->args[0]);
  const etx_shape* const to =
      etx_builder_shape(&rewrite->builder, view->outputs[0]);
  const size_t shared = from->rank < to->rank ? from->rank : to->rank;
  for (size_t i = 0; i + shared < from->rank; ++i) {
    if (from->dims[i] != 1) return false;
  }
  for (size_t i = 0; i + shared < to->rank; ++i) {
    if (to->dims[i] != 1) return false;
  }
  return shared != 0 && etx_builder_same_dims(
                            &rewrite->builder, from->dims + from->rank - shared,
                            to->dims + to->rank - shared, shared);
}

// True for an expand that does not expand the keys.
static bool keeps_keys(const etx_rewrite* rewrite, const etx_ir_node* expand) {
  const etx_shape* const from = etx_rewrite_shape(rewrite, &expand->args[0]);
  const etx_shape* const to =
      etx_builder_shape(&rewrite->builder, expand->outputs[0]);
  return from->rank != 0 &&
         etx_builder_same_dims(&rewrite->builder, from->dims + from->rank - 1,
                               to->dims + to->rank - 1, 1);
}

// Reads where(mask, 0, low) or where(mask, low, 0).
static bool read_where(const etx_rewrite* rewrite, const etx_ir_node* node,
                       mask_state* state) {
  double numbers[2];
  for (size_t i = 0; i < 2; ++i) {
    if (!etx_rewrite_value_number(rewrite, node->args[1 + i].as.value,
                                  &numbers[i])) {
      return false;
    }
  }
  const size_t low = numbers[0] == 0 ? 1 : 0;
  if (numbers[1 - low] != 0 || !(numbers[low] <= max_hidden_score))
    return false;
  state->is_inverted = low == 0;
  state->hidden = numbers[low];
  return true;
}

// Reads a mask that is a single test. `*out_stop` is the first value that is
// neither a constant nor passed.
static bool read_test(const etx_rewrite* rewrite, uint32_t mask,
                      mask_state* state, etx_causal_mask* out,
                      uint32_t* out_stop) {
  *out = (etx_causal_mask){.last = ETX_IR_NONE, .tests = ETX_IR_NONE};
  *out_stop = ETX_IR_NONE;
  for (size_t step = 0; step < MAX_STEPS; ++step) {
    const etx_ir_constant* const constant = etx_rewrite_constant(
        rewrite->builder.module, rewrite->builder.method, mask);
    if (constant != NULL) return read_constant(constant, state, out);
    const etx_ir_node* const node = etx_rewrite_definition(rewrite, mask);
    if (node == NULL) return false;
    switch (node->op->id) {
      case ETX_OP_view_copy_out:
        if (!etx_mask_view_keeps_rows(rewrite, node)) return false;
        break;
      case ETX_OP_expand_copy_out:
        if (!keeps_keys(rewrite, node)) return false;
        break;
      case ETX_OP_logical_not_out:
        state->is_inverted = !state->is_inverted;
        break;
      case ETX_OP_where_self_out:
        if (!read_where(rewrite, node, state)) return false;
        break;
      default:
        *out_stop = mask;
        return read_comparison(rewrite, node, state, out);
    }
    mask = node->args[0].as.value;
  }
  return false;
}

// Finds, among tests that are combined with and(), one that the keys up to a
// position pass.
static bool read_tests(const etx_rewrite* rewrite, uint32_t tests,
                       const mask_state* state, etx_causal_mask* out) {
  uint32_t left[MAX_TESTS] = {tests}, stop = 0;
  size_t count = 1;
  while (count > 0) {
    const uint32_t at = left[--count];
    const etx_ir_node* const node = etx_rewrite_definition(rewrite, at);
    const bool is_and = etx_rewrite_is_op(node, ETX_OP_logical_and_out) ||
                        etx_rewrite_is_op(node, ETX_OP_bitwise_and_tensor_out);
    if (is_and && count + 2 <= MAX_TESTS) {
      left[count++] = node->args[0].as.value;
      left[count++] = node->args[1].as.value;
      continue;
    }
    mask_state own = *state;
    if (read_test(rewrite, at, &own, out, &stop) && !out->hides_nothing) {
      out->hidden = state->hidden;
      out->tests = tests;
      return true;
    }
  }
  return false;
}

bool etx_causal_mask_read(const etx_rewrite* rewrite, uint32_t mask,
                          bool is_inverted, etx_causal_mask* out) {
  mask_state state = {is_inverted, -(double)INFINITY};
  uint32_t stop = 0;
  if (read_test(rewrite, mask, &state, out, &stop)) return true;
  return stop != ETX_IR_NONE && !state.is_inverted &&
         etx_builder_shape(&rewrite->builder, stop)->dtype == ETX_DTYPE_BOOL &&
         read_tests(rewrite, stop, &state, out);
}
