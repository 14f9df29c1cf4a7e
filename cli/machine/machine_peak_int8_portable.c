#include "cli/machine/machine_peak.h"

// Without an instruction for bytes they are multiplied as what they become.
uint64_t etx_machine_peak_multiply_int8(uint64_t turns, int32_t* sink) {
  float single = (float)*sink;
  const uint64_t done = etx_machine_peak_multiply_f32(turns, &single);
  *sink = single > 0;
  return done;
}
