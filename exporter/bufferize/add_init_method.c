// Adds the method et_module_init: state := copy(state, constant) for every
// state, in order of the names. The constant has the state's sizes, or one
// element if all elements are equal, which the copy broadcasts.
//
// The pass runs after constant folding, which would expand that element.

#include "exporter/bufferize/copy_to_state.h"
#include "exporter/passes/pass_context.h"
#include "exporter/placement/shared_state.h"
#include "format/pte/reserved_names.h"

static etx_status add_copy(etx_ir_module* module, etx_ir_method* method,
                           uint32_t buffer) {
  uint32_t constant = 0;
  ETX_TRY(etx_shared_state_initial(module, buffer, &constant));
  uint32_t state = 0;
  uint32_t initial = 0;
  ETX_TRY(etx_ir_buffer_value(module, method, buffer, &state));
  ETX_TRY(etx_ir_constant_value(module, method, constant, &initial));
  return etx_copy_to_state(module, method, state, initial, "initial");
}

etx_status etx_pass_add_init_method(etx_pass_context* context) {
  etx_ir_module* const module = context->module;
  uint32_t* order = NULL;
  size_t count = 0;
  ETX_TRY(etx_shared_state_order(module, &order, &count));
  if (count == 0) return ETX_OK;
  uint32_t index = 0;
  ETX_TRY(etx_ir_add_method(module, etx_text_of(ETX_METHOD_INIT), &index));
  etx_ir_method* const method = &module->methods[index];
  method->is_synthetic = true;
  for (size_t i = 0; i < count; ++i) {
    ETX_TRY(add_copy(module, method, order[i]));
  }
  return ETX_OK;
}
