// Inverse trigonometric functions of doubles: a polynomial near 0, and
// identities that reduce arguments to it.

#include "runtime/kernels/math/math_functions.h"

static const double half_pi = 1.5707963267948966;
static const double half_pi_low = 6.123233995736766e-17;

// asin(s) for |s| <= 0.5.
static double asin_near_zero(double s, double z) {
  double p = 0.031958881131543784;
  p = p * z - 0.016293939288412607;
  p = p * z + 0.019573811424436365;
  p = p * z + 0.0065108922683001407;
  p = p * z + 0.012173269040436592;
  p = p * z + 0.013884600276276414;
  p = p * z + 0.017359770893216993;
  p = p * z + 0.022371753540277008;
  p = p * z + 0.030381959330369211;
  p = p * z + 0.044642856823510699;
  p = p * z + 0.075000000003429976;
  p = p * z + 0.16666666666665383;
  return s + s * z * p;
}

// acos(x) = 2 asin(sqrt((1 - x)/2)), for 0.5 < x <= 1.
static double acos_near_one(double x) {
  const double z = 0.5 * (1.0 - x);
  return 2.0 * asin_near_zero(etx_sqrt_f64(z), z);
}

double etx_asin_f64(double x) {
  const double a = etx_abs_f64(x);
  if (!(a <= 1.0)) return __builtin_nan("");
  if (a <= 0.5) return asin_near_zero(x, x * x);
  return etx_with_sign_f64(half_pi - (acos_near_one(a) - half_pi_low), x);
}

double etx_acos_f64(double x) {
  const double a = etx_abs_f64(x);
  if (!(a <= 1.0)) return __builtin_nan("");
  if (a <= 0.5) return half_pi - (asin_near_zero(x, x * x) - half_pi_low);
  const double near = acos_near_one(a);
  return x > 0 ? near : 2.0 * half_pi - (near - 2.0 * half_pi_low);
}

// atan(t) for |t| <= tan(pi/8).
static double atan_near_zero(double t) {
  const double z = t * t;
  double p = -0.017920951293293963;
  p = p * z + 0.038077144975822298;
  p = p * z - 0.050398007918527866;
  p = p * z + 0.058479993714795828;
  p = p * z - 0.066631191297181258;
  p = p * z + 0.076920615324229419;
  p = p * z - 0.090908978309205871;
  p = p * z + 0.111111107859598;
  p = p * z - 0.14285714280245282;
  p = p * z + 0.19999999999954055;
  p = p * z - 0.33333333333333198;
  return t + t * z * p;
}

// atan(y/x) for y and x not negative, neither NaN, not both 0 or infinite.
static double angle(double y, double x) {
  // tan(pi/8) and tan(3 pi/8) separate three ranges.
  if (y <= 0.41421356237309503 * x) return atan_near_zero(y / x);
  if (y >= 2.4142135623730949 * x) {
    return half_pi - (atan_near_zero(x / y) - half_pi_low);
  }
  const double t = (y - x) / (y + x);
  return 0.5 * half_pi + (atan_near_zero(t) + 0.5 * half_pi_low);
}

double etx_atan_f64(double x) {
  if (x != x || x == 0) return x;
  return etx_with_sign_f64(angle(etx_abs_f64(x), 1.0), x);
}

double etx_atan2_f64(double y, double x) {
  double a = etx_abs_f64(y), b = etx_abs_f64(x);
  if (x != x || y != y) return x + y;
  if (a == 0 && b == 0) b = 1.0;
  if (a == b && a == __builtin_inf()) a = b = 1.0;
  // Scaling avoids overflow and denormals in sums and products.
  if (a > 1e300 || b > 1e300) {
    a *= 0.0625;
    b *= 0.0625;
  } else if (a < 1e-290 && b < 1e-290) {
    a *= 18014398509481984.0;  // 2^54
    b *= 18014398509481984.0;
  }
  const double first = angle(a, b);
  const double result = etx_bits_of_f64(x) >> 63 == 0
                            ? first
                            : 2.0 * half_pi - (first - 2.0 * half_pi_low);
  return etx_with_sign_f64(result, y);
}
