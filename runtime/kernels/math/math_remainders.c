// Remainders, and the floored quotients that belong to them.

#include "runtime/kernels/math/math_functions.h"

static const double infinity = __builtin_inf();

// x = m 2^(e - 1075) with the top bit of 53 set; x is positive and finite.
static uint64_t whole_mantissa(double x, int64_t* out_exponent) {
  const uint64_t bits = etx_bits_of_f64(x);
  int64_t exponent = (int64_t)(bits >> 52);
  uint64_t m = bits & UINT64_C(0xfffffffffffff);
  if (exponent > 0) {
    m |= UINT64_C(1) << 52;
  } else {
    for (exponent = 1; m < UINT64_C(1) << 52; --exponent) m <<= 1;
  }
  *out_exponent = exponent;
  return m;
}

// Long division in binary: subtracts y 2^k for falling k. Exact, because each
// partial remainder is representable. Works on integer mantissas.
double etx_fmod_f64(double x, double y) {
  const double a = etx_abs_f64(x), b = etx_abs_f64(y);
  if (!(a < infinity) || y != y || b == 0) return (x - x) / (y * 0);
  if (a < b) return x;
  int64_t e, f;
  uint64_t m = whole_mantissa(a, &e);
  const uint64_t d = whole_mantissa(b, &f);
  for (; e > f; --e) {
    if (m >= d) m -= d;
    m <<= 1;
  }
  if (m >= d) m -= d;
  // The result is m 2^(f - 1075). Below the normal numbers its low bits are
  // zeros.
  if (f < 1) {
    m >>= 1 - f;
    f = 1;
  }
  const uint64_t scale =
      f >= 53 ? (uint64_t)(f - 52) << 52 : UINT64_C(1) << (f - 1);
  return etx_with_sign_f64((double)m * etx_f64_of_bits(scale), x);
}

float etx_fmod_f32(float x, float y) {
  if (etx_quotient_is_fast_f32(x, y)) return etx_fmod_fast_f32(x, y);
  return (float)etx_fmod_f64(x, y);  // exact: the result is a float
}

double etx_remainder_f64(double x, double y) {
  const double rest = etx_fmod_f64(x, y);
  if (rest != 0 && (rest < 0) != (y < 0)) return rest + y;
  return rest;
}

float etx_remainder_f32(float x, float y) {
  return etx_remainder_of_fmod_f32(etx_fmod_f32(x, y), y);
}

// See etx_floor_of_fmod_f32.
double etx_floor_divide_f64(double x, double y) {
  if (y == 0) return x / y;
  const double rest = etx_fmod_f64(x, y);
  double quotient = (x - rest) / y;
  if (rest != 0 && (y < 0) != (rest < 0)) quotient -= 1;
  if (quotient == 0) return etx_with_sign_f64(0, x / y);
  const double whole = etx_floor_f64(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}

float etx_floor_divide_f32(float x, float y) {
  if (y == 0) return x / y;
  return etx_floor_of_fmod_f32(x, y, etx_fmod_f32(x, y));
}
