// float16 and bfloat16 as bits. Weights have billions of elements, so these
// functions use integers only.

#ifndef ETX_EXPORTER_HOST_HALF_BITS_H
#define ETX_EXPORTER_HOST_HALF_BITS_H

#include <stdint.h>
#include <string.h>

static inline float etx_float_of_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static inline uint32_t etx_bits_of_float(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static inline uint16_t etx_load_16(const uint8_t* bytes) {
  return (uint16_t)(bytes[0] | bytes[1] << 8);
}

// The float32 that equals the float16 in two little-endian bytes.
static inline float etx_from_float16(const uint8_t* bytes) {
  const uint32_t half = etx_load_16(bytes);
  const uint32_t sign = (half & 0x8000u) << 16;
  const uint32_t exponent = half >> 10 & 31;
  const uint32_t fraction = half & 1023;
  if (exponent == 0) {  // 0 and subnormal numbers: fraction * 2^-24
    const float size = (float)fraction * 0x1p-24f;
    return sign != 0 ? -size : size;
  }
  const uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return etx_float_of_bits(sign | wide << 23 | fraction << 13);
}

// The float32 that equals the bfloat16 in two little-endian bytes.
static inline float etx_from_bfloat16(const uint8_t* bytes) {
  return etx_float_of_bits((uint32_t)etx_load_16(bytes) << 16);
}

// The nearest bfloat16, ties to even; NaN stays NaN.
static inline uint16_t etx_to_bfloat16(float x) {
  const uint32_t bits = etx_bits_of_float(x);
  if (x != x) return (uint16_t)(bits >> 16 | 64);
  return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

// The nearest float16, ties to even; NaN stays NaN.
static inline uint16_t etx_to_float16(float x) {
  const uint32_t bits = etx_bits_of_float(x);
  const uint32_t sign = bits >> 16 & 0x8000u;
  const uint32_t size = bits & 0x7FFFFFFFu;
  if (x != x) return (uint16_t)(sign | 0x7E00u | (size >> 13 & 1023));
  if (size >= 0x47800000u) return (uint16_t)(sign | 0x7C00u);  // from 2^16 on
  if (size < 0x38800000u) {  // subnormal: a multiple of 2^-24
    // Adding 0.5 rounds to multiples of 2^-24, the last place of 0.5.
    const float shifted = etx_float_of_bits(size) + 0.5f;
    return (uint16_t)(sign | (etx_bits_of_float(shifted) - 0x3F000000u));
  }
  const uint32_t rebased = size - (112u << 23);
  return (uint16_t)(sign | ((rebased + 0xFFF + (rebased >> 13 & 1)) >> 13));
}

#endif
