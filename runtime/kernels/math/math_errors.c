// The error function of doubles, functions of it and their inverses.

#include <math.h>

#include "runtime/kernels/math/math_functions.h"

// erf(x) for |x| <= 1, to 7e-18 of itself.
static double erf_near_zero(double x) {
  const double z = x * x;
  double p = -7.7794629717615971e-10;
  p = p * z + 1.3710988704190523e-08;
  p = p * z - 1.6206318752969208e-07;
  p = p * z + 1.6447132699786621e-06;
  p = p * z - 1.4924712439534814e-05;
  p = p * z + 0.0001205529358693695;
  p = p * z - 0.00085483259297662443;
  p = p * z + 0.005223977606130842;
  p = p * z - 0.026866170643113415;
  p = p * z + 0.112837916709442;
  p = p * z - 0.37612638903183521;
  p = p * z + 1.1283791670955126;
  return x * p;
}

// (1 + 2x) e^(x^2) erfc(x) for 1 <= x <= 28, which is nearly constant, fitted
// over t = (x - 3)/(x + 3) to 2e-18.
static double erfc_factor(double x) {
  const double t = (x - 3.0) / (x + 3.0);
  double p = -3.1324175423912656e-08;
  p = p * t + 1.6618248888919197e-07;
  p = p * t - 1.012640647258148e-07;
  p = p * t - 6.9721321992147111e-07;
  p = p * t + 3.6523746068886114e-07;
  p = p * t + 3.5104542967189788e-06;
  p = p * t - 7.4474405027630253e-07;
  p = p * t - 2.0109858507493045e-05;
  p = p * t + 4.9543030847512283e-06;
  p = p * t + 0.00012510061921705882;
  p = p * t - 0.00010516069525624602;
  p = p * t - 0.00077983236760171951;
  p = p * t + 0.001888690453473093;
  p = p * t + 0.0025293918197709861;
  p = p * t - 0.023770514924178501;
  p = p * t + 0.068308027343909325;
  p = p * t - 0.11927366341514606;
  p = p * t + 0.12964515870276158;
  p = p * t - 0.047562294353452592;
  p = p * t - 0.13562110612458117;
  return p * t + 1.2530080582697296;
}

// erfc(x) for x >= 1.
static double erfc_away(double x) {
  if (x > 28.0) return 0.0;
  // x^2 in two parts: its rounding error would be amplified by the exponential.
  const double upper =
      etx_f64_of_bits(etx_bits_of_f64(x) & ~UINT64_C(0x7ffffff));
  const double rest = (x - upper) * (x + upper);
  return etx_exp_of_double_double_f64(-upper * upper, -rest) * erfc_factor(x) /
         (1.0 + 2.0 * x);
}

double etx_erf_f64(double x) {
  const double a = etx_abs_f64(x);
  if (x != x) return x;
  if (a <= 1.0) return erf_near_zero(x);
  return etx_with_sign_f64(1.0 - erfc_away(a), x);
}

double etx_erfc_f64(double x) {
  if (x != x) return x;
  if (etx_abs_f64(x) <= 1.0) return 1.0 - erf_near_zero(x);
  return x > 0 ? erfc_away(x) : 2.0 - erfc_away(-x);
}

double etx_erfcx_f64(double x) {
  if (x != x) return x;
  if (x > 28.0) {
    // The asymptotic series.
    const double inverse = 1.0 / x;
    const double z = 0.5 * inverse * inverse;
    double p = 10395.0;
    p = p * z - 945.0;
    p = p * z + 105.0;
    p = p * z - 15.0;
    p = p * z + 3.0;
    p = p * z - 1.0;
    return 0.56418958354775628 * inverse * (1.0 + z * p);
  }
  if (x >= 1.0) return erfc_factor(x) / (1.0 + 2.0 * x);
  if (x < -27.0) return (double)INFINITY;
  // The rounding error of x^2 would be amplified by the exponential.
  const double upper =
      etx_f64_of_bits(etx_bits_of_f64(x) & ~UINT64_C(0x7ffffff));
  const double rest = (x - upper) * (x + upper);
  const double power = etx_exp_of_double_double_f64(upper * upper, rest);
  if (x >= -1.0) return power * (1.0 - erf_near_zero(x));
  return 2.0 * power - erfc_factor(-x) / (1.0 - 2.0 * x);
}

// The y >= 0 whose erfc(y) is q, for 0 < q <= 1: an estimate, which three steps
// of Halley's method make exact, since each triples its correct digits.
static double erfc_inverse(double q) {
  const double w = etx_sqrt_f64(-etx_log_f64(q * (2.0 - q)));
  double y = w * (0.886 + w * (0.14 - 0.012 * w));
  if (w > 1.5) y = etx_sqrt_f64(etx_abs_f64(w * w - etx_log_f64(w * 1.7725)));
  for (int step = 0; step < 4; ++step) {
    // e^(y^2) may overflow where its product with q does not.
    const double root = etx_exp_f64(0.5 * y * y);
    const double f = etx_erfcx_f64(y) - q * root * root;
    const double ratio = f / 1.1283791670955126;
    y = y + ratio / (1.0 - y * ratio);
  }
  return y;
}

double etx_erfinv_f64(double x) {
  const double a = etx_abs_f64(x);
  if (!(a < 1.0)) return a == 1.0 ? x * (double)INFINITY : (double)NAN;
  if (a > 0.5) return etx_with_sign_f64(erfc_inverse(1.0 - a), x);
  double y = x * (0.88622692545275805 + 0.2320136665346545 * x * x);
  for (int step = 0; step < 3; ++step) {
    const double ratio =
        (erf_near_zero(y) - x) * etx_exp_f64(y * y) / 1.1283791670955126;
    y = y - ratio / (1.0 + y * ratio);
  }
  return y;
}

double etx_ndtri_f64(double p) {
  if (!(p > 0.0 && p < 1.0)) {
    if (p == 0.0) return -(double)INFINITY;
    return p == 1.0 ? (double)INFINITY : (double)NAN;
  }
  if (p >= 0.25 && p <= 0.75) {
    return 1.4142135623730951 * etx_erfinv_f64(2.0 * p - 1.0);
  }
  const double y =
      1.4142135623730951 * erfc_inverse(p < 0.5 ? 2.0 * p : 2.0 * (1.0 - p));
  return p < 0.5 ? -y : y;
}

double etx_gelu_f64(double x) {
  const double factor = etx_erfc_f64(-0.70710678118654757 * x);
  // Minus infinity times 0 would be NaN.
  return factor == 0 ? 0.0 * (x < 0 ? -1.0 : 1.0) : 0.5 * x * factor;
}

double etx_gelu_tanh_f64(double x) {
  if (x < -1e4) return -0.0;
  if (x > 1e4) return x;
  const double y = 1.5957691216057308 * (x + 0.044715 * (x * x * x));
  return x / (1.0 + etx_exp_f64(-y));
}
