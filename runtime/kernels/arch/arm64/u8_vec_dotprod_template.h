// Requantises four float vectors to sixteen bytes. No parameters. Include after
// int8_dot_dotprod_template.h.

#include "runtime/kernels/simd/int8/u8_requantize.h"

enum { SUM_REGISTERS = BYTES / LANES };  // registers that hold sixteen sums

// Unsigned bytes less 128, as signed bytes.
static inline __attribute__((unused)) int8x16_t less_128(uint8x16_t x) {
  return vreinterpretq_s8_u8(x ^ 0x80);
}

// As u8_clamp (NaN gives low), then rounded to nearest even.
static inline __attribute__((always_inline)) int32x4_t limited(float32x4_t x,
                                                               float low,
                                                               float high) {
  const float32x4_t above = vmaxnmq_f32(x, vdupq_n_f32(low));
  return vcvtnq_s32_f32(vminnmq_f32(above, vdupq_n_f32(high)));
}

// Packs the integers of four registers to bytes, the lowest byte of each, and
// adds a zero point.
static inline __attribute__((always_inline)) uint8x16_t packed_with(
    const int32x4_t x[SUM_REGISTERS], int32_t zero) {
  int16x8_t half[2];
  ETX_UNROLLED
  for (size_t i = 0; i < 2; ++i) {
    half[i] = vuzp1q_s16(vreinterpretq_s16_s32(x[2 * i]),
                         vreinterpretq_s16_s32(x[2 * i + 1]));
  }
  return vuzp1q_u8(vreinterpretq_u8_s16(half[0]),
                   vreinterpretq_u8_s16(half[1])) +
         vdupq_n_u8((uint8_t)zero);
}

static inline __attribute__((always_inline)) uint8x16_t bytes_of(
    const float32x4_t f[SUM_REGISTERS], float low, float high, int32_t zero) {
  int32x4_t whole[SUM_REGISTERS];
  ETX_UNROLLED
  for (size_t i = 0; i < SUM_REGISTERS; ++i)
    whole[i] = limited(f[i], low, high);
  return packed_with(whole, zero);
}
