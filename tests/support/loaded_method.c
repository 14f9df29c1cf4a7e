#include "tests/support/loaded_method.h"

etx_status test_load(test_loaded* loaded, const etx_program* program,
                     const char* name, const etx_planned_memory* state,
                     etx_diag* diag) {
  etx_memory_needed needed;
  ETX_TRY(etx_method_needed(program, etx_text_of(name), &needed, diag));
  loaded->structures =
      test_block_new(needed.structure_bytes, ETX_MEMORY_ALIGNMENT);
  loaded->scratch = test_block_new(needed.scratch_bytes, ETX_MEMORY_ALIGNMENT);
  loaded->temporary =
      test_block_new(needed.temporary_bytes, ETX_MEMORY_ALIGNMENT);
  const etx_method_memory memory = {loaded->structures.bytes,
                                    loaded->scratch.bytes,
                                    loaded->temporary.bytes, state};
  const etx_status status = etx_method_init(
      &loaded->method, program, etx_text_of(name), &memory, NULL, diag);
  if (status != ETX_OK) test_unload(loaded);
  return status;
}

bool test_unload(test_loaded* loaded) {
  const bool structures = test_block_end(&loaded->structures);
  const bool scratch = test_block_end(&loaded->scratch);
  const bool temporary = test_block_end(&loaded->temporary);
  return structures && scratch && temporary;
}

etx_tensor test_tensor(void* data, etx_dtype dtype, uint8_t rank,
                       const int32_t* sizes) {
  return (etx_tensor){data, sizes, NULL, rank, dtype};
}

const etx_tensor* test_output_tensor(const etx_method* method, size_t index) {
  const etx_value* value = NULL;
  if (etx_method_output(method, index, &value) != ETX_OK) return NULL;
  return value->kind == ETX_VALUE_TENSOR ? &value->as.tensor : NULL;
}
