// Programs (.pte): opened, loaded and run on zeros.

#include "tests/hostile/fuzz/fuzz_target.h"

#include "tests/hostile/hostile_program.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static hostile_counts counts;
  const etx_bytes bytes = {data, size};
  hostile_try(bytes, &counts);
  return 0;
}
