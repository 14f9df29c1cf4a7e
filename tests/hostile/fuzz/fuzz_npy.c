// NumPy files, as given on the command line for inputs.

#include "cli/tensors/npy.h"
#include "tests/hostile/fuzz/fuzz_target.h"
#include "tests/support/assert_message.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const etx_bytes bytes = {data, size};
  etx_pool pool;
  etx_host_tensor tensor;
  etx_diag diag;
  etx_diag_init(&diag);
  etx_pool_init(&pool);
  const etx_status status = etx_npy_read(bytes, &pool, &tensor, &diag);
  if (status != ETX_OK && !test_has_message(&diag)) __builtin_trap();
  etx_pool_close(&pool);
  return status == ETX_OK ? 0 : FUZZ_REFUSED;
}
