// Computes nodes whose operands are all constant with the evaluator of the
// caller (evaluator.h).
//
// Folding should not make the file much larger: a result may have as many bytes
// as its operands together, or 64 KiB, whichever is more. The first limit
// admits transposed weights. 64 KiB admits masks and position tables of a few
// hundred rows, which would otherwise be computed in every call.
//
// Results of more than 64 KiB whose elements are all equal, and those of each
// operand, become one element, repeated. The zeros that a mask of ones adds to
// scores of any length are among them.
//
// Nodes that only repeat a value (full, expand) are folded for the nodes that
// depend on them. They stay in the graph if something reads them at run time:
// filling memory is cheaper than reading the bytes from the file.
//
// Views of constants need no evaluator; they share the bytes.

#include "exporter/ir/ir_edit.h"
#include "exporter/ir/ir_late.h"
#include "exporter/rewrite/constants/known_values.h"
#include "exporter/rewrite/ir_rewrite.h"

enum { MOST_REPEATED_BYTES = 16 * 1024 * 1024 };  // a mask of 2048 rows

typedef struct constant_folder {
  etx_pass_context* context;
  etx_ir_method* method;
  etx_known_values known;
  uint32_t* map;
  bool changed;
} constant_folder;

// True if no integer of the argument depends on sizes.
static bool is_fixed(const etx_ir_arg* arg) {
  if (arg->kind == ETX_IR_ARG_INT) return etx_dim_is_number(arg->as.integer);
  if (arg->kind != ETX_IR_ARG_LIST) return true;
  for (size_t i = 0; i < arg->as.list.count; ++i) {
    if (!is_fixed(&arg->as.list.items[i])) return false;
  }
  return true;
}

// True if all elements of each operand are equal.
static bool has_uniform_operands(const constant_folder* self,
                                 const etx_ir_node* node) {
  for (size_t i = 0; i < node->arg_count; ++i) {
    const etx_ir_arg* const arg = &node->args[i];
    if (arg->kind == ETX_IR_ARG_LIST && arg->as.list.count != 0 &&
        arg->as.list.items[0].kind == ETX_IR_ARG_VALUE) {
      return false;
    }
    if (arg->kind == ETX_IR_ARG_VALUE &&
        !etx_rewrite_is_uniform(
            etx_known_content(&self->known, arg->as.value))) {
      return false;
    }
  }
  return true;
}

// True if all arguments are constant, and the results are small enough
// (`*out_fits`) or may be one element, repeated (`*out_repeats`).
static bool can_fold(const constant_folder* self, const etx_ir_node* node,
                     bool* out_fits, bool* out_repeats) {
  uint64_t in = 0;
  uint64_t out = 0;
  if (node->op->shape == NULL || etx_ir_late_must_stay(node)) return false;
  for (size_t i = 0; i < node->arg_count; ++i) {
    if (!is_fixed(&node->args[i])) return false;
  }
  if (!etx_known_values_cover(&self->known, node, &in)) return false;
  for (size_t i = 0; i < node->output_count; ++i) {
    if (node->outputs[i] == ETX_IR_NONE) return false;
    const etx_shape* const shape =
        &self->method->values[node->outputs[i]].shape;
    uint64_t bytes = 0;
    if (!etx_ir_is_static(shape) ||
        !etx_ir_upper_bytes(self->method, shape, &bytes)) {
      return false;
    }
    out += bytes;
  }
  *out_fits = out <= ETX_KNOWN_SMALL_BYTES || out <= in;
  *out_repeats = out > ETX_KNOWN_SMALL_BYTES && out <= MOST_REPEATED_BYTES &&
                 node->output_count == 1 && has_uniform_operands(self, node);
  return *out_fits || *out_repeats;
}

// ------------------------------------------------ methods

static bool only_repeats(const etx_ir_node* node) {
  const etx_op_id id = node->op->id;
  return id == ETX_OP_full_out || id == ETX_OP_full_like_out ||
         id == ETX_OP_expand_copy_out || id == ETX_OP_zeros_out ||
         id == ETX_OP_ones_out;
}

// Records that output `value` equals `constant`, and replaces its uses by the
// constant, unless the node only repeats a value.
static etx_status record_result(constant_folder* self, const etx_ir_node* node,
                                uint32_t value,
                                const etx_ir_constant* constant) {
  ETX_TRY(etx_known_values_record(&self->known, value, constant));
  if (only_repeats(node)) return ETX_OK;
  uint32_t index = 0;
  uint32_t replacement = 0;
  ETX_TRY(etx_ir_add_constant(self->context->module, constant, &index));
  ETX_TRY(etx_ir_constant_value(self->context->module, self->method, index,
                                &replacement));
  self->map[value] = replacement;
  self->changed = true;
  return ETX_OK;
}

// The buffer that all named operands of the node come from; ETX_IR_NONE if
// there are several, or none.
static uint32_t source_of(const constant_folder* self,
                          const etx_ir_node* node) {
  uint32_t source = ETX_IR_NONE;
  for (size_t i = 0; i < node->arg_count; ++i) {
    const etx_ir_arg* const arg = &node->args[i];
    if (arg->kind == ETX_IR_ARG_LIST && arg->as.list.count != 0 &&
        arg->as.list.items[0].kind == ETX_IR_ARG_VALUE) {
      return ETX_IR_NONE;  // a concatenation
    }
    if (arg->kind != ETX_IR_ARG_VALUE) continue;
    // A folded operand is now the value of a constant.
    const uint32_t value = self->map[arg->as.value];
    const uint32_t buffer = etx_constant_name_of(&self->context->constant_names,
                                                 &self->method->values[value]);
    if (buffer == ETX_IR_NONE || buffer == source) continue;
    if (source != ETX_IR_NONE) return ETX_IR_NONE;
    source = buffer;
  }
  return source;
}

// Gives the constants that replace the outputs the name of their source.
static etx_status name_results(const constant_folder* self,
                               const etx_ir_node* node) {
  const uint32_t source = source_of(self, node);
  if (source == ETX_IR_NONE) return ETX_OK;
  for (size_t i = 0; i < node->output_count; ++i) {
    const uint32_t value = self->map[node->outputs[i]];
    const etx_ir_value* const replacement = &self->method->values[value];
    if (replacement->origin != ETX_IR_FROM_CONSTANT) continue;
    ETX_TRY(etx_constant_name_add(&self->context->constant_names,
                                  self->context->module->pool,
                                  replacement->index, source));
  }
  return ETX_OK;
}

// Makes the node repeat the only element of its result.
static etx_status repeat_element(constant_folder* self, etx_ir_node* node,
                                 const etx_ir_constant* result) {
  etx_ir_module* const module = self->context->module;
  etx_ir_arg* const items =
      etx_pool_take(module->pool, (3 + result->rank) * sizeof *items);
  etx_ir_constant element = *result;
  uint32_t index = 0;
  uint32_t value = 0;
  ETX_TRY(etx_known_values_record(&self->known, node->outputs[0], result));
  if (only_repeats(node)) return ETX_OK;
  if (items == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < result->rank; ++i) {
    items[3 + i] = etx_ir_int(result->sizes[i]);
    element.sizes[i] = 1;
  }
  element.data.size = etx_dtype_bytes(result->dtype);
  ETX_TRY(etx_ir_add_constant(module, &element, &index));
  ETX_TRY(etx_ir_constant_value(module, self->method, index, &value));
  items[0] = etx_ir_value_arg(value);
  items[1] = etx_ir_list(items + 3, result->rank);
  items[2] = etx_ir_bool(false);
  node->op = etx_op_at(ETX_OP_expand_copy_out);
  node->args = items;
  node->arg_count = 3;
  self->changed = true;
  return ETX_OK;
}

static etx_status report_limit(const constant_folder* self,
                               const etx_ir_node* node) {
  return etx_fusion_report_missed_node(
      &self->context->fusions, self->context->module, self->method, node,
      "constant", "computing it when planning is beyond a limit");
}

static etx_status fold_node(constant_folder* self, etx_ir_node* node) {
  etx_ir_constant outputs[ETX_TYPE_INFERENCE_MAX_OUTPUTS];
  bool done = true;
  bool fits = false;
  bool repeats = false;
  if (!can_fold(self, node, &fits, &repeats)) return ETX_OK;
  ETX_TRY(etx_known_values_evaluate(&self->known, node, outputs, &done));
  if (self->known.is_beyond_limit) return report_limit(self, node);
  if (!done) return ETX_OK;
  if (repeats && etx_rewrite_is_uniform(&outputs[0])) {
    return repeat_element(self, node, &outputs[0]);
  }
  if (!fits) return ETX_OK;
  for (size_t i = 0; i < node->output_count; ++i) {
    ETX_TRY(record_result(self, node, node->outputs[i], &outputs[i]));
  }
  return name_results(self, node);
}

static etx_status fold_method(etx_pass_context* context,
                              etx_ir_method* method) {
  etx_pool* const pool = context->module->pool;
  constant_folder self = {.context = context,
                          .method = method,
                          .map = etx_ir_identity_map(pool, method)};
  ETX_TRY(etx_known_values_init(&self.known, context, method));
  if (self.map == NULL) return ETX_OUT_OF_MEMORY;
  for (size_t i = 0; i < method->node_count; ++i) {
    ETX_TRY(fold_node(&self, &method->nodes[i]));
  }
  if (!self.changed) return ETX_OK;
  uint32_t* const map = etx_ir_identity_map(pool, method);
  if (map == NULL) return ETX_OUT_OF_MEMORY;
  memcpy(map, self.map, self.known.count * sizeof *map);
  etx_ir_replace(method, map);
  return etx_ir_drop_dead_nodes(context->module, method);
}

etx_status etx_pass_fold_constants(etx_pass_context* context) {
  for (size_t i = 0; i < context->module->method_count; ++i) {
    ETX_TRY(fold_method(context, &context->module->methods[i]));
  }
  return ETX_OK;
}
