#include "runtime/kernels/simd/elementwise/half_loops.h"

#include "runtime/kernels/simd/elementwise/bfloat_template.h"
#include "runtime/kernels/simd/elementwise/read_bytes_template.h"

//   @read  float16 to float32 | conversion | 1 element
static void read_halves(float* restrict out, const uint16_t* restrict in,
                        size_t count) {
  for (size_t i = 0; i < count; ++i) out[i] = etx_f32_of_half(in[i]);
}

//   @write  float32 to float16 | conversion | 1 element
static void write_halves(uint16_t* restrict out, const float* restrict in,
                         size_t count) {
  for (size_t i = 0; i < count; ++i) out[i] = etx_half_of_f32(in[i]);
}

const etx_half_loops etx_half_loops_base = {
    "base", read_halves, write_halves, read_bfloats, write_bfloats, read_bytes};
