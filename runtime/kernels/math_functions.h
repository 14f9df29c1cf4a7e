// Elementary functions of our own, so that results have the same bits from
// every compiler and on every machine: no libm but what is one instruction
// (sqrt). Functions marked "vectorises" have no branch and no call; in a loop
// over floats gcc and clang turn them into vector code.
//
// Errors are the largest seen against double libm, in units of the last place
// of a float, denormal results apart. NaN gives NaN everywhere.

#ifndef ETX_RUNTIME_KERNELS_MATH_FUNCTIONS_H
#define ETX_RUNTIME_KERNELS_MATH_FUNCTIONS_H

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

// e^x, 1.1 ulp; vectorises. x = n log 2 + r with |r| <= log(2)/2; adding
// 1.5 * 2^23 rounds to the nearest whole number, which then stands in the low
// bits. Two factors 2^(n/2) let overflow and underflow happen by themselves.
static inline float etx_exp_f32(float x) {
  x = x > 88.8f ? 88.8f : x;
  x = x < -104.0f ? -104.0f : x;
  const float shifted = x * 1.44269504f + 12582912.0f;
  const float n = shifted - 12582912.0f;
  const float high = x - n * 0.693145751953125f;
  const float r = high - n * 1.42860682030941723e-6f;
  float q = 0.0013814541f;
  q = q * r + 0.0083687454f;
  q = q * r + 0.041668389f;
  q = q * r + 0.16666521f;
  q = q * r + 0.49999994f;
  const float power = 1.0f + (r + r * r * q);
  const uint32_t whole =
      etx_bits_of_f32(shifted) - etx_bits_of_f32(12582912.0f);
  // An arithmetic shift by one, without a shift of a negative number.
  const uint32_t half =
      ((whole ^ UINT32_C(0x80000000)) >> 1) - UINT32_C(0x40000000);
  const float first = etx_f32_of_bits((half + 127) << 23);
  const float second = etx_f32_of_bits((whole - half + 127) << 23);
  return power * first * second;
}

// 1/(1 + e^-x), 2.5 ulp; vectorises.
static inline float etx_sigmoid_f32(float x) {
  return 1.0f / (1.0f + etx_exp_f32(-x));
}

// Hyperbolic tangent, 1.4 ulp; vectorises.
static inline float etx_tanh_f32(float x) {
  const float magnitude = etx_abs_f32(x);
  const float z = x * x;
  float p = -0.005717045f;
  p = p * z + 0.020650588f;
  p = p * z - 0.053743497f;
  p = p * z + 0.13331491f;
  p = p * z - 0.33333284f;
  const float near_zero = x + x * z * p;
  const float clamped = magnitude > 10.0f ? 10.0f : magnitude;
  const float away = 1.0f - 2.0f / (etx_exp_f32(2.0f * clamped) + 1.0f);
  return magnitude < 0.625f ? near_zero : etx_with_sign_f32(away, x);
}

// x/2 (1 + erf(x/sqrt 2)), absolute error 3e-7 |x|; vectorises. erf|u| =
// 1 - e^(-u^2) p(t) with t = 1/(1 + u/2): p was fitted so that the error of
// the product is level (1.1e-8).
static inline float etx_gelu_f32(float x) {
  const float u = etx_abs_f32(x) * 0.707106781f;
  const float t = 1.0f / (1.0f + 0.5f * u);
  float p = 0.0588020541f;
  p = p * t - 0.218240154f;
  p = p * t + 0.122182849f;
  p = p * t + 0.30767557f;
  p = p * t + 0.130846804f;
  p = p * t + 0.321697657f;
  p = p * t + 0.277035182f;
  const float rest = etx_exp_f32(-u * u) * (p * t);
  // For x < 0 the factor is rest itself: nothing cancels. Minus infinity
  // times 0 would be NaN; the factor is exactly 0 from -14 on.
  const float factor = x < 0.0f ? rest : 2.0f - rest;
  const float safe = x < -1e30f ? -1e30f : x;
  return 0.5f * safe * factor;
}

// x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))); vectorises. Written as
// x / (1 + e^(-2y)): nothing cancels for negative x.
static inline float etx_gelu_tanh_f32(float x) {
  const float bounded = x < -1e4f ? -1e4f : (x > 1e4f ? 1e4f : x);
  const float cube = bounded * bounded * bounded;
  const float y = 1.59576912f * (bounded + 0.044715f * cube);
  const float safe = x < -1e30f ? -1e30f : x;
  return safe / (1.0f + etx_exp_f32(-y));
}

// e^x and log x in double, about 1 ulp.
double etx_exp_f64(double x);
double etx_log_f64(double x);
static inline float etx_log_f32(float x) { return (float)etx_log_f64(x); }

// Correct to the float nearest in all but rare cases, for every argument.
float etx_sin_f32(float x);
float etx_cos_f32(float x);
float etx_erf_f32(float x);

// x^y with the special cases of C and PyTorch.
float etx_pow_f32(float x, float y);
double etx_pow_f64(double x, double y);
// Wraps on overflow. A negative power of anything but 1 and -1 is 0.
int64_t etx_pow_i64(int64_t base, int64_t exponent);

// Remainders: the sign of the dividend (C) and of the divisor (Python). Exact.
float etx_fmod_f32(float x, float y);
double etx_fmod_f64(double x, double y);
float etx_remainder_f32(float x, float y);
double etx_remainder_f64(double x, double y);
// Python's //.
float etx_floor_divide_f32(float x, float y);
double etx_floor_divide_f64(double x, double y);

#endif
