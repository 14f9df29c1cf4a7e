// The modified Bessel functions of the first kind, of order 0 and 1.

#include "runtime/kernels/math/math_functions.h"

// e^-x I(order, x) for x >= 0. The terms of the series all have one sign; those
// of the asymptotic one, for x > 30, fall below 1e-17 before they grow.
static double scaled(double order, double x) {
  if (x > 30.0) {
    double term = 1.0;
    double sum = 1.0;
    for (double k = 1.0; k < 40.0; k += 1.0) {
      const double odd = 2.0 * k - 1.0;
      term *= (odd * odd - 4.0 * order * order) / (8.0 * k * x);
      sum += term;
      if (etx_abs_f64(term) < 1e-17) break;
    }
    return sum * 0.3989422804014327 / etx_sqrt_f64(x);
  }
  const double z = 0.25 * x * x;
  double term = order == 0.0 ? 1.0 : 0.5 * x;
  double sum = term;
  for (double k = 1.0; term > 1e-17 * sum; k += 1.0) {
    term *= z / (k * (k + order));
    sum += term;
  }
  return sum * etx_exp_f64(-x);
}

double etx_i0e_f64(double x) { return scaled(0.0, etx_abs_f64(x)); }

double etx_i1e_f64(double x) {
  return etx_with_sign_f64(scaled(1.0, etx_abs_f64(x)), x);
}

// e^x overflows before the product does.
static double unscaled(double value, double x) {
  const double half = etx_exp_f64(0.5 * etx_abs_f64(x));
  return value * half * half;
}

double etx_i0_f64(double x) { return unscaled(etx_i0e_f64(x), x); }

double etx_i1_f64(double x) { return unscaled(etx_i1e_f64(x), x); }
