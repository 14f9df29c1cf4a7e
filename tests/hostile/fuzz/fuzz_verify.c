// Programs, as `etx verify` reads them: it follows jumps, and the reads and
// writes of each operator. etx_pte_open does neither.

#define _POSIX_C_SOURCE 200809L  // posix_memalign

#include <stdlib.h>
#include <string.h>

#include "cli/verify/verify_program.h"
#include "tests/hostile/fuzz/fuzz_target.h"
#include "tests/support/assert_message.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  void* copy = NULL;  // at an address that a mapped file would have
  if (posix_memalign(&copy, 64, size == 0 ? 1 : size) != 0) return 0;
  if (size > 0) memcpy(copy, data, size);
  const etx_bytes bytes = {copy, size};
  etx_diag diag;
  etx_diag_init(&diag);
  const etx_status status = etx_verify_program(bytes, NULL, &diag);
  if (status != ETX_OK && !test_has_message(&diag)) __builtin_trap();
  free(copy);
  return 0;
}
