// Runs every method of program files in the order of the file, over the state
// of one session and with generated inputs, and prints a checksum of each
// output. Two correct builds print the same.
//
//   run_patterned program.pte...

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/module/module.h"
#include "shared_memory/checksum.h"

enum { MOST_INPUTS = 16, NAME_BYTES = 128 };

// Small positive and negative numbers. Integers are indices of the first two
// rows.
static void fill(const etx_pte_tensor* tensor, void* data) {
  const size_t count = etx_pte_tensor_numel(tensor);
  for (size_t i = 0; i < count; ++i) {
    switch (tensor->dtype) {
      case ETX_DTYPE_FLOAT32:
        ((float*)data)[i] = (float)((int)(i * 7 % 23) - 11) / 16;
        break;
      case ETX_DTYPE_INT64:
        ((int64_t*)data)[i] = (int64_t)(i % 2);
        break;
      case ETX_DTYPE_INT32:
        ((int32_t*)data)[i] = (int32_t)(i % 2);
        break;
      default:  // bools and bytes
        memset(data, 1, etx_pte_tensor_bytes(tensor));
        return;
    }
  }
}

static etx_status set_inputs(etx_module* module, etx_method* method,
                             const etx_method_info* info,
                             void* blocks[MOST_INPUTS], etx_diag* diag) {
  for (size_t i = 0; i < info->input_count && i < MOST_INPUTS; ++i) {
    etx_port_info port;
    ETX_TRY(etx_program_input_at(&module->program, info->name, i, &port, diag));
    if (port.kind != ETX_PTE_TENSOR) continue;
    const etx_pte_tensor* tensor = &port.value.as.tensor;
    blocks[i] = calloc(etx_pte_tensor_bytes(tensor) + 64, 1);
    if (blocks[i] == NULL) return ETX_OUT_OF_MEMORY;
    fill(tensor, blocks[i]);
    const etx_tensor given = {blocks[i], tensor->sizes, NULL, tensor->rank,
                              tensor->dtype};
    ETX_TRY(etx_method_set_input(method, i, &given, diag));
  }
  return ETX_OK;
}

static void print_outputs(const etx_method* method, const char* name) {
  for (size_t i = 0; i < method->output_count; ++i) {
    const etx_value* output = method->outputs[i];
    if (output->kind != ETX_VALUE_TENSOR) continue;
    const etx_tensor* tensor = &output->as.tensor;
    const etx_bytes bytes = {tensor->data, etx_tensor_bytes(tensor)};
    printf("%s %zu: %zu elements, %08" PRIx32 "\n", name, i,
           etx_tensor_numel(tensor), etx_crc32(0, bytes));
  }
}

static etx_status run_method(etx_module* module, etx_module_shared* shared,
                             size_t index, etx_diag* diag) {
  etx_method_info info;
  etx_planned_memory state;
  char name[NAME_BYTES];
  void* blocks[MOST_INPUTS] = {NULL};
  ETX_TRY(etx_program_method_at(&module->program, index, &info));
  if (info.is_constant) return ETX_OK;
  snprintf(name, sizeof name, "%.*s", (int)info.name.size, info.name.data);
  ETX_TRY(etx_module_shared_allocator(shared, name, &state, diag));
  ETX_TRY(etx_module_load_method(module, name, &state, diag));
  etx_method* method = etx_module_method(module, name);
  etx_status status = set_inputs(module, method, &info, blocks, diag);
  if (status == ETX_OK) status = etx_method_run(method, diag);
  if (status == ETX_OK) print_outputs(method, name);
  for (size_t i = 0; i < MOST_INPUTS; ++i) free(blocks[i]);
  return status;
}

static etx_status run_file(const char* path, etx_diag* diag) {
  etx_module module;
  etx_module_shared shared;
  ETX_TRY(etx_module_open(&module, path, NULL, diag));
  etx_status status = etx_module_shared_open(&shared, &module, diag);
  if (status == ETX_OK) {
    const size_t count = etx_program_method_count(&module.program);
    for (size_t i = 0; i < count && status == ETX_OK; ++i) {
      status = run_method(&module, &shared, i, diag);
    }
    etx_module_shared_close(&shared);
  }
  etx_module_close(&module);
  return status;
}

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    etx_diag diag;
    etx_diag_init(&diag);
    const etx_status status = run_file(argv[i], &diag);
    if (status == ETX_OK) continue;
    fprintf(stderr, "%s: %s %s\n", argv[i], etx_status_text(status), diag.text);
    return 1;
  }
  return 0;
}
