// Exponential and hyperbolic functions of doubles.
//
// x = n log 2 + r with |r| <= log(2)/2. The multiple of log 2 is taken off in
// two parts, of which the first has 32 bits, so that n times it is exact; what
// rounding leaves is carried along. e^r - 1 is then a fitted polynomial.

#include "runtime/kernels/math_exponentials.h"

#include "runtime/kernels/math_functions.h"

// (e^r - 1 - r) / r^2, to 3e-19 of (e^r - 1)/r^2 r. In pairs, which do not wait
// for each other.
static double exponential_tail(double r) {
  const double r2 = r * r, r4 = r2 * r2;
  const double a = 0.16666666666666677 * r + 0.5;
  const double b = 0.0083333333333206541 * r + 0.041666666666666706;
  const double c = 0.00019841269888892543 * r + 0.0013888888888865009;
  const double d = 2.7557241164478631e-06 * r + 2.4801587364179767e-05;
  const double e = 2.5110178740471095e-08 * r + 2.7557239661640402e-07;
  const double f = e + r2 * 2.092539966171763e-09;
  return (a + r2 * b) + r4 * ((c + r2 * d) + r4 * f);
}

// 2^n for -1022 <= n <= 1023.
static double power_of_two(int64_t n) {
  return etx_f64_of_bits((uint64_t)(n + 1023) << 52);
}

typedef struct reduced {
  int64_t n;
  double p;  // e^r - 1
} reduced;

// `x` is finite and |x| < 2000; `low` is small beside 1.
static reduced reduce(double x, double low) {
  const double n = etx_round_f64(x * 1.4426950408889634);
  const double high = x - n * 0.69314718036912382;
  const double rest = n * 1.9082149292705877e-10 - low;
  const double r = high - rest;
  const double lost = (high - r) - rest;
  const reduced result = {(int64_t)n, r + (lost + r * r * exponential_tail(r))};
  return result;
}

// (1 + p) 2^n in two factors, so that overflow and underflow happen by
// themselves.
static double scale(double power, int64_t n) {
  if (n > -1000 && n < 1000) return power * power_of_two(n);
  const int64_t half = n / 2;
  return power * power_of_two(half) * power_of_two(n - half);
}

double etx_exp_of_pair_f64(double x, double low) {
  if (x != x) return x;
  if (x > 1000.0) return __builtin_inf();
  if (x < -1000.0) return 0.0;
  const reduced e = reduce(x, low);
  return scale(1.0 + e.p, e.n);
}

double etx_exp_f64(double x) { return etx_exp_of_pair_f64(x, 0.0); }

double etx_exp2_f64(double x) {
  if (x != x) return x;
  if (x > 1100.0) return __builtin_inf();
  if (x < -1100.0) return 0.0;
  const double n = etx_round_f64(x);
  const double r = (x - n) * 0.69314718055994529;
  return scale(1.0 + (r + r * r * exponential_tail(r)), (int64_t)n);
}

// 2^n p + (2^n - 1), halved on the way so that 2^1024 is not needed.
double etx_expm1_f64(double x) {
  if (x != x || x == 0) return x;
  if (x > 710.0) return __builtin_inf();
  if (x < -50.0) return -1.0;
  const reduced e = reduce(x, 0.0);
  const double half = power_of_two(e.n - 1);
  return 2.0 * (half * e.p + (half - 0.5));
}

// e^|x| / 2, finite where the result of sinh and cosh is.
static double half_exp(double magnitude) {
  if (magnitude > 720.0) return __builtin_inf();
  const reduced e = reduce(magnitude, 0.0);
  return scale(1.0 + e.p, e.n - 1);
}

double etx_sinh_f64(double x) {
  const double magnitude = etx_abs_f64(x);
  if (x != x || x == 0) return x;
  if (magnitude < 1.0) {
    const double e = etx_expm1_f64(magnitude);
    return etx_with_sign_f64(0.5 * (e + e / (e + 1.0)), x);
  }
  const double half = half_exp(magnitude);
  return etx_with_sign_f64(half - 0.25 / half, x);
}

double etx_cosh_f64(double x) {
  if (x != x) return x;
  const double half = half_exp(etx_abs_f64(x));
  return half + 0.25 / half;
}

double etx_tanh_f64(double x) {
  const double magnitude = etx_abs_f64(x);
  if (x != x || x == 0) return x;
  if (magnitude > 22.0) return etx_with_sign_f64(1.0, x);
  const double e = etx_expm1_f64(2.0 * magnitude);
  return etx_with_sign_f64(e / (e + 2.0), x);
}

double etx_sigmoid_f64(double x) { return 1.0 / (1.0 + etx_exp_f64(-x)); }
