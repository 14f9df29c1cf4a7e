// Quotients and remainders of integers that doubles hold exactly, computed by
// divisions of doubles, so that loops can be vectorised.
//
// A quotient rounded to nearest leaves an exact remainder of about half the
// divisor at most. One correction then gives the floored or truncated quotient
// and its remainder.

#ifndef ETX_RUNTIME_KERNELS_MATH_F64_EXACT_DIVISION_H
#define ETX_RUNTIME_KERNELS_MATH_F64_EXACT_DIVISION_H

#include <stdbool.h>

#include "runtime/kernels/math/math_bits.h"

// 2^52 + 2^51: added to an integer, it gives a double whose low bits are the
// integer.
#define ETX_F64_INTEGER_SHIFT 6755399441055744.0
#define ETX_F64_INTEGER_BITS UINT64_C(0x4338000000000000)

// The high 12 bits are 0 if both numbers are from -2^51 to 2^51 - 1.
static inline uint64_t etx_f64_range_bits(int64_t x, int64_t y) {
  const uint64_t half = UINT64_C(1) << 51;
  return ((uint64_t)x + half) | ((uint64_t)y + half);
}

static inline double etx_f64_of_integer(int64_t x) {
  return etx_f64_of_bits((uint64_t)x + ETX_F64_INTEGER_BITS) -
         ETX_F64_INTEGER_SHIFT;
}
static inline int64_t etx_integer_of_f64(double x) {
  return (int64_t)(etx_bits_of_f64(x + ETX_F64_INTEGER_SHIFT) -
                   ETX_F64_INTEGER_BITS);
}

static inline double etx_f64_exact_quotient(double x, double y) {
  return (x / y + ETX_F64_INTEGER_SHIFT) - ETX_F64_INTEGER_SHIFT;
}

// As etx_wrap_floor_divide, etx_wrap_remainder and etx_wrap_fmod.
static inline int64_t etx_f64_exact_floor_divide(int64_t a, int64_t b) {
  const double x = etx_f64_of_integer(a), y = etx_f64_of_integer(b);
  const double quotient = etx_f64_exact_quotient(x, y);
  const double rest = x - quotient * y;
  const bool is_high = y < 0.0 ? rest > 0.0 : rest < 0.0;
  return etx_integer_of_f64(is_high ? quotient - 1.0 : quotient);
}
static inline int64_t etx_f64_exact_remainder(int64_t a, int64_t b) {
  const double x = etx_f64_of_integer(a), y = etx_f64_of_integer(b);
  const double rest = x - etx_f64_exact_quotient(x, y) * y;
  const bool is_high = y < 0.0 ? rest > 0.0 : rest < 0.0;
  return etx_integer_of_f64(is_high ? rest + y : rest);
}
static inline int64_t etx_f64_exact_fmod(int64_t a, int64_t b) {
  const double x = etx_f64_of_integer(a), y = etx_f64_of_integer(b);
  const double rest = x - etx_f64_exact_quotient(x, y) * y;
  const double size = y < 0.0 ? -y : y;
  const bool is_high = x < 0.0 ? rest > 0.0 : rest < 0.0;
  return etx_integer_of_f64(is_high ? rest + (x < 0.0 ? -size : size) : rest);
}

#endif
