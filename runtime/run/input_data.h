// Points an input to the caller's data.

#ifndef ETX_RUNTIME_RUN_INPUT_DATA_H
#define ETX_RUNTIME_RUN_INPUT_DATA_H

#include "runtime/method/method_types.h"

// Sets sizes and data, which were checked. The method is prepared again before
// the next run if a size has changed.
static inline void etx_method_take_input(etx_method* method,
                                         etx_method_input* input,
                                         const etx_tensor* value) {
  etx_method_tensor* tensor = &method->tensors[input->tensor];
  const size_t bytes = value->rank * sizeof *value->sizes;
  if (bytes > 0 && memcmp(input->sizes, value->sizes, bytes) != 0) {
    memcpy(input->sizes, value->sizes, bytes);
    method->is_prepared = false;
  }
  input->data = (uint8_t*)value->data;
  input->is_set = true;
  if (input->is_planned || tensor->storage == input->data) return;
  tensor->storage = input->data;
  method->inputs_moved = true;
}

#endif
