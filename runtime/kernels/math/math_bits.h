// Functions of the bits of a float: magnitude, sign, rounding to integers. All
// can be vectorised (math_functions.h).

#ifndef ETX_RUNTIME_KERNELS_MATH_MATH_BITS_H
#define ETX_RUNTIME_KERNELS_MATH_MATH_BITS_H

#include <stdint.h>
#include <string.h>

// A loop is vectorised only if all its calls are inlined.
#define ETX_IN_LOOP static inline __attribute__((always_inline))

static inline uint32_t etx_bits_of_f32(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof(bits));
  return bits;
}
static inline float etx_f32_of_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof(x));
  return x;
}
static inline uint64_t etx_bits_of_f64(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof(bits));
  return bits;
}
static inline double etx_f64_of_bits(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof(x));
  return x;
}

static inline float etx_abs_f32(float x) {
  return etx_f32_of_bits(etx_bits_of_f32(x) & UINT32_C(0x7fffffff));
}
static inline double etx_abs_f64(double x) {
  return etx_f64_of_bits(etx_bits_of_f64(x) & UINT64_C(0x7fffffffffffffff));
}
// `x` with the sign of `sign`.
static inline float etx_with_sign_f32(float x, float sign) {
  return etx_f32_of_bits((etx_bits_of_f32(x) & UINT32_C(0x7fffffff)) |
                         (etx_bits_of_f32(sign) & UINT32_C(0x80000000)));
}
static inline double etx_with_sign_f64(double x, double sign) {
  return etx_f64_of_bits(
      (etx_bits_of_f64(x) & UINT64_C(0x7fffffffffffffff)) |
      (etx_bits_of_f64(sign) & UINT64_C(0x8000000000000000)));
}

static inline float etx_sqrt_f32(float x) { return __builtin_sqrtf(x); }
static inline double etx_sqrt_f64(double x) { return __builtin_sqrt(x); }

// Rounding to integers. Adding 2^23 (for double 2^52) to a smaller magnitude
// rounds to nearest, ties to even; larger numbers are integers already.
static inline float etx_round_f32(float x) {
  const float magnitude = etx_abs_f32(x);
  const float whole = (magnitude + 8388608.0f) - 8388608.0f;
  return etx_with_sign_f32(magnitude < 8388608.0f ? whole : magnitude, x);
}
static inline float etx_trunc_f32(float x) {
  const float magnitude = etx_abs_f32(x);
  const float whole = (magnitude + 8388608.0f) - 8388608.0f;
  const float below = whole > magnitude ? whole - 1.0f : whole;
  return etx_with_sign_f32(magnitude < 8388608.0f ? below : magnitude, x);
}
static inline float etx_floor_f32(float x) {
  const float whole = etx_round_f32(x);
  return whole > x ? whole - 1.0f : whole;
}
static inline float etx_ceil_f32(float x) {
  const float whole = etx_round_f32(x);
  return etx_with_sign_f32(whole < x ? whole + 1.0f : whole, x);
}
static inline double etx_round_f64(double x) {
  const double magnitude = etx_abs_f64(x);
  const double whole = (magnitude + 4503599627370496.0) - 4503599627370496.0;
  return etx_with_sign_f64(magnitude < 4503599627370496.0 ? whole : magnitude,
                           x);
}
static inline double etx_trunc_f64(double x) {
  const double magnitude = etx_abs_f64(x);
  const double whole = (magnitude + 4503599627370496.0) - 4503599627370496.0;
  const double below = whole > magnitude ? whole - 1.0 : whole;
  return etx_with_sign_f64(magnitude < 4503599627370496.0 ? below : magnitude,
                           x);
}
static inline double etx_floor_f64(double x) {
  const double whole = etx_round_f64(x);
  return whole > x ? whole - 1.0 : whole;
}
static inline double etx_ceil_f64(double x) {
  const double whole = etx_round_f64(x);
  return etx_with_sign_f64(whole < x ? whole + 1.0 : whole, x);
}

#endif
