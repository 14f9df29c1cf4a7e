#include "cli/machine/machine_peak.h"

// Without an int8 instruction, int8 kernels compute with wider types; the rate
// of float32 stands for theirs.
uint64_t etx_machine_peak_multiply_int8(uint64_t iterations, int32_t* sink) {
  float single = (float)*sink;
  const uint64_t done = etx_machine_peak_multiply_f32(iterations, &single);
  *sink = single > 0;
  return done;
}
