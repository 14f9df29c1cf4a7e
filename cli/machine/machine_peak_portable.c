// Vectors of four floats, which the compiler maps to the vector registers of
// the processor or splits. This file is compiled with -ffp-contract=fast, so
// that a product and a sum become one FMA where there is one.

#include "cli/machine/machine_peak.h"

typedef float float32x4 __attribute__((vector_size(16)));

uint64_t etx_machine_peak_multiply_f32(uint64_t iterations, float* sink) {
  enum { SUMS = 12, LANES = 4 };
  const float start = *sink;
  float32x4 s[SUMS];
  const float32x4 factor = {0.999f, 0.999f, 0.999f, 0.999f};
  const float32x4 term = {start, start, start, start};
  for (int k = 0; k < SUMS; ++k) s[k] = term * (float)k;
  for (uint64_t i = 0; i < iterations; ++i) {
    s[0] = s[0] * factor + term;
    s[1] = s[1] * factor + term;
    s[2] = s[2] * factor + term;
    s[3] = s[3] * factor + term;
    s[4] = s[4] * factor + term;
    s[5] = s[5] * factor + term;
    s[6] = s[6] * factor + term;
    s[7] = s[7] * factor + term;
    s[8] = s[8] * factor + term;
    s[9] = s[9] * factor + term;
    s[10] = s[10] * factor + term;
    s[11] = s[11] * factor + term;
  }
  for (int k = 0; k < SUMS; ++k) {
    for (int i = 0; i < LANES; ++i) *sink += s[k][i];
  }
  return iterations * SUMS * LANES;
}

uint64_t etx_machine_peak_read(const uint64_t* words, size_t count) {
  return etx_machine_peak_read_scalar(words, count);
}
