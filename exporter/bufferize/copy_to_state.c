#include "exporter/bufferize/copy_to_state.h"

etx_status etx_copy_to_state(etx_ir_module* module, etx_ir_method* method,
                             uint32_t state, uint32_t source,
                             const char* suffix) {
  etx_ir_value value = method->values[state];
  const uint32_t buffer = value.index;
  value.name = etx_pool_format(module->pool, "%t_%s", value.name, suffix);
  if (value.name.data == NULL) return ETX_OUT_OF_MEMORY;
  value.origin = ETX_IR_FROM_NODE;
  value.index = (uint32_t)method->node_count;
  uint32_t copied = 0;
  ETX_TRY(etx_ir_add_value(module, method, &value, &copied));

  etx_ir_arg args[3] = {etx_ir_value_arg(state),
                        etx_ir_value_arg(source),
                        {ETX_IR_ARG_BOOL, {0}}};
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
