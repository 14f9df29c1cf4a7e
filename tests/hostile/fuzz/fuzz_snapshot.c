// Snapshots of state: an invalid one is refused and changes nothing.

#define _POSIX_C_SOURCE 200809L  // posix_memalign

#include <stdlib.h>
#include <string.h>

#include "shared_memory/shared_memory.h"
#include "tests/format/fixtures/sample_program.h"
#include "tests/hostile/fuzz/fuzz_target.h"

enum { BLOCK_BYTES = 4096 };

typedef struct session {
  etx_bytes_mut file;
  etx_program program;
  etx_shared_memory shared;
  uint8_t* block;
  size_t block_bytes;
  bool is_open;
} session;

// One session for the whole process.
static session* open_session(void) {
  static session s;
  if (s.is_open) return &s;
  s.file = sample_write(sample_runnable_content());
  void* block = NULL;
  if (posix_memalign(&block, ETX_SHARED_MEMORY_ALIGNMENT, BLOCK_BYTES) != 0 ||
      etx_program_open(&s.program, sample_view(s.file), &etx_all_kernels, NULL,
                       NULL) != ETX_OK ||
      etx_shared_memory_needed(&s.program, &s.block_bytes) != ETX_OK ||
      s.block_bytes > BLOCK_BYTES) {
    abort();
  }
  s.block = block;
  const etx_bytes_mut bytes = {s.block, s.block_bytes};
  if (etx_shared_memory_init(&s.shared, &s.program, bytes, NULL) != ETX_OK) {
    abort();
  }
  s.is_open = true;
  return &s;
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static uint8_t before[BLOCK_BYTES];
  session* s = open_session();
  const etx_bytes snapshot = {data, size};
  memcpy(before, s->block, s->block_bytes);
  if (etx_shared_memory_restore(&s->shared, snapshot, NULL) == ETX_OK) return 0;
  if (memcmp(before, s->block, s->block_bytes) != 0) __builtin_trap();
  return FUZZ_REFUSED;
}
