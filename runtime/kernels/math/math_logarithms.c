// Logarithms of doubles, and inverse hyperbolic functions.
//
// x = 2^e m with m in [sqrt(1/2), sqrt(2)); log m = 2 artanh(s) with
// s = (m - 1)/(m + 1), whose series is truncated below the precision of double.

#include "runtime/kernels/math/math_logarithms.h"

#include "runtime/kernels/math/math_functions.h"

static const double infinity = __builtin_inf();

etx_split etx_split_of_f64(double x) {
  int64_t exponent = 0;
  if (x < 2.2250738585072014e-308) {
    x *= 18014398509481984.0;  // 2^54
    exponent = -54;
  }
  const uint64_t bits = etx_bits_of_f64(x);
  // The bits of sqrt(1/2) split the interval where m wraps.
  const uint64_t shifted = bits - UINT64_C(0x3fe6a09e667f3bcd);
  const int64_t step =
      (int64_t)(shifted >> 52) - ((shifted >> 63) != 0 ? 4096 : 0);
  const etx_split split = {(double)(exponent + step),
                           etx_f64_of_bits(bits - ((uint64_t)step << 52))};
  return split;
}

// log(1 + f) - f for 1 + f = m; `f` may be more exact than m - 1.
static double log_tail(double f) {
  const double s = f / (2.0 + f);
  const double z = s * s;
  double p = 2.0 / 23;
  p = p * z + 2.0 / 21;
  p = p * z + 2.0 / 19;
  p = p * z + 2.0 / 17;
  p = p * z + 2.0 / 15;
  p = p * z + 2.0 / 13;
  p = p * z + 2.0 / 11;
  p = p * z + 2.0 / 9;
  p = p * z + 2.0 / 7;
  p = p * z + 2.0 / 5;
  p = p * z + 2.0 / 3;
  // 2s = f - s f, which loses nothing for m near 1.
  return s * z * p - s * f;
}

// Special cases of log: NaN, infinity, 0 and negative numbers. False if x is
// positive and finite.
static int is_special(double x, double* out) {
  if (x > 0 && x < infinity) return 0;
  *out = x == 0 ? -infinity : (x < 0 ? __builtin_nan("") : x);
  return 1;
}

double etx_log_f64(double x) {
  double special;
  if (is_special(x, &special)) return special;
  const etx_split split = etx_split_of_f64(x);
  const double f = split.m - 1.0, e = split.e;
  const double tail = log_tail(f);
  return e * 0.69314718036912382 + (f + (tail + e * 1.9082149292705877e-10));
}

// Powers of two are exact.
double etx_log2_f64(double x) {
  double special;
  if (is_special(x, &special)) return special;
  const etx_split split = etx_split_of_f64(x);
  const double f = split.m - 1.0;
  return split.e + (f + log_tail(f)) * 1.4426950408889634;
}

double etx_log10_f64(double x) {
  double special;
  if (is_special(x, &special)) return special;
  const etx_split split = etx_split_of_f64(x);
  const double f = split.m - 1.0, e = split.e;
  const double part = (f + log_tail(f)) * 0.43429448190325182;
  return e * 0.30102999554947019 + (part + e * 1.1451100898021838e-10);
}

// log u with u = 1 + x rounded, plus a correction for the rounding error.
double etx_log1p_f64(double x) {
  double special;
  const double u = 1.0 + x;
  if (etx_abs_f64(x) < 1e-17) return x;
  if (is_special(u, &special)) return special;
  const etx_split split = etx_split_of_f64(u);
  const double e = split.e;
  // Without a power of two in u, x itself is m - 1, and more exact.
  const double f = e == 0 ? x : split.m - 1.0;
  const double lost = e == 0 ? 0.0 : (x > 1.0 ? 1.0 - (u - x) : x - (u - 1.0));
  const double tail = log_tail(f) + (e == 0 ? 0.0 : lost / u);
  return e * 0.69314718036912382 + (f + (tail + e * 1.9082149292705877e-10));
}

double etx_asinh_f64(double x) {
  const double a = etx_abs_f64(x);
  if (!(a < infinity) || x == 0) return x;
  if (a > 1e9)
    return etx_with_sign_f64(etx_log_f64(a) + 0.69314718055994529, x);
  const double root = etx_sqrt_f64(1.0 + a * a);
  return etx_with_sign_f64(etx_log1p_f64(a + a * a / (1.0 + root)), x);
}

double etx_acosh_f64(double x) {
  if (!(x >= 1.0)) return __builtin_nan("");
  if (x > 1e9) return etx_log_f64(x) + 0.69314718055994529;
  const double t = x - 1.0;
  return etx_log1p_f64(t + etx_sqrt_f64(t * (t + 2.0)));
}

double etx_atanh_f64(double x) {
  const double a = etx_abs_f64(x);
  if (x != x || x == 0) return x;
  if (a > 1.0) return __builtin_nan("");
  return etx_with_sign_f64(0.5 * etx_log1p_f64(2.0 * a / (1.0 - a)), x);
}

double etx_log_of_1_exp_f64(double x) {
  if (x != x) return x;
  const double rest = etx_log1p_f64(etx_exp_f64(-etx_abs_f64(x)));
  return x > 0 ? x + rest : rest;
}

double etx_xlogy_f64(double x, double y) {
  if (y != y) return y;
  return x == 0 ? 0 : x * etx_log_f64(y);
}
