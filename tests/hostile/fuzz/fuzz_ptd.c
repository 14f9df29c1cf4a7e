// Data files: their whole content is read, and a program with external weights
// is run with those of the file.

#define _POSIX_C_SOURCE 200809L  // posix_memalign

#include <stdlib.h>

#include "runtime/method.h"
#include "tests/format/fixtures/sample_program.h"
#include "tests/hostile/fuzz/fuzz_target.h"
#include "tests/support/assert_message.h"

enum { BLOCK_BYTES = 1 << 16 };

static volatile uint8_t seen;  // keeps reads from being optimised away

static void read_all(const etx_ptd* ptd) {
  for (size_t i = 0; i < etx_ptd_count(ptd); ++i) {
    const etx_ptd_entry entry = etx_ptd_at(ptd, i);
    for (size_t k = 0; k < entry.data.size; ++k) {
      seen = (uint8_t)(seen + entry.data.data[k]);
    }
    for (size_t k = 0; k < entry.rank; ++k) {
      seen = (uint8_t)(seen + (uint8_t)entry.sizes[k] + entry.dim_order[k]);
    }
  }
}

// Memory for the whole process.
static etx_bytes_mut take(void) {
  void* data = NULL;
  if (posix_memalign(&data, 64, BLOCK_BYTES) != 0) abort();
  return (etx_bytes_mut){data, BLOCK_BYTES};
}

static void run(const etx_ptd* ptd) {
  static etx_bytes_mut file;
  static etx_bytes_mut blocks[3];
  static float data[8];
  static const int32_t sizes[2] = {2, 4};
  if (file.data == NULL) {
    file = sample_read_file(ETX_TEST_DATA "/exported/external.pte");
    for (size_t i = 0; i < 3; ++i) blocks[i] = take();
  }
  etx_program program;
  etx_method method;
  const etx_bytes bytes = {file.data, file.size};
  const etx_method_memory memory = {blocks[0], blocks[1], blocks[2], NULL};
  const etx_tensor x = {data, sizes, NULL, 2, ETX_DTYPE_FLOAT32};
  if (etx_program_open(&program, bytes, &etx_all_kernels, NULL, NULL) !=
      ETX_OK) {
    abort();
  }
  etx_diag diag;
  etx_diag_init(&diag);
  if (etx_program_use_data(&program, ptd, 1, &diag) != ETX_OK) {
    if (!test_has_message(&diag)) __builtin_trap();
    return;
  }
  if (etx_method_init(&method, &program, etx_text_of("forward"), &memory, NULL,
                      NULL) != ETX_OK ||
      etx_method_set_input(&method, 0, &x, NULL) != ETX_OK ||
      etx_method_run(&method, NULL) != ETX_OK) {
    __builtin_trap();  // a program whose data file fits must run
  }
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const etx_bytes_mut copy = sample_copy((etx_bytes){data, size});
  etx_ptd ptd;
  etx_diag diag;
  etx_diag_init(&diag);
  if (etx_ptd_open(&ptd, (etx_bytes){copy.data, copy.size}, &diag) == ETX_OK) {
    read_all(&ptd);
    run(&ptd);
  } else if (!test_has_message(&diag)) {
    __builtin_trap();
  }
  sample_release(copy);
  return 0;
}
