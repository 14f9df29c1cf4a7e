// Elementwise chains over quantised tensors and over the float32 results of
// quantised layers.

#include <math.h>

#include "exporter/quantize/qdq_layers.h"
#include "exporter/quantize/qdq_operators.h"
#include "exporter/fuse/chain_expression.h"
#include "exporter/ir/ir_edit.h"

static const char* const kind = "quantised chain";

// A chain while it is built.
typedef struct quantized_chain {
  const etx_ir_node* node;  // the node whose result it computes
  etx_shape shape;          // of the result
  bool is_last;             // computed in channels-last order
  bool is_only_use;         // the float result has no other use
  etx_chain_expression tokens;
} quantized_chain;

// ------------------------------------------------ expression

// Dimensions after the one that a broadcast row belongs to: channels are
// followed by rows and columns in [N, C, H, W].
static size_t trailing_dims(bool is_last) { return is_last ? 2 : 0; }

// Inlines one operand that is itself a chain and has no other use; false if
// there is none.
static bool inline_operand(const etx_rewrite* rewrite, quantized_chain* c) {
  for (size_t i = 0; i < c->tokens.count; ++i) {
    const etx_chain_token token = c->tokens.items[i];
    etx_chain_expression inner;
    if (token.step != ETX_STEP_X ||
        !etx_rewrite_is_only_use(rewrite, token.value) ||
        !etx_chain_is_full(rewrite, c->node, token.value)) {
      continue;
    }
    const etx_ir_node* const node =
        etx_ir_definition(rewrite->builder.method, token.value);
    if (node != NULL &&
        etx_chain_expression_read_rows(rewrite, node, trailing_dims(c->is_last),
                                       &inner) &&
        etx_chain_expression_inline(&c->tokens, token.value, &inner)) {
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
      etx_ir_definition(rewrite->builder.method, value);
  return node != NULL && etx_qdq_layer_read(rewrite, node, &layer) &&
         layer.obstacle == NULL;
}

// True if the value is channels last, or is computed by a layer that makes it
// so.
static bool is_channels_last(const etx_rewrite* rewrite, uint32_t value) {
  etx_qdq_params numbers;
  etx_qdq_tensor bytes;
  const etx_ir_node* const node =
      etx_qdq_tensor_dequantized(rewrite, value, &numbers);
  if (node == NULL) return is_layer(rewrite, value);
  return etx_qdq_tensor_find(rewrite, node->args[0].as.value, &bytes) &&
         bytes.is_last;
}

// The operand x of the chain: the first one with the sizes of the result, if
// possible a quantised one. ETX_IR_NONE if all of them are broadcast.
static uint32_t find_self(const etx_rewrite* rewrite,
                          const quantized_chain* c) {
  uint32_t found = ETX_IR_NONE;
  for (size_t i = 0; i < c->tokens.count; ++i) {
    const etx_chain_token token = c->tokens.items[i];
    if (token.step != ETX_STEP_X ||
        !etx_chain_is_full(rewrite, c->node, token.value)) {
      continue;
    }
    if (is_bytes(rewrite, token.value)) return token.value;
    if (found == ETX_IR_NONE) found = token.value;
  }
  return found;
}

// True if a quantised chain is worth it: it reads quantised tensors, or float
// results of layers in its own order. If the float result has other uses, the
// chain is computed twice; that pays only if all full-size operands are
// quantised.
static bool is_worthwhile(const etx_rewrite* rewrite,
                          const quantized_chain* c) {
  bool has_any = false, is_last = false;
  for (size_t i = 0; i < c->tokens.count; ++i) {
    const etx_chain_token token = c->tokens.items[i];
    if (token.step != ETX_STEP_X) continue;
    const bool is_full = etx_chain_is_full(rewrite, c->node, token.value);
    const bool has_bytes = is_bytes(rewrite, token.value);
    if (is_full && !has_bytes && !c->is_only_use) return false;
    has_any = has_any || has_bytes || is_layer(rewrite, token.value);
    is_last = is_last || (is_full && is_channels_last(rewrite, token.value));
  }
  return has_any && (is_last || !c->is_last);
}

// Reads the chain in the order c->is_last. False if the node is not a chain, or
// the quantised chain would not help in that order.
static bool read_chain(const etx_rewrite* rewrite, quantized_chain* c) {
  const etx_shape* const shape = &c->shape;
  if ((c->is_last && shape->rank != 4) ||
      !etx_chain_expression_read_rows(rewrite, c->node,
                                      trailing_dims(c->is_last), &c->tokens)) {
    return false;
  }
  while (inline_operand(rewrite, c)) {
  }
  return is_worthwhile(rewrite, c);
}

// ------------------------------------------------ operands

// An operand of chain_u8.
typedef struct chain_operand {
  uint32_t value;
  etx_qdq_params numbers;  // unused for float operands
} chain_operand;

// Views a broadcast operand as a vector, unless it has one element.
static etx_status flatten_row(etx_builder* builder, uint32_t* value) {
  const etx_shape own = *etx_builder_shape(builder, *value);
  etx_dim row = 1;
  for (size_t i = 0; i < own.rank; ++i) {
    if (own.dims[i] != 1) row = own.dims[i];
  }
  return row == 1 ? ETX_OK : etx_build_view(builder, *value, &row, 1, value);
}

static etx_status make_operand(etx_rewrite* rewrite, const quantized_chain* c,
                               uint32_t value, chain_operand* out) {
  etx_builder* const builder = &rewrite->builder;
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
  if (is_full) ETX_TRY(etx_qdq_tensor_set_layout(builder, c->is_last, &bytes));
  out->value = bytes.value;
  return is_full ? ETX_OK : flatten_row(builder, &out->value);
}

// Sets the arguments (others, scales, zero_points).
static etx_status make_others(etx_rewrite* rewrite, const quantized_chain* c,
                              const etx_ir_arg* others, etx_ir_arg out[3]) {
  const size_t count = others->as.list.count;
  etx_pool* const pool = rewrite->builder.module->pool;
  etx_ir_arg* const items =
      etx_pool_take(pool, 3 * (count + 1) * sizeof *items);
  if (items == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < count; ++i) {
    chain_operand one;
    ETX_TRY(make_operand(rewrite, c, others->as.list.items[i].as.value, &one));
    items[i] = etx_ir_value_arg(one.value);
    items[count + i] = etx_ir_double(one.numbers.scale);
    items[2 * count + i] = etx_ir_int(one.numbers.zero);
  }
  for (size_t i = 0; i < 3; ++i) out[i] = etx_ir_list(items + i * count, count);
  return ETX_OK;
}

// ------------------------------------------------ the operator

enum { OTHERS = 3, STEPS = 6, RESULTS = 7, ARGUMENTS = 12 };

// Sets the arguments of the result; float32 if `results` is NULL.
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

static void set_self(const chain_operand* self, etx_ir_arg* args) {
  args[0] = etx_ir_value_arg(self->value);
  args[1] = etx_ir_double(self->numbers.scale);
  args[2] = etx_ir_int(self->numbers.zero);
}

static etx_status emit_chain(etx_rewrite* rewrite, const quantized_chain* c,
                             const etx_qdq_params* results, etx_qdq_tensor* out,
                             bool* out_done) {
  etx_builder* const builder = &rewrite->builder;
  const uint32_t self = find_self(rewrite, c);
  etx_ir_arg args[ARGUMENTS], others;
  chain_operand first;
  if (self == ETX_IR_NONE) return ETX_OK;
  ETX_TRY(etx_chain_expression_args(builder, &c->tokens, self, &others,
                                    &args[STEPS], out_done));
  if (!*out_done) return ETX_OK;
  ETX_TRY(make_operand(rewrite, c, self, &first));
  set_self(&first, args);
  ETX_TRY(make_others(rewrite, c, &others, &args[OTHERS]));
  set_results(results, args);
  out->is_last = c->is_last;
  ETX_TRY(etx_fusion_report_fused(rewrite->fusions, builder, kind));
  return etx_build_op(builder, ETX_OP_chain_u8_out, args, ARGUMENTS,
                      &out->value);
}

etx_status etx_qdq_elementwise(etx_rewrite* rewrite, const etx_ir_node* node,
                               bool is_only_use, const etx_qdq_params* results,
                               etx_qdq_tensor* out, bool* out_done) {
  // A copy, because appending nodes moves them.
  const etx_ir_node own = *node;
  quantized_chain c = {
      .node = &own,
      .is_only_use = is_only_use,
      .shape = *etx_builder_shape(&rewrite->builder, node->outputs[0])};
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
  const chain_operand self = {bytes->value, *from};
  set_self(&self, args);
  for (size_t i = OTHERS; i < STEPS; ++i) args[i] = etx_ir_list(NULL, 0);
  args[STEPS] = (etx_ir_arg){ETX_IR_ARG_STRING, {0}};
  args[STEPS].as.string = etx_text_of("x");
  set_results(to, args);
  ETX_TRY(etx_fusion_report_fused(rewrite->fusions, &rewrite->builder, kind));
  return etx_build_op(&rewrite->builder, ETX_OP_chain_u8_out, args, ARGUMENTS,
                      &bytes->value);
}

// ------------------------------------------------ leaky relu

// The slope of leaky_relu or prelu as a tensor that broadcasts to the result;
// ETX_IR_NONE for other operators.
static etx_status emit_slope(etx_builder* builder, const etx_ir_node* node,
                             uint32_t* out_value) {
  const etx_shape shape = *etx_builder_shape(builder, node->outputs[0]);
  *out_value = ETX_IR_NONE;
  if (node->op->id == ETX_OP_leaky_relu_out) {
    const etx_ir_arg* const slope = &node->args[1];
    if (slope->kind == ETX_IR_ARG_DOUBLE && !isfinite(slope->as.real)) {
      return ETX_OK;
    }
    return etx_build_scalar(builder, slope, shape.dtype, out_value);
  }
  if (node->op->id != ETX_OP_prelu_out) return ETX_OK;
  etx_dim dims[ETX_MAX_RANK];
  for (size_t i = 0; i < shape.rank; ++i) dims[i] = 1;
  const uint32_t weight = node->args[1].as.value;
  const etx_shape own = *etx_builder_shape(builder, weight);
  if (own.rank != 1) return ETX_OK;
  if (shape.rank > 1) dims[1] = own.dims[0];
  return etx_build_view(builder, weight, dims, shape.rank, out_value);
}

// leaky_relu(x) = relu(x) - slope * relu(-x), with the slope as a float32.
etx_status etx_qdq_leaky_relu(etx_rewrite* rewrite, const etx_ir_node* node,
                              uint32_t* out_value) {
  etx_builder* const builder = &rewrite->builder;
  // A copy, because appending nodes moves them.
  const etx_ir_node own = *node;
  const etx_op_id op = own.op->id;
  if (op != ETX_OP_leaky_relu_out && op != ETX_OP_prelu_out) return ETX_OK;
  const uint32_t self = own.args[0].as.value;
  uint32_t slope = 0, positive = 0, negative = 0;
  if (!is_bytes(rewrite, self) && !is_layer(rewrite, self)) return ETX_OK;
  ETX_TRY(emit_slope(builder, &own, &slope));
  if (slope == ETX_IR_NONE) return ETX_OK;
  ETX_TRY(etx_build_unary(builder, ETX_OP_relu_out, self, &positive));
  ETX_TRY(etx_build_unary(builder, ETX_OP_neg_out, self, &negative));
  ETX_TRY(etx_build_unary(builder, ETX_OP_relu_out, negative, &negative));
  ETX_TRY(
      etx_build_binary(builder, ETX_OP_mul_out, negative, slope, &negative));
  return etx_build_binary(builder, ETX_OP_sub_out, positive, negative,
                          out_value);
}
