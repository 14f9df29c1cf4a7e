#include "exporter/byte_results.h"

#include "exporter/byte_layers.h"
#include "exporter/ir_edit.h"

enum { MOST_DEPTH = 32 };

static double number_of(const etx_ir_arg* arg) {
  return arg->kind == ETX_IR_ARG_INT ? (double)arg->as.integer : arg->as.real;
}

// A number that is known, or None where `may_miss`.
static bool is_bound(const etx_ir_arg* arg, bool may_miss) {
  return arg->kind == ETX_IR_ARG_DOUBLE ||
         (arg->kind == ETX_IR_ARG_NONE && may_miss) ||
         (arg->kind == ETX_IR_ARG_INT && etx_dim_is_number(arg->as.integer));
}

// Bounds that the node sets to its operand; those that it leaves out are None.
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

// Where both bounds cross the upper one is the result, as with floats.
static void narrow(const etx_ir_arg bounds[2], etx_byte_numbers* numbers) {
  const etx_byte_numbers all = *numbers;
  if (bounds[0].kind != ETX_IR_ARG_NONE) {
    numbers->least = etx_byte_of(&all, number_of(&bounds[0]));
  }
  if (bounds[1].kind != ETX_IR_ARG_NONE) {
    numbers->most = etx_byte_of(&all, number_of(&bounds[1]));
  }
  if (numbers->least > numbers->most) numbers->least = numbers->most;
}

static etx_status take_bytes(etx_rewrite* rewrite, const etx_ir_node* node,
                             const etx_byte_numbers* from,
                             const etx_byte_numbers* to, etx_byte_tensor* out) {
  ETX_TRY(etx_byte_tensor_take(rewrite, node->args[0].as.value, out));
  const bool is_same =
      from->scale == to->scale && from->zero == to->zero &&
      etx_byte_tensor_are_within(rewrite, out->value, to->least, to->most);
  return is_same ? ETX_OK : etx_byte_change(&rewrite->lower, from, to, out);
}

etx_status etx_byte_result(etx_rewrite* rewrite, uint32_t value,
                           const etx_byte_wish* wish, etx_byte_tensor* out,
                           bool* out_done) {
  const etx_ir_method* const method = rewrite->lower.method;
  const etx_ir_node* node = etx_ir_definition(method, value);
  etx_byte_wish inner = *wish;
  etx_byte_numbers from;
  etx_byte_layer layer;
  etx_ir_arg bounds[2];
  if (node == NULL || wish->depth == MOST_DEPTH) return ETX_OK;
  inner.depth += 1;
  inner.is_alone = wish->is_alone && etx_rewrite_is_only_use(rewrite, value);
  if (etx_byte_tensor_behind(rewrite, value, &from) != NULL) {
    *out_done = true;
    return take_bytes(rewrite, node, &from, &wish->numbers, out);
  }
  if (read_bounds(node, bounds)) {
    narrow(bounds, &inner.numbers);
    return etx_byte_result(rewrite, node->args[0].as.value, &inner, out,
                           out_done);
  }
  ETX_TRY(etx_byte_move(rewrite, node, &inner, out, out_done));
  if (*out_done) return ETX_OK;
  node = etx_ir_definition(method, value);  // appending nodes moves them
  if (!etx_byte_layer_read(rewrite, node, &layer)) {
    return etx_byte_chain(rewrite, node, &inner, out, out_done);
  }
  if (!inner.is_alone || layer.obstacle != NULL) return ETX_OK;
  *out_done = true;
  return etx_byte_layer_emit(rewrite, &layer, &wish->numbers, out);
}
