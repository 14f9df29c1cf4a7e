// JSON texts: those of archives, safetensors headers and case files.

#include "exporter/host/read_json.h"
#include "tests/hostile/fuzz/fuzz_target.h"
#include "tests/support/assert_message.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const etx_text text = {(const char*)data, size};
  etx_pool pool;
  etx_json value;
  etx_diag diag;
  etx_diag_init(&diag);
  etx_pool_init(&pool);
  const etx_status status = etx_json_read(&pool, text, &value, &diag);
  // A refusal without a reason would be a bug.
  if (status != ETX_OK && !test_has_message(&diag)) __builtin_trap();
  etx_pool_close(&pool);
  return status == ETX_OK ? 0 : FUZZ_REFUSED;
}
