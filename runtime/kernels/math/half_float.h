// Conversions between float32 and float16 or bfloat16, without branches, so that
// loops can be vectorised. Rounding is to nearest, ties to even.

#ifndef ETX_RUNTIME_KERNELS_MATH_HALF_FLOAT_H
#define ETX_RUNTIME_KERNELS_MATH_HALF_FLOAT_H

#include "runtime/kernels/math/math_bits.h"

// Denormals too: the bits are moved to the fields of a float, and a
// multiplication by a power of two corrects the exponent.
static inline float etx_f32_of_half(uint16_t half) {
  const uint32_t sign = (uint32_t)(half & 0x8000) << 16;
  const int32_t rest = half & 0x7fff;
  const uint32_t bits = (uint32_t)rest << 13;
  const float scaled = etx_f32_of_bits(bits) * 5.192296858534828e33f;  // 2^112
  const uint32_t finite = etx_bits_of_f32(scaled);
  const uint32_t special = bits | UINT32_C(0x7f800000);
  return etx_f32_of_bits((rest >= 0x7c00 ? special : finite) | sign);
}

static inline uint16_t etx_half_of_f32(float x) {
  const uint32_t bits = etx_bits_of_f32(x);
  const int32_t rest = (int32_t)(bits & UINT32_C(0x7fffffff));
  const int32_t odd = rest >> 13 & 1;
  const int32_t normal = (rest + 0xfff + odd - 0x38000000) >> 13;
  // Adding 0.5 rounds to a multiple of 2^-24, the denormals' unit.
  const float shifted = etx_f32_of_bits((uint32_t)rest) + 0.5f;
  const int32_t small = (int32_t)etx_bits_of_f32(shifted) - 0x3f000000;
  const int32_t finite = rest < 0x38800000 ? small : normal;
  const int32_t bounded = rest >= 0x477ff000 ? 0x7c00 : finite;
  const int32_t magnitude = rest > 0x7f800000 ? 0x7e00 : bounded;
  return (uint16_t)((uint32_t)magnitude | (bits >> 16 & 0x8000));
}

static inline float etx_f32_of_bfloat(uint16_t bfloat) {
  return etx_f32_of_bits((uint32_t)bfloat << 16);
}

static inline uint16_t etx_bfloat_of_f32(float x) {
  const uint32_t bits = etx_bits_of_f32(x);
  const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return (uint16_t)(x != x ? bits >> 16 | 0x40 : rounded);
}

#endif
