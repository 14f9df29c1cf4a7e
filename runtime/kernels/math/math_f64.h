// The exponential function of doubles without branches or calls, so that loops
// over doubles are vectorised, as those of math_f32.h are.
//
// x = n log 2 + r with |r| <= log(2)/2. n log 2 is subtracted in two parts, of
// which the first has 32 bits, so that n times it is exact; the rounding error
// is kept. e^r - 1 is then a fitted polynomial.

#ifndef ETX_RUNTIME_KERNELS_MATH_MATH_F64_H
#define ETX_RUNTIME_KERNELS_MATH_MATH_F64_H

#include "runtime/kernels/math/math_bits.h"

// Adding it to a double below 2^51 rounds to the nearest integer, which is then
// in the low bits.
#define ETX_ROUNDER_F64 6755399441055744.0  // 1.5 * 2^52

// (e^r - 1 - r) / r^2, with an error of 3e-19 relative to (e^r - 1) / r. Terms
// are added in independent pairs, for a short chain of dependencies.
ETX_IN_LOOP double etx_exp_tail_f64(double r) {
  const double r2 = r * r, r4 = r2 * r2;
  const double a = 0.16666666666666677 * r + 0.5;
  const double b = 0.0083333333333206541 * r + 0.041666666666666706;
  const double c = 0.00019841269888892543 * r + 0.0013888888888865009;
  const double d = 2.7557241164478631e-06 * r + 2.4801587364179767e-05;
  const double e = 2.5110178740471095e-08 * r + 2.7557239661640402e-07;
  const double f = e + r2 * 2.092539966171763e-09;
  return (a + r2 * b) + r4 * ((c + r2 * d) + r4 * f);
}

// 2^n for an integer n from -1022 to 1023.
ETX_IN_LOOP double etx_power_of_two_f64(double n) {
  const uint64_t bits = etx_bits_of_f64(n + ETX_ROUNDER_F64);
  return etx_f64_of_bits((bits << 52) + (UINT64_C(1023) << 52));
}

typedef struct etx_reduced_f64 {
  double n;  // an integer
  double p;  // e^r - 1
} etx_reduced_f64;

// x is NaN or |x| < 2000; `low` is much smaller than 1.
ETX_IN_LOOP etx_reduced_f64 etx_exp_reduce_f64(double x, double low) {
  const double n = (x * 1.4426950408889634 + ETX_ROUNDER_F64) - ETX_ROUNDER_F64;
  const double high = x - n * 0.69314718036912382;
  const double rest = n * 1.9082149292705877e-10 - low;
  const double r = high - rest;
  const double lost = (high - r) - rest;
  const etx_reduced_f64 reduced = {n, r + (lost + r * r * etx_exp_tail_f64(r))};
  return reduced;
}

// power * 2^n for |n| < 2040, with 2^n in two factors, so that the products
// overflow and underflow correctly.
ETX_IN_LOOP double etx_scale_f64(double power, double n) {
  const double half = (n * 0.5 + ETX_ROUNDER_F64) - ETX_ROUNDER_F64;
  return power * etx_power_of_two_f64(half) * etx_power_of_two_f64(n - half);
}

// e^(x + low), about 1 ulp; |low| is at most 0.01. Beyond |x| = 1000 the result
// is infinite or 0.
ETX_IN_LOOP double etx_exp_of_double_double_f64(double x, double low) {
  const double above = x < -1000.0 ? -1000.0 : x;
  const double clamped = above > 1000.0 ? 1000.0 : above;
  const etx_reduced_f64 e = etx_exp_reduce_f64(clamped, low);
  return etx_scale_f64(1.0 + e.p, e.n);
}

ETX_IN_LOOP double etx_exp_f64(double x) {
  return etx_exp_of_double_double_f64(x, 0.0);
}

// 1/(1 + e^-x)
ETX_IN_LOOP double etx_sigmoid_f64(double x) {
  return 1.0 / (1.0 + etx_exp_f64(-x));
}

// x / (1 + e^-x)
ETX_IN_LOOP double etx_silu_f64(double x) { return x * etx_sigmoid_f64(x); }

#endif
