// Rounds rows for attention_byte_loops.h. No parameters: the code is plain C,
// and each instruction set includes it so that the compiler vectorises it.

#include <string.h>

#include "runtime/kernels/simd/int8/attention_byte_loops.h"

static inline uint32_t magnitude_bits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits & UINT32_C(0x7fffffff);
}

// The largest magnitude: as integers, infinity and NaN are behind all numbers.
static inline float largest_magnitude(const float* x, size_t count) {
  uint32_t most = 0;
  float largest;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t bits = magnitude_bits(x[i]);
    most = bits > most ? bits : most;
  }
  memcpy(&largest, &most, sizeof largest);
  return largest;
}

// What elements are multiplied with before they are rounded; 0: they become
// zeros, because the largest is no number, or so small.
static inline float inverse_of(float largest, float most) {
  const uint32_t infinite = UINT32_C(0x7f800000);
  const float inverse = most / largest;
  return magnitude_bits(largest) < infinite &&
                 magnitude_bits(inverse) < infinite
             ? inverse
             : 0;
}

// What an integer is multiplied with: not finite if the largest element is not,
// so that its zeros give NaN.
static inline float factor_of(float largest, float most) {
  return largest * (1 / most);
}

// Rounds to nearest even: adding 1.5 * 2^23 leaves the integer in the low bits
// of the sum.
static inline float round_to(const float* x, size_t count, float most,
                             int16_t* out) {
  const float largest = largest_magnitude(x, count);
  const float inverse = inverse_of(largest, most);
  for (size_t i = 0; i < count; ++i) {
    const float sum = x[i] * inverse + 12582912.0f;
    uint32_t bits;
    memcpy(&bits, &sum, sizeof bits);
    out[i] = (int16_t)(uint16_t)(inverse > 0 ? bits & UINT32_C(0xffff) : 0);
  }
  return factor_of(largest, most);
}

static inline __attribute__((unused)) float round_products(const float* weights,
                                                           const float* factors,
                                                           size_t count,
                                                           int16_t* out) {
  float products[ETX_ATTENTION_BYTE_KEYS];
  for (size_t i = 0; i < count; ++i) products[i] = weights[i] * factors[i];
  return round_to(products, count, (float)ETX_ATTENTION_WEIGHT_MOST, out);
}
