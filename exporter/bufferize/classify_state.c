// A buffer is state if it was declared shared or some method mutates it.

#include "exporter/passes/pass_context.h"

etx_status etx_pass_classify_state(etx_pass_context* context) {
  etx_ir_module* const module = context->module;
  for (size_t m = 0; m < module->method_count; ++m) {
    const etx_ir_method* const method = &module->methods[m];
    for (size_t i = 0; i < method->mutation_count; ++i) {
      const etx_ir_mutation* const mutation = &method->mutations[i];
      if (!mutation->is_input)
        module->buffers[mutation->target].is_state = true;
    }
  }
  return ETX_OK;
}
