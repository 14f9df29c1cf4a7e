// Adds `state := copy(state, state)` to every method that only reads a state.
//
// The passes behind this one process each method alone: a buffer that the
// method mutates is a state, any other one is a constant. Without the copy, a
// method that only reads a state would use the buffer's initial value instead.
// The copies cost nothing: remove_self_copy removes them before emission.

#include "exporter/bufferize/copy_to_state.h"
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
      ETX_TRY(etx_copy_to_state(module, method, v, v, "self"));
    }
  }
  return ETX_OK;
}
