// Floats as bits, and what needs nothing else: magnitude, sign, the whole
// numbers near a float. All of it vectorises (math_functions.h).

#ifndef ETX_RUNTIME_KERNELS_MATH_BITS_H
#define ETX_RUNTIME_KERNELS_MATH_BITS_H

#include <stdint.h>
#include <string.h>

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

// Whole numbers near x. Above 2^23 (2^52) every number is whole already.
// Vectorise.
static inline float etx_trunc_f32(float x) {
  const int is_small = etx_abs_f32(x) < 8388608.0f;
  const float safe = is_small ? x : 0.0f;
  const float whole = etx_with_sign_f32((float)(int32_t)safe, x);
  return is_small ? whole : x;
}
static inline float etx_floor_f32(float x) {
  const float whole = etx_trunc_f32(x);
  return whole > x ? whole - 1.0f : whole;
}
static inline float etx_ceil_f32(float x) {
  const float whole = etx_trunc_f32(x);
  return whole < x ? etx_with_sign_f32(whole + 1.0f, x) : whole;
}
// Halves go to the even neighbour.
static inline float etx_round_f32(float x) {
  const int is_small = etx_abs_f32(x) < 8388608.0f;
  const float magnitude = is_small ? etx_abs_f32(x) : 0.0f;
  const float whole = (magnitude + 8388608.0f) - 8388608.0f;
  return is_small ? etx_with_sign_f32(whole, x) : x;
}
static inline double etx_trunc_f64(double x) {
  const int is_small = etx_abs_f64(x) < 4503599627370496.0;
  const double safe = is_small ? x : 0.0;
  const double whole = etx_with_sign_f64((double)(int64_t)safe, x);
  return is_small ? whole : x;
}
static inline double etx_floor_f64(double x) {
  const double whole = etx_trunc_f64(x);
  return whole > x ? whole - 1.0 : whole;
}
static inline double etx_ceil_f64(double x) {
  const double whole = etx_trunc_f64(x);
  return whole < x ? etx_with_sign_f64(whole + 1.0, x) : whole;
}
static inline double etx_round_f64(double x) {
  const int is_small = etx_abs_f64(x) < 4503599627370496.0;
  const double magnitude = is_small ? etx_abs_f64(x) : 0.0;
  const double whole = (magnitude + 4503599627370496.0) - 4503599627370496.0;
  return is_small ? etx_with_sign_f64(whole, x) : x;
}

#endif
