// Adds `state := copy(state, state)` to every method that only reads a state.
//
// The passes behind this one process each method alone: a buffer that the
// method mutates is a state, any other one is a constant. Without the copy, a
// method that only reads a state would use the buffer's initial value instead.
// The copies cost nothing: remove_self_copy removes them before emission.

#include "exporter/passes/pass_context.h"

static bool arg_reads(const etx_ir_arg* arg, uint32_t value) {
  if (arg->kind == ETX_IR_ARG_VALUE) return arg->as.value == value;
  if (arg->kind != ETX_IR_ARG_LIST) return false;
  for (size_t i = 0; i < arg->as.list.count; ++i) {
    const etx_ir_arg* const item = &arg->as.list.items[i];
    if (item->kind == ETX_IR_ARG_VALUE && item->as.value == value) return true;
  }
  return false;
}

static bool is_read(const etx_ir_method* method, uint32_t value) {
  for (size_t n = 0; n < method->node_count; ++n) {
    for (size_t i = 0; i < method->nodes[n].arg_count; ++i) {
      if (arg_reads(&method->nodes[n].args[i], value)) return true;
    }
  }
  for (size_t i = 0; i < method->output_count; ++i) {
    if (arg_reads(&method->outputs[i].arg, value)) return true;
  }
  for (size_t i = 0; i < method->mutation_count; ++i) {
    if (method->mutations[i].value == value) return true;
  }
  return false;
}

static etx_status insert(etx_ir_module* module, etx_ir_method* method,
                         uint32_t state) {
  const uint32_t buffer = method->values[state].index;
  etx_ir_value value = method->values[state];
  value.name = etx_pool_format(module->pool, "%t_self", value.name);
  if (value.name.data == NULL) return ETX_OUT_OF_MEMORY;
  value.origin = ETX_IR_FROM_NODE;
  value.index = (uint32_t)method->node_count;
  uint32_t copied = 0;
  ETX_TRY(etx_ir_add_value(module, method, &value, &copied));

  etx_ir_arg args[3] = {
      etx_ir_value_arg(state), etx_ir_value_arg(state), {ETX_IR_ARG_BOOL, {0}}};
  const etx_ir_node node = {.aten = etx_text_of("aten.copy.default"),
                            .op = etx_op_at(ETX_OP_copy_out),
                            .args = args,
                            .arg_count = 3,
                            .outputs = &copied,
                            .output_count = 1};
  uint32_t index = 0;
  ETX_TRY(etx_ir_add_node(module, method, &node, &index));

  ETX_TRY(etx_pool_grow(module->pool, &method->mutations,
                        method->mutation_count, &method->mutation_capacity,
                        sizeof *method->mutations));
  method->mutations[method->mutation_count++] =
      (etx_ir_mutation){.is_input = false, .target = buffer, .value = copied};
  return ETX_OK;
}

etx_status etx_pass_insert_self_copy(etx_pass_context* context) {
  etx_ir_module* const module = context->module;
  for (size_t m = 0; m < module->method_count; ++m) {
    etx_ir_method* const method = &module->methods[m];
    const size_t value_count = method->value_count;
    for (uint32_t v = 0; v < value_count; ++v) {
      const etx_ir_value* const value = &method->values[v];
      if (value->origin != ETX_IR_FROM_BUFFER ||
          !module->buffers[value->index].is_state ||
          etx_ir_mutation_of_buffer(method, value->index) != ETX_IR_NONE ||
          !is_read(method, v)) {
        continue;
      }
      ETX_TRY(insert(module, method, v));
    }
  }
  return ETX_OK;
}
