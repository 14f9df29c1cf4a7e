// Conversions between arrays of float32 and bfloat16 (half_loops.h).
// No parameters: the code is plain C, and each instruction set includes it so
// that the compiler vectorises it for that set.

#include "runtime/kernels/math/half_float.h"

//   @read_bfloats  bfloat16 to float32 | conversion | 1 vector
static void read_bfloats(float* restrict out, const uint16_t* restrict in,
                         size_t count) {
  for (size_t i = 0; i < count; ++i) out[i] = etx_f32_of_bfloat(in[i]);
}

//   @write_bfloats  float32 to bfloat16 | conversion | 1 vector
static void write_bfloats(uint16_t* restrict out, const float* restrict in,
                          size_t count) {
  for (size_t i = 0; i < count; ++i) out[i] = etx_bfloat_of_f32(in[i]);
}
