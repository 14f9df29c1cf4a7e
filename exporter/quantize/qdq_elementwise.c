// Elementwise steps between bytes, and floats that layers over bytes give.

#include <math.h>

#include "exporter/quantize/qdq_layers.h"
#include "exporter/quantize/qdq_operators.h"
#include "exporter/fuse/chain_expression.h"
#include "exporter/ir/ir_edit.h"

static const char* const kind = "quantised chain";

// A chain that is put together.
typedef struct chain {
  const etx_ir_node* node;  // whose result it computes
  etx_shape shape;          // of it
  bool is_last;
  bool is_alone;  // nobody else reads that
  etx_chain_expression words;
} chain;

// ------------------------------------------------ words

static size_t behind_rows(bool is_last) { return is_last ? 2 : 0; }

// An operand that is steps itself and that nobody else reads; NULL if there is
// none that fits.
static bool take_operand(const etx_rewrite* rewrite, chain* c) {
  for (size_t i = 0; i < c->words.count; ++i) {
    const etx_chain_token word = c->words.items[i];
    etx_chain_expression inner;
    if (word.step != ETX_STEP_X ||
        !etx_rewrite_is_only_use(rewrite, word.value) ||
        !etx_chain_is_full(rewrite, c->node, word.value)) {
      continue;
    }
    const etx_ir_node* const node =
        etx_ir_definition(rewrite->lower.method, word.value);
    if (node != NULL &&
        etx_chain_expression_read_rows(rewrite, node, behind_rows(c->is_last),
                                       &inner) &&
        etx_chain_expression_inline(&c->words, word.value, &inner)) {
      return true;
    }
  }
  return false;
}

static bool is_bytes(const etx_rewrite* rewrite, uint32_t value) {
  etx_qdq_params numbers;
  const etx_ir_node* const node =
      etx_qdq_tensor_dequantized(rewrite, value, &numbers);
  return node != NULL &&
         etx_qdq_tensor_is_available(rewrite, node->args[0].as.value);
}

static bool is_layer(const etx_rewrite* rewrite, uint32_t value) {
  etx_qdq_layer layer;
  const etx_ir_node* const node =
      etx_ir_definition(rewrite->lower.method, value);
  return node != NULL && etx_qdq_layer_read(rewrite, node, &layer) &&
         layer.obstacle == NULL;
}

// True if the value lies channels last already, or will.
static bool lies_last(const etx_rewrite* rewrite, uint32_t value) {
  etx_qdq_params numbers;
  etx_qdq_tensor bytes;
  const etx_ir_node* const node =
      etx_qdq_tensor_dequantized(rewrite, value, &numbers);
  if (node == NULL) return is_layer(rewrite, value);
  return etx_qdq_tensor_find(rewrite, node->args[0].as.value, &bytes) &&
         bytes.is_last;
}

// The operand that the steps start from: the first as large as the result, of
// bytes if there is one. ETX_IR_NONE if all are repeated.
static uint32_t find_self(const etx_rewrite* rewrite, const chain* c) {
  uint32_t found = ETX_IR_NONE;
  for (size_t i = 0; i < c->words.count; ++i) {
    const etx_chain_token word = c->words.items[i];
    if (word.step != ETX_STEP_X ||
        !etx_chain_is_full(rewrite, c->node, word.value)) {
      continue;
    }
    if (is_bytes(rewrite, word.value)) return word.value;
    if (found == ETX_IR_NONE) found = word.value;
  }
  return found;
}

// Bytes that are read as such, and floats that layers give in the chain's
// order. Where others read the floats of the chain they are computed besides,
// which costs less than to store and to read floats if all that it reads is
// bytes.
static bool gains(const etx_rewrite* rewrite, const chain* c) {
  bool has_any = false, is_last = false;
  for (size_t i = 0; i < c->words.count; ++i) {
    const etx_chain_token word = c->words.items[i];
    if (word.step != ETX_STEP_X) continue;
    const bool is_full = etx_chain_is_full(rewrite, c->node, word.value);
    const bool has_bytes = is_bytes(rewrite, word.value);
    if (is_full && !has_bytes && !c->is_alone) return false;
    has_any = has_any || has_bytes || is_layer(rewrite, word.value);
    is_last = is_last || (is_full && lies_last(rewrite, word.value));
  }
  return has_any && (is_last || !c->is_last);
}

// Reads the chain in one order. False if there is none, or nothing is gained by
// it in that order.
static bool read_chain(const etx_rewrite* rewrite, chain* c) {
  const etx_shape* const shape = &c->shape;
  if ((c->is_last && shape->rank != 4) ||
      !etx_chain_expression_read_rows(rewrite, c->node, behind_rows(c->is_last),
                                      &c->words)) {
    return false;
  }
  while (take_operand(rewrite, c)) {
  }
  return gains(rewrite, c);
}

// ------------------------------------------------ operands

// An operand as the operator takes it: a tensor, and what its bytes stand for.
typedef struct operand {
  uint32_t value;
  etx_qdq_params numbers;  // of floats: any
} operand;

// Lets what is repeated be one row.
static etx_status shape_row(etx_builder* lower, uint32_t* value) {
  const etx_shape own = *etx_builder_shape(lower, *value);
  etx_dim row = 1;
  for (size_t i = 0; i < own.rank; ++i) {
    if (own.dims[i] != 1) row = own.dims[i];
  }
  return row == 1 ? ETX_OK : etx_build_view(lower, *value, &row, 1, value);
}

static etx_status take_value(etx_rewrite* rewrite, const chain* c,
                             uint32_t value, operand* out) {
  etx_builder* const lower = &rewrite->lower;
  const bool is_full = etx_chain_is_full(rewrite, c->node, value);
  const etx_ir_node* const node =
      is_bytes(rewrite, value)
          ? etx_qdq_tensor_dequantized(rewrite, value, &out->numbers)
          : NULL;
  etx_qdq_tensor bytes = {value, false};
  if (node == NULL) {
    out->numbers = (etx_qdq_params){1.0, 0, 0, UINT8_MAX};
  } else {
    ETX_TRY(etx_qdq_tensor_as_uint8(rewrite, node->args[0].as.value, &bytes));
  }
  if (is_full) ETX_TRY(etx_qdq_tensor_set_layout(lower, c->is_last, &bytes));
  out->value = bytes.value;
  return is_full ? ETX_OK : shape_row(lower, &out->value);
}

// (others, scales, zero_points) of the values in `others`.
static etx_status take_others(etx_rewrite* rewrite, const chain* c,
                              const etx_ir_arg* others, etx_ir_arg out[3]) {
  const size_t count = others->as.list.count;
  etx_pool* const pool = rewrite->lower.module->pool;
  etx_ir_arg* const items =
      etx_pool_take(pool, 3 * (count + 1) * sizeof *items);
  if (items == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) {
    operand one;
    ETX_TRY(take_value(rewrite, c, others->as.list.items[i].as.value, &one));
    items[i] = etx_ir_value_arg(one.value);
    items[count + i] = etx_ir_double(one.numbers.scale);
    items[2 * count + i] = etx_ir_int(one.numbers.zero);
  }
  for (size_t i = 0; i < 3; ++i) out[i] = etx_ir_list(items + i * count, count);
  return ETX_OK;
}

// ------------------------------------------------ the operator

enum { OTHERS = 3, STEPS = 6, RESULTS = 7, ARGUMENTS = 12 };

// Floats where `results` is NULL.
static void set_results(const etx_qdq_params* results, etx_ir_arg* args) {
  const etx_qdq_params floats = {1.0, 0, 0, UINT8_MAX};
  const etx_qdq_params* const to = results == NULL ? &floats : results;
  args[RESULTS] = etx_ir_double(to->scale);
  args[RESULTS + 1] = etx_ir_int(to->zero);
  args[RESULTS + 2] = etx_ir_int(to->least);
  args[RESULTS + 3] = etx_ir_int(to->most);
  args[RESULTS + 4] =
      etx_ir_dtype(results == NULL ? ETX_DTYPE_FLOAT32 : ETX_DTYPE_UINT8);
}

static void set_self(const operand* self, etx_ir_arg* args) {
  args[0] = etx_ir_value_arg(self->value);
  args[1] = etx_ir_double(self->numbers.scale);
  args[2] = etx_ir_int(self->numbers.zero);
}

static etx_status emit_chain(etx_rewrite* rewrite, const chain* c,
                             const etx_qdq_params* results, etx_qdq_tensor* out,
                             bool* out_done) {
  etx_builder* const lower = &rewrite->lower;
  const uint32_t self = find_self(rewrite, c);
  etx_ir_arg args[ARGUMENTS], others;
  operand first;
  if (self == ETX_IR_NONE) return ETX_OK;
  ETX_TRY(etx_chain_expression_args(lower, &c->words, self, &others,
                                    &args[STEPS], out_done));
  if (!*out_done) return ETX_OK;
  ETX_TRY(take_value(rewrite, c, self, &first));
  set_self(&first, args);
  ETX_TRY(take_others(rewrite, c, &others, &args[OTHERS]));
  set_results(results, args);
  out->is_last = c->is_last;
  ETX_TRY(etx_fusion_report_fused(rewrite->fusions, lower, kind));
  return etx_build_op(lower, ETX_OP_chain_u8_out, args, ARGUMENTS, &out->value);
}

etx_status etx_qdq_elementwise(etx_rewrite* rewrite, const etx_ir_node* node,
                               bool is_alone, const etx_qdq_params* results,
                               etx_qdq_tensor* out, bool* out_done) {
  // Appending nodes moves them; this one is read in between.
  const etx_ir_node own = *node;
  chain c = {.node = &own,
             .is_alone = is_alone,
             .shape = *etx_builder_shape(&rewrite->lower, node->outputs[0])};
  for (size_t i = 0; i < 2 && !*out_done; ++i) {
    c.is_last = i == 0;
    if (!read_chain(rewrite, &c)) continue;
    ETX_TRY(emit_chain(rewrite, &c, results, out, out_done));
  }
  return ETX_OK;
}

etx_status etx_qdq_requantize(etx_rewrite* rewrite, const etx_qdq_params* from,
                              const etx_qdq_params* to, etx_qdq_tensor* bytes) {
  etx_ir_arg args[ARGUMENTS];
  const operand self = {bytes->value, *from};
  set_self(&self, args);
  for (size_t i = OTHERS; i < STEPS; ++i) args[i] = etx_ir_list(NULL, 0);
  args[STEPS] = (etx_ir_arg){ETX_IR_ARG_STRING, {0}};
  args[STEPS].as.string = etx_text_of("x");
  set_results(to, args);
  ETX_TRY(etx_fusion_report_fused(rewrite->fusions, &rewrite->lower, kind));
  return etx_build_op(&rewrite->lower, ETX_OP_chain_u8_out, args, ARGUMENTS,
                      &bytes->value);
}

// ------------------------------------------------ numbers below zero

// What numbers below zero are multiplied by, to be multiplied with the result:
// ETX_IR_NONE if the node is no such operator.
static etx_status take_slope(etx_builder* lower, const etx_ir_node* node,
                             uint32_t* out_value) {
  const etx_shape shape = *etx_builder_shape(lower, node->outputs[0]);
  *out_value = ETX_IR_NONE;
  if (node->op->id == ETX_OP_leaky_relu_out) {
    const etx_ir_arg* const slope = &node->args[1];
    if (slope->kind == ETX_IR_ARG_DOUBLE && !isfinite(slope->as.real)) {
      return ETX_OK;
    }
    return etx_build_scalar(lower, slope, shape.dtype, out_value);
  }
  if (node->op->id != ETX_OP_prelu_out) return ETX_OK;
  etx_dim dims[ETX_MAX_RANK];
  for (size_t i = 0; i < shape.rank; ++i) dims[i] = 1;
  const uint32_t weight = node->args[1].as.value;
  const etx_shape own = *etx_builder_shape(lower, weight);
  if (own.rank != 1) return ETX_OK;
  if (shape.rank > 1) dims[1] = own.dims[0];
  return etx_build_view(lower, weight, dims, shape.rank, out_value);
}

// relu(x) - slope * relu(-x), the slope as a float32.
etx_status etx_qdq_leaky_relu(etx_rewrite* rewrite, const etx_ir_node* node,
                              uint32_t* out_value) {
  etx_builder* const lower = &rewrite->lower;
  // Appending nodes moves them; this one is read in between.
  const etx_ir_node own = *node;
  const etx_op_id op = own.op->id;
  if (op != ETX_OP_leaky_relu_out && op != ETX_OP_prelu_out) return ETX_OK;
  const uint32_t self = own.args[0].as.value;
  uint32_t slope = 0, above = 0, below = 0;
  if (!is_bytes(rewrite, self) && !is_layer(rewrite, self)) return ETX_OK;
  ETX_TRY(take_slope(lower, &own, &slope));
  if (slope == ETX_IR_NONE) return ETX_OK;
  ETX_TRY(etx_build_unary(lower, ETX_OP_relu_out, self, &above));
  ETX_TRY(etx_build_unary(lower, ETX_OP_neg_out, self, &below));
  ETX_TRY(etx_build_unary(lower, ETX_OP_relu_out, below, &below));
  ETX_TRY(etx_build_binary(lower, ETX_OP_mul_out, below, slope, &below));
  return etx_build_binary(lower, ETX_OP_sub_out, above, below, out_value);
}
