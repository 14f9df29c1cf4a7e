#include "exporter/quantize/qdq_results.h"

#include "exporter/quantize/qdq_layers.h"
#include "exporter/ir/ir_edit.h"

enum { MAX_DEPTH = 32 };

static double number_of(const etx_ir_arg* arg) {
  return arg->kind == ETX_IR_ARG_INT ? (double)arg->as.integer : arg->as.real;
}

// True for a number that is not symbolic, or None if `may_be_none`.
static bool is_bound(const etx_ir_arg* arg, bool may_be_none) {
  return arg->kind == ETX_IR_ARG_DOUBLE ||
         (arg->kind == ETX_IR_ARG_NONE && may_be_none) ||
         (arg->kind == ETX_IR_ARG_INT && etx_dim_is_number(arg->as.integer));
}

// Reads the bounds of relu, relu6, hardtanh and clamp; a missing one is None.
static bool read_bounds(const etx_ir_node* node, etx_ir_arg out[2]) {
  out[0] = etx_ir_double(0);
  out[1] = etx_ir_none();
  switch (node->op->id) {
    case ETX_OP_relu_out:
      return true;
    case ETX_OP_relu6_out:
      out[1] = etx_ir_double(6);
      return true;
    case ETX_OP_hardtanh_out:
    case ETX_OP_clamp_out:
      memcpy(out, &node->args[1], 2 * sizeof *out);
      return is_bound(&out[0], true) && is_bound(&out[1], true);
    default:
      return false;
  }
}

// Narrows the range of bytes to the bounds. If they cross, the upper one wins,
// as in clamp.
static void narrow_range(const etx_ir_arg bounds[2], etx_qdq_params* numbers) {
  const etx_qdq_params all = *numbers;
  if (bounds[0].kind != ETX_IR_ARG_NONE) {
    numbers->least = etx_qdq_quantize_number(&all, number_of(&bounds[0]));
  }
  if (bounds[1].kind != ETX_IR_ARG_NONE) {
    numbers->most = etx_qdq_quantize_number(&all, number_of(&bounds[1]));
  }
  if (numbers->least > numbers->most) numbers->least = numbers->most;
}

// ------------------------------------------------ existing bytes

// True if the uint8 tensor has at most one use, counting all of its converted
// forms.
static bool has_one_use(const etx_rewrite* rewrite, uint32_t bytes) {
  const etx_ir_method* const method = rewrite->builder.method;
  uint32_t uses = 0;
  for (size_t i = 0; i < method->node_count; ++i) {
    const uint32_t value = method->nodes[i].outputs[0];
    etx_qdq_tensor found;
    if (value != ETX_IR_NONE && value < rewrite->value_count &&
        etx_qdq_tensor_find(rewrite, value, &found) && found.value == bytes) {
      uses += rewrite->uses[value];
    }
  }
  return uses <= 1;
}

static int64_t clamp(int64_t x, int64_t least, int64_t most) {
  return x < least ? least : x > most ? most : x;
}

// Repeats the operator that computes the bytes with a narrower range, if it has
// range arguments.
static etx_status narrow_source(etx_rewrite* rewrite, const etx_qdq_params* to,
                                etx_qdq_tensor* bytes, bool* out_done) {
  const etx_ir_node* const node =
      etx_ir_definition(rewrite->builder.method, bytes->value);
  const size_t at = node == NULL ? 0 : etx_qdq_clamp_position(node->op->id);
  etx_ir_arg args[ETX_MAX_ARGUMENTS];
  if (at == 0 || !has_one_use(rewrite, bytes->value)) return ETX_OK;
  memcpy(args, node->args, node->arg_count * sizeof *args);
  for (size_t i = at; i < at + 2; ++i) {
    args[i] = etx_ir_int(clamp(args[i].as.integer, to->least, to->most));
  }
  *out_done = true;
  return etx_build_op(&rewrite->builder, node->op->id, args, node->arg_count,
                      &bytes->value);
}

// Converts the operand of the dequantize `node` from parameters `from` to `to`.
static etx_status convert_bytes(etx_rewrite* rewrite, const etx_ir_node* node,
                                bool is_only_use, const etx_qdq_params* from,
                                const etx_qdq_params* to, etx_qdq_tensor* out) {
  bool done = false;
  ETX_TRY(etx_qdq_tensor_as_uint8(rewrite, node->args[0].as.value, out));
  const bool is_same = from->scale == to->scale && from->zero == to->zero;
  if (is_same &&
      etx_qdq_tensor_is_within(rewrite, out->value, to->least, to->most)) {
    return ETX_OK;
  }
  if (is_same && is_only_use) ETX_TRY(narrow_source(rewrite, to, out, &done));
  return done ? ETX_OK : etx_qdq_requantize(rewrite, from, to, out);
}

// ------------------------------------------------ the search

etx_status etx_qdq_result(etx_rewrite* rewrite, uint32_t value,
                          const etx_qdq_request* request, etx_qdq_tensor* out,
                          bool* out_done) {
  const etx_ir_method* const method = rewrite->builder.method;
  const etx_ir_node* node = etx_ir_definition(method, value);
  etx_qdq_request inner = *request;
  etx_qdq_params from;
  etx_qdq_layer layer;
  etx_ir_arg bounds[2];
  if (node == NULL || request->depth == MAX_DEPTH ||
      *request->values_left == 0) {
    return ETX_OK;
  }
  *request->values_left -= 1;
  inner.depth += 1;
  inner.compute = etx_qdq_result;
  inner.is_only_use =
      request->is_only_use && etx_rewrite_is_only_use(rewrite, value);
  if (etx_qdq_tensor_dequantized(rewrite, value, &from) != NULL) {
    if (!etx_qdq_tensor_is_available(rewrite, node->args[0].as.value)) {
      return ETX_OK;
    }
    *out_done = true;
    return convert_bytes(rewrite, node, inner.is_only_use, &from,
                         &request->numbers, out);
  }
  if (read_bounds(node, bounds)) {
    narrow_range(bounds, &inner.numbers);
    return etx_qdq_result(rewrite, node->args[0].as.value, &inner, out,
                          out_done);
  }
  ETX_TRY(etx_qdq_data_movement(rewrite, node, &inner, out, out_done));
  if (*out_done) return ETX_OK;
  node = etx_ir_definition(method, value);  // appending may move nodes
  if (!etx_qdq_layer_read(rewrite, node, &layer)) {
    if (inner.is_only_use) ETX_TRY(etx_qdq_leaky_relu(rewrite, node, &value));
    node = etx_ir_definition(method, value);
    ETX_TRY(etx_qdq_elementwise(rewrite, node, inner.is_only_use,
                                &request->numbers, out, out_done));
    if (*out_done || !inner.is_only_use) return ETX_OK;
    node = etx_ir_definition(method, value);
    return etx_qdq_mean(rewrite, node, &request->numbers, out, out_done);
  }
  if (!inner.is_only_use || layer.obstacle != NULL) return ETX_OK;
  *out_done = true;
  return etx_qdq_layer_emit(rewrite, &layer, &request->numbers, out);
}
