#include "cli/machine/machine_peak.h"
#include "runtime/instruction_set.h"

typedef int32_t int32x4 __attribute__((vector_size(16)));

static inline int32x4 add_products(int32x4 sums, int32x4 a, int32x4 b) {
  __asm__("sdot %0.4s, %1.16b, %2.16b" : "+w"(sums) : "w"(a), "w"(b));
  return sums;
}

// On a processor without the dot product instruction int8 is as fast as
// float32.
uint64_t etx_machine_peak_multiply_int8(uint64_t iterations, int32_t* sink) {
  enum { SUMS = 12, LANES = 4, PRODUCTS = 16 };
  const int32_t start = *sink;
  const int32x4 factor = {start, start, start, start};
  int32x4 s[SUMS] = {{0}};
  if (etx_instruction_set_within(ETX_SET_DOTPROD) < ETX_SET_DOTPROD) {
    float single = (float)start;
    const uint64_t done = etx_machine_peak_multiply_f32(iterations, &single);
    *sink = single > 0;
    return done;
  }
  for (uint64_t i = 0; i < iterations; ++i) {
    s[0] = add_products(s[0], factor, factor);
    s[1] = add_products(s[1], factor, factor);
    s[2] = add_products(s[2], factor, factor);
    s[3] = add_products(s[3], factor, factor);
    s[4] = add_products(s[4], factor, factor);
    s[5] = add_products(s[5], factor, factor);
    s[6] = add_products(s[6], factor, factor);
    s[7] = add_products(s[7], factor, factor);
    s[8] = add_products(s[8], factor, factor);
    s[9] = add_products(s[9], factor, factor);
    s[10] = add_products(s[10], factor, factor);
    s[11] = add_products(s[11], factor, factor);
  }
  for (int k = 0; k < SUMS; ++k) {
    for (int i = 0; i < LANES; ++i) *sink ^= s[k][i];
  }
  return iterations * SUMS * PRODUCTS;
}
