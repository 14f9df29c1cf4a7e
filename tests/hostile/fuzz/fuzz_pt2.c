// Archives of torch.export (.pt2): read and planned.

#include "tests/hostile/fuzz/fuzz_method.h"
#include "tests/hostile/fuzz/fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const etx_bytes bytes = {data, size};
  return fuzz_method("method.pt2", bytes) ? 0 : FUZZ_REFUSED;
}
