// Methods as YAML files: read, planned, proved and run. The method has to be
// named "step".

#include "tests/hostile/fuzz/fuzz_method.h"
#include "tests/hostile/fuzz/fuzz_target.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const etx_bytes bytes = {data, size};
  return fuzz_method("step.yaml", bytes) ? 0 : FUZZ_REFUSED;
}
