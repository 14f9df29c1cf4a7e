#include "tests/bench/bench_etx.h"

#include <stdio.h>
#include <stdlib.h>

#include "runtime/module/module.h"

struct bench_etx {
  etx_module module;
  etx_method* method;
  etx_diag diag;
};

static int failed(const bench_etx* b, etx_status status) {
  if (status != ETX_OK) fprintf(stderr, "etx: %s\n", b->diag.text);
  return status != ETX_OK;
}

static etx_status set_inputs(bench_etx* b, void* const* inputs) {
  static const char name[] = "forward";
  const etx_text method = {name, sizeof(name) - 1};
  size_t tensors = 0;
  for (size_t i = 0; i < b->method->input_count; ++i) {
    etx_port_info port;
    ETX_TRY(
        etx_program_input_at(&b->module.program, method, i, &port, &b->diag));
    if (port.kind != ETX_PTE_TENSOR) continue;
    const etx_pte_tensor* const stated = &port.value.as.tensor;
    const etx_value value = etx_module_tensor(inputs[tensors++], stated->dtype,
                                              stated->sizes, stated->rank);
    ETX_TRY(etx_method_set_input(b->method, i, &value.as.tensor, &b->diag));
  }
  return ETX_OK;
}

static etx_status open_file(bench_etx* b, const char* path,
                            void* const* inputs) {
  ETX_TRY(etx_module_open(&b->module, path, NULL, &b->diag));
  ETX_TRY(etx_module_load_method(&b->module, "forward", NULL, &b->diag));
  b->method = etx_module_method(&b->module, "forward");
  return set_inputs(b, inputs);
}

bench_etx* bench_etx_open(const char* path, void* const* inputs) {
  bench_etx* const b = calloc(1, sizeof(*b));
  if (b == NULL) return NULL;
  etx_diag_init(&b->diag);
  return failed(b, open_file(b, path, inputs)) ? NULL : b;
}

int bench_etx_run(bench_etx* b) {
  return failed(b, etx_method_run(b->method, &b->diag));
}

const void* bench_etx_output(bench_etx* b, size_t index, size_t* bytes) {
  const etx_value* value = NULL;
  if (etx_method_output(b->method, index, &value) != ETX_OK) return NULL;
  if (value->kind != ETX_VALUE_TENSOR) return NULL;
  *bytes = etx_tensor_bytes(&value->as.tensor);
  return value->as.tensor.data;
}
