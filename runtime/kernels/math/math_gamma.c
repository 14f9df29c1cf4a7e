// The logarithm of the gamma function, its derivatives, and the zeta function.

#include <math.h>

#include "runtime/kernels/math/math_functions.h"

#define PI 3.1415926535897931

// lgamma(1 + t) for 0 <= t <= 1: t (t - 1) times a polynomial in 2t - 1, fitted
// to 2e-19 of itself.
static double lgamma_near_one(double t) {
  static const double terms[] = {
      1.2170358219385591e-12,  -3.8008085820640627e-12, 4.8921858261252854e-12,
      -1.5410479069560223e-11, 6.615691316451458e-11,   -2.0871311005452823e-10,
      6.3530176008457512e-10,  -2.0169895658268907e-09, 6.4480437525219011e-09,
      -2.0620995364628568e-08, 6.6229261120051646e-08,  -2.138632494418463e-07,
      6.9484607899472725e-07,  -2.2742474054826674e-06, 7.5113911543279285e-06,
      -2.5094328669818344e-05, 8.5100903822665391e-05,  -0.00029455070151955953,
      0.0010498186644491197,   -0.0039135609376261867,  0.015727850268641235,
      -0.072979947957153043,   0.48312895054098089};
  const double u = 2.0 * t - 1.0;
  double p = terms[0];
  for (size_t i = 1; i < sizeof(terms) / sizeof(terms[0]); ++i) {
    p = p * u + terms[i];
  }
  return t * (t - 1.0) * p;
}

// For x >= 0.
static double lgamma_positive(double x) {
  if (x < 1.0) return lgamma_near_one(x) - etx_log_f64(x);
  if (x <= 2.0) return lgamma_near_one(x - 1.0);
  if (x < 10.0) {
    // Gamma(x) = (x - 1) (x - 2) .. Gamma(x - n), with x - n in [1, 2).
    double product = 1.0;
    while (x >= 2.0) {
      x -= 1.0;
      product *= x;
    }
    return lgamma_near_one(x - 1.0) + etx_log_f64(product);
  }
  if (x > 1e18) return x * (etx_log_f64(x) - 1.0);
  // Stirling's series.
  const double z = 1.0 / (x * x);
  double p = -0.0013924322169059011;
  p = p * z + 0.0064102564102564103;
  p = p * z - 0.0019175269175269176;
  p = p * z + 0.00084175084175084171;
  p = p * z - 0.00059523809523809529;
  p = p * z + 0.00079365079365079365;
  p = p * z - 0.0027777777777777779;
  p = p * z + 0.083333333333333329;
  return (x - 0.5) * etx_log_f64(x) - x + 0.91893853320467278 + p / x;
}

// sin(PI x), which is exact where x is a whole number.
static double sin_of_turns(double x) {
  const double whole = etx_round_f64(x);
  const double part = etx_sin_f64(PI * (x - whole));
  return etx_fmod_f64(whole, 2.0) == 0.0 ? part : -part;
}

double etx_lgamma_f64(double x) {
  if (x != x) return x;
  const double a = etx_abs_f64(x);
  if (a > 1.7e308) return (double)INFINITY;
  if (x > 0.0) return lgamma_positive(x);
  if (a < 1e-300) return a == 0.0 ? (double)INFINITY : -etx_log_f64(a);
  const double sine = etx_abs_f64(sin_of_turns(a));
  if (sine == 0.0) return (double)INFINITY;
  return etx_log_f64(PI / (a * sine)) - lgamma_positive(a);
}

double etx_digamma_f64(double x) {
  if (x == 0.0) return etx_with_sign_f64((double)INFINITY, -x);
  double result = 0.0;
  if (x < 0.0) {
    // digamma(1 - x) - PI / tan(PI x); NaN at the poles.
    const double part = x - etx_round_f64(x);
    if (part == 0.0 || x < -1.7e308) return (double)NAN;
    result = -PI / etx_tan_f64(PI * part);
    x = 1.0 - x;
  }
  while (x < 10.0) {
    result -= 1.0 / x;
    x += 1.0;
  }
  if (x > 1e17) return result + etx_log_f64(x);
  const double z = 1.0 / (x * x);
  double p = 0.083333333333333329;
  p = p * z - 0.021092796092796094;
  p = p * z + 0.0075757575757575760;
  p = p * z - 0.0041666666666666666;
  p = p * z + 0.0039682539682539680;
  p = p * z - 0.0083333333333333332;
  p = p * z + 0.083333333333333329;
  return result + etx_log_f64(x) - 0.5 / x - z * p;
}

// The sum of (q + k)^-x over k >= 0, by the Euler-Maclaurin formula. Numbers q
// below 0 have a sum only for whole x.
double etx_zeta_f64(double x, double q) {
  // 2k! / B(2k), the divisors of the formula's terms.
  static const double divisors[] = {12.0,
                                    -720.0,
                                    30240.0,
                                    -1209600.0,
                                    47900160.0,
                                    -1892437580.3183791,
                                    74724249600.0,
                                    -2950130727918.1642,
                                    116467828143500.67,
                                    -4597978722407472.6,
                                    1.8152105401943546e17,
                                    -7.1661652561756672e18};
  if (x != x || q != q || x < 1.0) return (double)NAN;
  if (x == 1.0) return (double)INFINITY;
  if (q <= 0.0) {
    if (q == etx_floor_f64(q)) return (double)INFINITY;
    if (x != etx_floor_f64(x)) return (double)NAN;
  }
  // One step for each whole number between q and 0.
  if (q < -1e6) return (double)NAN;
  double sum = 0.0;
  double base = q;
  for (int k = 0; k < 9 || base <= 9.0; ++k) {
    const double term = etx_pow_f64(base, -x);
    sum += term;
    if (base > 0.0 && term < 1e-17 * sum) return sum;
    base += 1.0;
  }
  double term = etx_pow_f64(base, -x);
  sum += term * base / (x - 1.0) + 0.5 * term;
  double factor = 1.0;
  for (size_t i = 0; i < sizeof(divisors) / sizeof(divisors[0]); ++i) {
    const double k = 2.0 * (double)i;
    factor *= x + k;
    term /= base;
    const double next = factor * term / divisors[i];
    sum += next;
    if (etx_abs_f64(next) <= 1e-17 * etx_abs_f64(sum)) break;
    factor *= x + k + 1.0;
    term /= base;
  }
  return sum;
}
