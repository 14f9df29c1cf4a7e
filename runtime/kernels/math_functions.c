// The functions that need a branch or a table. Floats are computed in double
// where that makes the result correct without care; these are not on the hot
// path of any model so far.

#include "runtime/kernels/math_functions.h"

static const double infinity = __builtin_inf();

// x = n log 2 + r; a Taylor polynomial to r^13 leaves 5e-18.
double etx_exp_f64(double x) {
  x = x > 710.0 ? 710.0 : x;
  x = x < -760.0 ? -760.0 : x;
  if (x != x) return x;
  const double n = etx_round_f64(x * 1.4426950408889634);
  const double high = x - n * 0.69314718036912382;
  const double r = high - n * 1.9082149292705877e-10;
  double q = 1.6059043836821613e-10;
  q = q * r + 2.08767569878681e-09;
  q = q * r + 2.505210838544172e-08;
  q = q * r + 2.755731922398589e-07;
  q = q * r + 2.7557319223985893e-06;
  q = q * r + 2.48015873015873e-05;
  q = q * r + 0.0001984126984126984;
  q = q * r + 0.001388888888888889;
  q = q * r + 0.008333333333333333;
  q = q * r + 0.041666666666666664;
  q = q * r + 0.16666666666666666;
  q = q * r + 0.5;
  const double power = 1.0 + (r + r * r * q);
  const int64_t whole = (int64_t)n;
  const int64_t half = whole / 2;
  const double first = etx_f64_of_bits((uint64_t)(half + 1023) << 52);
  const double second = etx_f64_of_bits((uint64_t)(whole - half + 1023) << 52);
  return power * first * second;
}

// log x = e log 2 + 2 artanh(s), s = (m - 1)/(m + 1), m in [0.71, 1.42).
double etx_log_f64(double x) {
  if (x != x || x == infinity) return x;
  if (x <= 0) return x == 0 ? -infinity : (x - x) / (x - x);
  int64_t exponent = 0;
  if (x < 2.2250738585072014e-308) {
    x *= 18014398509481984.0;  // 2^54
    exponent = -54;
  }
  uint64_t bits = etx_bits_of_f64(x);
  // The bits of sqrt(1/2) split the interval where m wraps.
  const uint64_t shifted = bits - UINT64_C(0x3fe6a09e667f3bcd);
  const int64_t step =
      (int64_t)(shifted >> 52) - ((shifted >> 63) != 0 ? 4096 : 0);
  exponent += step;
  bits -= (uint64_t)step << 52;
  const double m = etx_f64_of_bits(bits);
  const double f = m - 1.0;
  const double s = f / (m + 1.0);
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
  const double tail = s * z * p - s * f;
  const double e = (double)exponent;
  return e * 0.69314718036912382 + (f + (tail + e * 1.9082149292705877e-10));
}

// Bits of 2/pi, most significant first, behind one word of zeros so that an
// offset may be negative.
static const uint32_t two_over_pi[] = {
    0x00000000, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0,
    0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561,
};

// For |x| >= 2^19: x = m 2^e with a whole m, so x 2/pi modulo 4 is m times 128
// bits of 2/pi, taken from where their weight is 2.
static double reduce_large(float x, unsigned* out_quadrant) {
  const uint32_t bits = etx_bits_of_f32(x);
  const uint32_t m = (bits & 0x7fffff) | 0x800000;
  const int e = (int)((bits >> 23) & 255) - 150;
  const unsigned start = (unsigned)(32 + e - 2);
  uint32_t product[4];
  uint64_t carry = 0;
  for (unsigned i = 4; i-- > 0;) {
    const unsigned at = start + 32 * i;
    const uint64_t pair =
        (uint64_t)two_over_pi[at / 32] << 32 | two_over_pi[at / 32 + 1];
    const uint32_t word = (uint32_t)((pair << (at % 32)) >> 32);
    carry += (uint64_t)word * m;
    product[i] = (uint32_t)carry;
    carry >>= 32;
  }
  const uint64_t top = (uint64_t)product[0] << 32 | product[1];
  const uint64_t low = (uint64_t)product[2];
  const uint64_t fraction = top << 2 | low >> 30;  // in units of 2^-64
  unsigned quadrant = (unsigned)(top >> 62);
  double part = (double)fraction * 5.421010862427522e-20;
  if (fraction >> 63 != 0) {
    part = -(double)(0 - fraction) * 5.421010862427522e-20;
    ++quadrant;
  }
  *out_quadrant = quadrant & 3;
  return part * 1.5707963267948966;
}

// |x| = quadrant pi/2 + result, |result| <= pi/4.
static double reduce(float x, unsigned* out_quadrant) {
  const float magnitude = etx_abs_f32(x);
  if (magnitude >= 524288.0f) return reduce_large(magnitude, out_quadrant);
  const double n = etx_round_f64((double)magnitude * 0.6366197723675814);
  *out_quadrant = (unsigned)(int64_t)n & 3;
  // pi/2 in two parts; the first has 33 bits, so n times it is exact.
  return ((double)magnitude - n * 1.57079632673412561417) -
         n * 6.07710050650619224932e-11;
}

static double sin_near_zero(double r) {
  const double z = r * r;
  double p = -2.505210838544172e-08;
  p = p * z + 2.7557319223985893e-06;
  p = p * z - 0.0001984126984126984;
  p = p * z + 0.008333333333333333;
  p = p * z - 0.16666666666666666;
  return r + r * z * p;
}

static double cos_near_zero(double r) {
  const double z = r * r;
  double p = 2.08767569878681e-09;
  p = p * z - 2.755731922398589e-07;
  p = p * z + 2.48015873015873e-05;
  p = p * z - 0.001388888888888889;
  p = p * z + 0.041666666666666664;
  p = p * z - 0.5;
  return 1.0 + z * p;
}

static double sin_of_quadrant(double r, unsigned quadrant) {
  const double value =
      (quadrant & 1) != 0 ? cos_near_zero(r) : sin_near_zero(r);
  return (quadrant & 2) != 0 ? -value : value;
}

float etx_sin_f32(float x) {
  if (!(etx_abs_f32(x) < etx_f32_of_bits(0x7f800000))) return x - x;
  if (x == 0) return x;
  unsigned quadrant;
  const double r = reduce(x, &quadrant);
  const float value = (float)sin_of_quadrant(r, quadrant);
  return x < 0 ? -value : value;
}

float etx_cos_f32(float x) {
  if (!(etx_abs_f32(x) < etx_f32_of_bits(0x7f800000))) return x - x;
  unsigned quadrant;
  const double r = reduce(x, &quadrant);
  return (float)sin_of_quadrant(r, quadrant + 1);
}

// Below 1 a polynomial in x^2 (8e-13), above 1 - e^(-x^2) p(t), t = 1/(1 +
// x/2), both fitted (2.4e-10).
float etx_erf_f32(float x) {
  const double a = etx_abs_f64(x);
  if (a < 1.0) {
    const double z = a * a;
    double p = 1.0601175137736618e-06;
    p = p * z - 1.39140602781751e-05;
    p = p * z + 0.00011957330083406034;
    p = p * z - 0.0008542702988760704;
    p = p * z + 0.0052237865264267444;
    p = p * z - 0.026866134012146985;
    p = p * z + 0.11283791318332337;
    p = p * z - 0.3761263889009948;
    p = p * z + 1.1283791670947123;
    return (float)((double)x * p);
  }
  if (a > 4.5) return x > 0 ? 1.0f : -1.0f;
  if (a != a) return x;
  const double t = 1.0 / (1.0 + 0.5 * a);
  double p = -0.0509648521;
  p = p * t + 0.339658089;
  p = p * t - 0.876853338;
  p = p * t + 0.973877416;
  p = p * t - 0.34806723;
  p = p * t + 0.431345711;
  p = p * t + 0.245831105;
  p = p * t + 0.2851731;
  const double value = 1.0 - etx_exp_f64(-a * a) * (p * t);
  return (float)(x > 0 ? value : -value);
}

// The sign that y gives to (-1)^y: 0 if y is not whole.
static double sign_of_power(double y) {
  if (etx_abs_f64(y) >= 9007199254740992.0) return 1;  // even
  if (etx_trunc_f64(y) != y) return 0;
  return ((int64_t)y & 1) != 0 ? -1 : 1;
}

double etx_pow_f64(double x, double y) {
  if (y == 0 || x == 1) return 1;
  if (x != x || y != y) return x + y;
  if (y == 1) return x;
  if (y == 2) return x * x;
  const double a = etx_abs_f64(x);
  if (etx_abs_f64(y) == infinity) {
    if (a == 1) return 1;
    return (a > 1) == (y > 0) ? infinity : 0;
  }
  const double magnitude = etx_exp_f64(y * etx_log_f64(a));
  if (etx_bits_of_f64(x) >> 63 == 0) return magnitude;
  const double sign = sign_of_power(y);
  if (sign == 0) return a == 0 || a == infinity ? magnitude : (x - x) / 0.0;
  return sign < 0 ? -magnitude : magnitude;
}

float etx_pow_f32(float x, float y) {
  if (y == 2) return x * x;
  if (y == 0.5f && x > 0) return etx_sqrt_f32(x);
  return (float)etx_pow_f64(x, y);
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

// x = m 2^(e - 1075) with the top bit of 53 set; x is positive and finite.
static uint64_t whole_mantissa(double x, int64_t* out_exponent) {
  const uint64_t bits = etx_bits_of_f64(x);
  int64_t exponent = (int64_t)(bits >> 52);
  uint64_t m = bits & UINT64_C(0xfffffffffffff);
  if (exponent > 0) {
    m |= UINT64_C(1) << 52;
  } else {
    for (exponent = 1; m < UINT64_C(1) << 52; --exponent) m <<= 1;
  }
  *out_exponent = exponent;
  return m;
}

// Long division in binary: subtracts y 2^k for falling k. Exact, because each
// partial remainder is representable. Works on whole mantissas.
double etx_fmod_f64(double x, double y) {
  const double a = etx_abs_f64(x), b = etx_abs_f64(y);
  if (!(a < infinity) || y != y || b == 0) return (x - x) / (y * 0);
  if (a < b) return x;
  int64_t e, f;
  uint64_t m = whole_mantissa(a, &e);
  const uint64_t d = whole_mantissa(b, &f);
  for (; e > f; --e) {
    if (m >= d) m -= d;
    m <<= 1;
  }
  if (m >= d) m -= d;
  // The result is m 2^(f - 1075). Below the normal numbers its low bits are
  // zeros.
  if (f < 1) {
    m >>= 1 - f;
    f = 1;
  }
  const uint64_t scale =
      f >= 53 ? (uint64_t)(f - 52) << 52 : UINT64_C(1) << (f - 1);
  return etx_with_sign_f64((double)m * etx_f64_of_bits(scale), x);
}

float etx_fmod_f32(float x, float y) {
  return (float)etx_fmod_f64(x, y);  // exact: the result is a float
}

double etx_remainder_f64(double x, double y) {
  const double rest = etx_fmod_f64(x, y);
  if (rest != 0 && (rest < 0) != (y < 0)) return rest + y;
  return rest;
}

float etx_remainder_f32(float x, float y) {
  const float rest = etx_fmod_f32(x, y);
  if (rest != 0 && (rest < 0) != (y < 0)) return rest + y;
  return rest;
}

// The quotient of x minus its remainder is whole up to rounding, so rounding
// it gives the floor of the true quotient even where x / y rounds up to a
// whole number.
double etx_floor_divide_f64(double x, double y) {
  if (y == 0) return x / y;
  const double rest = etx_fmod_f64(x, y);
  double quotient = (x - rest) / y;
  if (rest != 0 && (y < 0) != (rest < 0)) quotient -= 1;
  if (quotient == 0) return etx_with_sign_f64(0, x / y);
  const double whole = etx_floor_f64(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}

float etx_floor_divide_f32(float x, float y) {
  if (y == 0) return x / y;
  const float rest = etx_fmod_f32(x, y);
  float quotient = (x - rest) / y;
  if (rest != 0 && (y < 0) != (rest < 0)) quotient -= 1;
  if (quotient == 0) return etx_with_sign_f32(0, x / y);
  const float whole = etx_floor_f32(quotient);
  return quotient - whole > 0.5f ? whole + 1 : whole;
}
