// Weights of llama.cpp: the metadata and every tensor are read.

#include "exporter/read_gguf/gguf_convert.h"
#include "tests/hostile/fuzz/fuzz_target.h"
#include "tests/support/assert_message.h"

static volatile uint8_t seen;  // keeps reads from being optimised away

static void touch(etx_bytes bytes) {
  for (size_t i = 0; i < bytes.size; ++i) {
    seen = (uint8_t)(seen + bytes.data[i]);
  }
}

static void read_tensor(etx_pool* pool, const etx_gguf_tensor* tensor) {
  static const etx_gguf_change changes[] = {
      ETX_GGUF_NONE, ETX_GGUF_PAIRS, ETX_GGUF_PLUS_ONE, ETX_GGUF_TRANSPOSE};
  touch(tensor->data);
  for (size_t i = 0; i < sizeof changes / sizeof *changes; ++i) {
    const etx_gguf_conversion from = {tensor, changes[i], 1 + i % 3};
    etx_ir_constant to = {.dtype = i % 2 == 0 ? ETX_DTYPE_FLOAT32
                                              : ETX_DTYPE_FLOAT16};
    bool is_rounded = false;
    to.rank = etx_gguf_convert_sizes(&from, to.sizes);
    if (etx_gguf_convert(pool, &from, &to, &is_rounded, NULL) == ETX_OK) {
      touch(to.data);
    }
  }
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const etx_bytes bytes = {data, size};
  etx_pool pool;
  etx_gguf_file file;
  etx_diag diag;
  etx_diag_init(&diag);
  etx_pool_init(&pool);
  const etx_status status =
      etx_gguf_open(&file, &pool, etx_text_of("weights"), bytes, &diag);
  for (size_t i = 0; status == ETX_OK && i < file.pair_count; ++i) {
    uint64_t number = 0;
    etx_text text = {NULL, 0};
    touch(file.pairs[i].value);
    (void)etx_gguf_number(&file, file.pairs[i].key, &number);
    (void)etx_gguf_text(&file, file.pairs[i].key, &text);
  }
  for (size_t i = 0; status == ETX_OK && i < file.tensor_count; ++i) {
    read_tensor(&pool, &file.tensors[i]);
  }
  if (status != ETX_OK && !test_has_message(&diag)) __builtin_trap();
  etx_pool_close(&pool);
  return 0;
}
