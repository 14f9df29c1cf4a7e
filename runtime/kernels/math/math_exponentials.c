// Exponential and hyperbolic functions of doubles, from the parts of
// math_f64.h.

#include "runtime/kernels/math/math_functions.h"

double etx_exp2_f64(double x) {
  if (x != x) return x;
  if (x > 1100.0) return __builtin_inf();
  if (x < -1100.0) return 0.0;
  const double n = etx_round_f64(x);
  const double r = (x - n) * 0.69314718055994529;
  return etx_scale_f64(1.0 + (r + r * r * etx_exp_tail_f64(r)), n);
}

// 2^n p + (2^n - 1), computed as a half, so that 2^1024 is not needed.
double etx_expm1_f64(double x) {
  if (x != x || x == 0) return x;
  if (x > 710.0) return __builtin_inf();
  if (x < -50.0) return -1.0;
  const etx_reduced_f64 e = etx_exp_reduce_f64(x, 0.0);
  const double half = etx_power_of_two_f64(e.n - 1.0);
  return 2.0 * (half * e.p + (half - 0.5));
}

// e^|x| / 2, finite where the result of sinh and cosh is.
static double half_exp(double magnitude) {
  if (magnitude > 720.0) return __builtin_inf();
  const etx_reduced_f64 e = etx_exp_reduce_f64(magnitude, 0.0);
  return etx_scale_f64(1.0 + e.p, e.n - 1.0);
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
