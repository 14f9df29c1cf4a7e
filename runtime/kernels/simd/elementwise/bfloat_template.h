// Between arrays of floats and of bfloat16 (half_loops.h). Read once for each
// instruction set: the compiler makes vectors of them, whose bits are the same.

#include "runtime/kernels/math/half_float.h"

static void read_bfloats(float* restrict out, const uint16_t* restrict in,
                         size_t count) {
  for (size_t i = 0; i < count; ++i) out[i] = etx_f32_of_bfloat(in[i]);
}

static void write_bfloats(uint16_t* restrict out, const float* restrict in,
                          size_t count) {
  for (size_t i = 0; i < count; ++i) out[i] = etx_bfloat_of_f32(in[i]);
}
