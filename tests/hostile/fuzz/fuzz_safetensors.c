// Weights: every tensor that the header names is found and read.

#include "exporter/import/safetensors.h"
#include "tests/hostile/fuzz/fuzz_target.h"
#include "tests/support/assert_message.h"

static volatile uint8_t seen;  // keeps reads from being optimised away

static void read_all(const etx_safetensors* file) {
  for (size_t i = 0; i < file->header->count; ++i) {
    etx_ir_constant tensor;
    if (!etx_safetensors_find(file, file->header->keys[i], &tensor)) continue;
    for (size_t j = 0; j < tensor.data.size; ++j) {
      seen = (uint8_t)(seen + tensor.data.data[j]);
    }
  }
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const etx_bytes bytes = {data, size};
  etx_pool pool;
  etx_safetensors file;
  etx_diag diag;
  etx_diag_init(&diag);
  etx_pool_init(&pool);
  const etx_status status =
      etx_safetensors_open(&file, &pool, etx_text_of("weights"), bytes, &diag);
  if (status == ETX_OK) read_all(&file);
  if (status != ETX_OK && !test_has_message(&diag)) __builtin_trap();
  etx_pool_close(&pool);
  return 0;
}
