// x^y = e^(y log x). An error in log x is multiplied by up to 700, so the
// logarithm is a pair of doubles (double_double.h).

#include "runtime/kernels/math/math_functions.h"
#include "runtime/kernels/math/math_logarithms.h"
#include "runtime/kernels/math/double_double.h"

static const double infinity = __builtin_inf();

// log x with a relative error of 2e-19; `x` is positive and finite.
static etx_double_double log_pair(double x) {
  const etx_split split = etx_split_of_f64(x);
  const etx_double_double difference = {split.m - 1.0, 0.0};
  const etx_double_double sum = etx_double_double_of_ordered_sum(
      split.m >= 1.0 ? split.m : 1.0, split.m >= 1.0 ? 1.0 : split.m);
  const etx_double_double s = etx_double_double_divide(difference, sum);
  const etx_double_double z = etx_double_double_multiply(s, s);
  // artanh(s) / s = 1 + z/3 + z^2 (1/5 + z/7 + ...): the first two as pairs.
  double p = 1.0 / 25;
  p = p * z.high + 1.0 / 23;
  p = p * z.high + 1.0 / 21;
  p = p * z.high + 1.0 / 19;
  p = p * z.high + 1.0 / 17;
  p = p * z.high + 1.0 / 15;
  p = p * z.high + 1.0 / 13;
  p = p * z.high + 1.0 / 11;
  p = p * z.high + 1.0 / 9;
  p = p * z.high + 1.0 / 7;
  p = p * z.high + 1.0 / 5;
  const etx_double_double third = {0.33333333333333331, 1.8503717077085941e-17};
  etx_double_double factor = etx_double_double_multiply(z, third);
  factor = etx_double_double_of_ordered_sum(factor.high,
                                            factor.low + z.high * z.high * p);
  const etx_double_double one =
      etx_double_double_of_ordered_sum(1.0, factor.high);
  const etx_double_double ratio =
      etx_double_double_of_ordered_sum(one.high, one.low + factor.low);
  const etx_double_double log_m = etx_double_double_multiply(s, ratio);
  // e log 2: the first part is exact.
  const double high = split.e * 0.69314718036912382;
  const etx_double_double low =
      etx_double_double_of_product(split.e, 1.9082149292705877e-10);
  if (split.e == 0) {
    const etx_double_double result = {2.0 * log_m.high, 2.0 * log_m.low};
    return result;
  }
  const etx_double_double head =
      etx_double_double_of_ordered_sum(high, 2.0 * log_m.high);
  const etx_double_double body =
      etx_double_double_of_ordered_sum(head.high, head.low + low.high);
  return etx_double_double_of_ordered_sum(
      body.high, body.low + (low.low + 2.0 * log_m.low));
}

// (-1)^y: 1, -1, or 0 if y is not an integer.
static double sign_of_power(double y) {
  if (etx_abs_f64(y) >= 9007199254740992.0) return 1;  // even
  if (etx_trunc_f64(y) != y) return 0;
  return ((int64_t)y & 1) != 0 ? -1 : 1;
}

// a >= 0; neither a nor y is NaN.
static double power_of_magnitude(double a, double y) {
  if (a == 1) return 1;
  if (a == 0 || a == infinity) return (a == 0) == (y > 0) ? 0 : infinity;
  if (etx_abs_f64(y) > 1e300) return (a > 1) == (y > 0) ? infinity : 0;
  const etx_double_double log_a = log_pair(a);
  // Beyond this all results are infinite or 0, and the product could overflow.
  if (etx_abs_f64(y * log_a.high) > 1000.0) {
    return (a > 1) == (y > 0) ? infinity : 0;
  }
  // Below it e^(y log a) is 1, and the product could underflow.
  if (etx_abs_f64(y * log_a.high) < 1e-20) return 1;
  const etx_double_double product = etx_double_double_of_product(y, log_a.high);
  return etx_exp_of_double_double_f64(product.high,
                                      product.low + y * log_a.low);
}

double etx_pow_f64(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (x != x || y != y) return x + y;
  if (y == 1) return x;
  if (y == 2) return x * x;
  const double a = etx_abs_f64(x);
  const double magnitude = power_of_magnitude(a, y);
  if (etx_bits_of_f64(x) >> 63 == 0) return magnitude;
  const double sign = sign_of_power(y);
  if (sign != 0) return sign < 0 ? -magnitude : magnitude;
  return a == 0 || a == infinity ? magnitude : __builtin_nan("");
}

int64_t etx_pow_i64(int64_t base, int64_t exponent) {
  if (exponent < 0) {
    if (base == 1) return 1;
    if (base != -1) return 0;
    return (exponent & 1) != 0 ? -1 : 1;
  }
  uint64_t result = 1, factor = (uint64_t)base;
  for (uint64_t left = (uint64_t)exponent; left != 0; left >>= 1) {
    if ((left & 1) != 0) result *= factor;
    factor *= factor;
  }
  return (int64_t)result;
}
