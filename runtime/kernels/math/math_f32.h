// Elementary functions of floats without branches or calls, so that gcc and clang
// vectorise loops over them (see math_functions.h). Error bounds are in ULP, for
// results that are not denormal.

#ifndef ETX_RUNTIME_KERNELS_MATH_MATH_F32_H
#define ETX_RUNTIME_KERNELS_MATH_MATH_F32_H

#include "runtime/kernels/math/math_bits.h"

// ------------------------------------------------ exponential functions

// x = n log 2 + r with |r| <= log(2)/2.
typedef struct etx_reduced_f32 {
  float r;
  uint32_t n;  // two's complement
} etx_reduced_f32;

// Adding 1.5 * 2^23 rounds to the nearest integer, which is then in the low bits.
// n log 2 is subtracted in two parts; n times the first is exact.
ETX_IN_LOOP etx_reduced_f32 etx_exp_reduce_f32(float x) {
  const float shifted = x * 1.44269504f + 12582912.0f;
  const float n = shifted - 12582912.0f;
  const float high = x - n * 0.693145751953125f;
  const etx_reduced_f32 reduced = {
      high - n * 1.42860682030941723e-6f,
      etx_bits_of_f32(shifted) - etx_bits_of_f32(12582912.0f)};
  return reduced;
}

// power * 2^n, with 2^n in two factors, so that the products overflow and
// underflow correctly. The shift is arithmetic, without shifting a negative
// number.
ETX_IN_LOOP float etx_scale_f32(float power, uint32_t n) {
  const uint32_t half =
      ((n ^ UINT32_C(0x80000000)) >> 1) - UINT32_C(0x40000000);
  const float first = etx_f32_of_bits((half + 127) << 23);
  const float second = etx_f32_of_bits((n - half + 127) << 23);
  return power * first * second;
}

// e^r for a reduced r.
ETX_IN_LOOP float etx_exp_power_f32(float r) {
  float q = 0.0013814541f;
  q = q * r + 0.0083687454f;
  q = q * r + 0.041668389f;
  q = q * r + 0.16666521f;
  q = q * r + 0.49999994f;
  return 1.0f + (r + r * r * q);
}

// e^x, 1.1 ulp.
ETX_IN_LOOP float etx_exp_f32(float x) {
  x = x > 88.8f ? 88.8f : x;
  x = x < -104.0f ? -104.0f : x;
  const etx_reduced_f32 e = etx_exp_reduce_f32(x);
  return etx_scale_f32(etx_exp_power_f32(e.r), e.n);
}

// 2^x, 1.1 ulp.
ETX_IN_LOOP float etx_exp2_f32(float x) {
  x = x > 128.5f ? 128.5f : x;
  x = x < -151.0f ? -151.0f : x;
  const float shifted = x + 12582912.0f;
  const float r = (x - (shifted - 12582912.0f)) * 0.693147182f;
  return etx_scale_f32(etx_exp_power_f32(r),
                       etx_bits_of_f32(shifted) - etx_bits_of_f32(12582912.0f));
}

// e^r - 1 for a reduced r.
ETX_IN_LOOP float etx_expm1_power_f32(float r) {
  float q = 0.00139477756f;
  q = q * r + 0.00836724415f;
  q = q * r + 0.0416662619f;
  q = q * r + 0.166665375f;
  q = q * r + 0.5f;
  return r + r * r * q;
}

// e^x - 1, 1.6 ulp: 2^n p + (2^n - 1), computed as a half, so that 2^128 is not
// needed.
ETX_IN_LOOP float etx_expm1_f32(float x) {
  const float above = x < -40.0f ? -40.0f : x;
  const float clamped = above > 89.0f ? 89.0f : above;
  const etx_reduced_f32 e = etx_exp_reduce_f32(clamped);
  const float half = etx_f32_of_bits((e.n + 126) << 23);
  const float result = 2.0f * (half * etx_expm1_power_f32(e.r) + (half - 0.5f));
  return x == 0.0f ? x : result;
}

// 1/(1 + e^-x), 2.5 ulp.
ETX_IN_LOOP float etx_sigmoid_f32(float x) {
  return 1.0f / (1.0f + etx_exp_f32(-x));
}

// e^|x| / 2, halved before it overflows.
ETX_IN_LOOP float etx_half_exp_f32(float magnitude) {
  const float clamped = magnitude > 90.0f ? 90.0f : magnitude;
  const etx_reduced_f32 e = etx_exp_reduce_f32(clamped);
  return etx_scale_f32(etx_exp_power_f32(e.r), e.n - 1);
}

// 2 ulp.
ETX_IN_LOOP float etx_sinh_f32(float x) {
  const float magnitude = etx_abs_f32(x);
  const float z = x * x;
  float p = 2.81743837e-06f;
  p = p * z + 0.000198360663f;
  p = p * z + 0.00833335053f;
  p = p * z + 0.166666672f;
  const float near_zero = x + x * z * p;
  const float half = etx_half_exp_f32(magnitude);
  const float away = half - 0.25f / half;
  return magnitude < 1.0f ? near_zero : etx_with_sign_f32(away, x);
}

// 2 ulp.
ETX_IN_LOOP float etx_cosh_f32(float x) {
  const float half = etx_half_exp_f32(etx_abs_f32(x));
  return half + 0.25f / half;
}

// ------------------------------------------------ logarithms

// x = m 2^e for a positive finite x, m in [sqrt(1/2), sqrt(2)).
typedef struct etx_split_f32 {
  float e;
  float m;
} etx_split_f32;

ETX_IN_LOOP etx_split_f32 etx_split_of_f32(float x) {
  const int is_small = x < 1.17549435e-38f;
  const float normal = is_small ? x * 8388608.0f : x;
  const uint32_t bits = etx_bits_of_f32(normal);
  // The bits of sqrt(1/2) split the interval where m wraps.
  const uint32_t shifted = bits - UINT32_C(0x3f3504f3);
  const uint32_t step =
      ((shifted ^ UINT32_C(0x80000000)) >> 23) - UINT32_C(256);
  const float e = (float)(int32_t)step;
  const etx_split_f32 split = {is_small ? e - 23.0f : e,
                               etx_f32_of_bits(bits - (step << 23))};
  return split;
}

// log(1 + f) - f for f in [sqrt(1/2) - 1, sqrt(2) - 1].
ETX_IN_LOOP float etx_log_tail_f32(float f) {
  float p = 0.0691697374f;
  p = p * f - 0.117904209f;
  p = p * f + 0.118725367f;
  p = p * f - 0.123842172f;
  p = p * f + 0.142187089f;
  p = p * f - 0.1666926f;
  p = p * f + 0.200022236f;
  p = p * f - 0.249999866f;
  p = p * f + 0.333333105f;
  const float z = f * f;
  return f * z * p - 0.5f * z;
}

// `value` where x is positive and finite, else the logarithm of the special case.
ETX_IN_LOOP float etx_log_limits_f32(float x, float value) {
  const float infinity = etx_f32_of_bits(UINT32_C(0x7f800000));
  value = x == infinity ? infinity : value;
  value = x == 0.0f ? -infinity : value;
  value = x < 0.0f ? etx_f32_of_bits(UINT32_C(0x7fc00000)) : value;
  return x != x ? x : value;
}

// 1 ulp.
ETX_IN_LOOP float etx_log_f32(float x) {
  const etx_split_f32 s = etx_split_of_f32(x);
  const float f = s.m - 1.0f;
  const float tail = etx_log_tail_f32(f) + s.e * 1.42860682030941723e-6f;
  return etx_log_limits_f32(x, s.e * 0.693145751953125f + (f + tail));
}

// 2 ulp; powers of two are exact.
ETX_IN_LOOP float etx_log2_f32(float x) {
  const etx_split_f32 s = etx_split_of_f32(x);
  const float f = s.m - 1.0f;
  const float log_m = f + etx_log_tail_f32(f);
  return etx_log_limits_f32(x, s.e + log_m * 1.44269504f);
}

// 2 ulp.
ETX_IN_LOOP float etx_log10_f32(float x) {
  const etx_split_f32 s = etx_split_of_f32(x);
  const float f = s.m - 1.0f;
  const float log_m = f + etx_log_tail_f32(f);
  const float low = log_m * 0.434294492f + s.e * 4.60503898e-06f;
  return etx_log_limits_f32(x, s.e * 0.301025391f + low);
}

// log(1 + x), 1.5 ulp: log u with u = 1 + x rounded, plus a correction for the
// rounding error.
ETX_IN_LOOP float etx_log1p_f32(float x) {
  const float u = 1.0f + x;
  const etx_split_f32 s = etx_split_of_f32(u);
  // Without a power of two in u, x itself is m - 1, and more exact.
  const int is_near = s.e == 0.0f;
  const float f = is_near ? x : s.m - 1.0f;
  const float lost = x > 1.0f ? 1.0f - (u - x) : x - (u - 1.0f);
  const float correction = is_near ? 0.0f : lost / u;
  const float tail = etx_log_tail_f32(f) + correction;
  const float value =
      s.e * 0.693145751953125f + (f + (tail + s.e * 1.42860682030941723e-6f));
  return x == 0.0f ? x : etx_log_limits_f32(u, value);
}

// 2 ulp. Beyond 2^13 it equals log(2x).
ETX_IN_LOOP float etx_asinh_f32(float x) {
  const float a = etx_abs_f32(x);
  const int is_large = a > 8192.0f;
  const float bounded = is_large ? 1.0f : a;
  const float square = bounded * bounded;
  const float small = bounded + square / (1.0f + etx_sqrt_f32(1.0f + square));
  const float value = etx_log1p_f32(is_large ? a - 1.0f : small);
  return etx_with_sign_f32(is_large ? value + 0.693147182f : value, x);
}

// 3 ulp.
ETX_IN_LOOP float etx_acosh_f32(float x) {
  const int is_large = x > 8192.0f;
  const float t = (is_large ? 1.0f : x) - 1.0f;
  const float small = t + etx_sqrt_f32(t * (t + 2.0f));
  const float value = etx_log1p_f32(is_large ? x - 1.0f : small);
  const float result = is_large ? value + 0.693147182f : value;
  return x < 1.0f ? etx_f32_of_bits(UINT32_C(0x7fc00000)) : result;
}

// 2 ulp.
ETX_IN_LOOP float etx_atanh_f32(float x) {
  const float a = etx_abs_f32(x);
  const float value = 0.5f * etx_log1p_f32(2.0f * a / (1.0f - a));
  return etx_with_sign_f32(value, x);
}

// log(1 + e^x), 2 ulp.
ETX_IN_LOOP float etx_log_of_1_exp_f32(float x) {
  const float positive = x > 0.0f ? x : 0.0f;
  const float rest = etx_log1p_f32(etx_exp_f32(-etx_abs_f32(x)));
  return x != x ? x : positive + rest;
}

// ------------------------------------------------ powers

// log2(a) for a positive finite float, with an error of 1e-12. Computed in
// double, where exponents cannot overflow; adding 1.5 * 2^52 rounds to integers.
ETX_IN_LOOP double etx_log2_of_f32(double a) {
  const double magic = 6755399441055744.0;
  const uint64_t bits = etx_bits_of_f64(a);
  const uint64_t shifted = bits - UINT64_C(0x3fe6a09e667f3bcd);
  const uint64_t step =
      ((shifted ^ UINT64_C(0x8000000000000000)) >> 52) - UINT64_C(2048);
  const double e = etx_f64_of_bits(etx_bits_of_f64(magic) + step) - magic;
  const double f = etx_f64_of_bits(bits - (step << 52)) - 1.0;
  const double s = f / (2.0 + f), z = s * s;
  double p = 2.8853900817779268 / 13;
  p = p * z + 2.8853900817779268 / 11;
  p = p * z + 2.8853900817779268 / 9;
  p = p * z + 2.8853900817779268 / 7;
  p = p * z + 2.8853900817779268 / 5;
  p = p * z + 2.8853900817779268 / 3;
  return e + (s * 2.8853900817779268 + s * z * p);
}

// 2^t, with an error of 2e-9 before it is rounded to float.
ETX_IN_LOOP float etx_exp2_of_f32(double t) {
  const double magic = 6755399441055744.0;
  const double above = t < -151.0 ? -151.0 : t;
  const double x = above > 129.0 ? 129.0 : above;
  const double shifted = x + magic;
  const double r = x - (shifted - magic);
  double p = 0.00015476443217481958;
  p = p * r + 0.0013400266593352772;
  p = p * r + 0.0096180032549449436;
  p = p * r + 0.05550327810809632;
  p = p * r + 0.24022651352853799;
  p = p * r + 0.69314720622147941;
  p = p * r + 1.0;
  const uint64_t n = etx_bits_of_f64(shifted) - etx_bits_of_f64(magic);
  return (float)(p * etx_f64_of_bits((n + 1023) << 52));
}

// x^y with the special cases of C: 2^(y log2 |x|), correctly rounded in all but
// rare cases.
ETX_IN_LOOP float etx_pow_f32(float x, float y) {
  const float infinity = etx_f32_of_bits(UINT32_C(0x7f800000));
  const float nan = etx_f32_of_bits(UINT32_C(0x7fc00000));
  const float a = etx_abs_f32(x), b = etx_abs_f32(y);
  const float power = etx_exp2_of_f32((double)y * etx_log2_of_f32((double)a));
  const float of_zero = y > 0.0f ? 0.0f : infinity;
  const float of_infinity = y > 0.0f ? infinity : 0.0f;
  const float of_one = a == 1.0f ? 1.0f : power;
  const float small = a == 0.0f ? of_zero : of_one;
  const float magnitude = a == infinity ? of_infinity : small;
  // What a negative base multiplies by. From 2^23 on every float is whole, from
  // 2^24 even; 0 and infinity have powers that are not whole, too.
  const float bounded = b > 16777216.0f ? 16777216.0f : b;
  const float half = 0.5f * bounded;
  const float parity = (half + 8388608.0f) - 8388608.0f == half ? 1.0f : -1.0f;
  const float others = a == 0.0f ? 1.0f : (a == infinity ? 1.0f : nan);
  const float nearest = (bounded + 8388608.0f) - 8388608.0f;
  const float broken = nearest == bounded ? parity : others;
  const float factor = bounded >= 8388608.0f ? parity : broken;
  const float sign = etx_with_sign_f32(1.0f, x);
  const float value = sign < 0.0f ? magnitude * factor : magnitude;
  const float known = x != x ? x : (y != y ? y : value);
  return y == 0.0f ? 1.0f : (x == 1.0f ? 1.0f : known);
}

// ------------------------------------------------ remainders

// True if x / y has less than 28 bits before the point. Then the quotient in
// double, truncated, is correct, and its product with y is exact. Otherwise
// etx_fmod_f32 and the others divide bit by bit.
ETX_IN_LOOP int etx_quotient_is_fast_f32(float x, float y) {
  const double quotient = (double)x / (double)y;
  return (quotient < 268435456.0) & (quotient > -268435456.0) &
         (etx_abs_f32(y) <= 3.40282347e38f);
}

ETX_IN_LOOP float etx_fmod_fast_f32(float x, float y) {
  const double quotient = etx_trunc_f64((double)x / (double)y);
  return etx_with_sign_f32((float)((double)x - quotient * (double)y), x);
}

// The remainder of Python from the one of C.
ETX_IN_LOOP float etx_remainder_of_fmod_f32(float rest, float y) {
  const float other = rest + y;
  const float moved = (rest < 0.0f) != (y < 0.0f) ? other : rest;
  return rest == 0.0f ? rest : moved;
}

ETX_IN_LOOP float etx_remainder_fast_f32(float x, float y) {
  return etx_remainder_of_fmod_f32(etx_fmod_fast_f32(x, y), y);
}

// The quotient of x minus its remainder is an integer up to rounding errors, so
// rounding it gives the floor of the true quotient even where x / y rounds up
// to an integer.
ETX_IN_LOOP float etx_floor_of_fmod_f32(float x, float y, float rest) {
  const float quotient = (x - rest) / y;
  const float lower = quotient - 1.0f;
  const float moved = (rest < 0.0f) != (y < 0.0f) ? lower : quotient;
  const float found = rest == 0.0f ? quotient : moved;
  const float whole = etx_floor_f32(found);
  const float result = found - whole > 0.5f ? whole + 1.0f : whole;
  return found == 0.0f ? etx_with_sign_f32(0.0f, x / y) : result;
}

ETX_IN_LOOP float etx_floor_divide_fast_f32(float x, float y) {
  return etx_floor_of_fmod_f32(x, y, etx_fmod_fast_f32(x, y));
}

// ------------------------------------------------ angles

// Beyond this limit, sine, cosine and tangent are computed by the functions of
// doubles.
#define ETX_ANGLE_LIMIT_F32 524288.0f

ETX_IN_LOOP int etx_angle_is_fast_f32(float x) {
  return etx_abs_f32(x) < ETX_ANGLE_LIMIT_F32;
}

// |x| < ETX_ANGLE_LIMIT_F32 is quadrant pi/2 + r, |r| <= pi/4. In double,
// since near a multiple of pi/2 most bits cancel; n pi/2 is subtracted in two
// parts, and n times the first, of 33 bits, is exact.
typedef struct etx_angle_f32 {
  float r;
  uint32_t quadrant;  // two's complement, not cut to two bits
} etx_angle_f32;

ETX_IN_LOOP etx_angle_f32 etx_angle_of_f32(float x) {
  const double wide = (double)x;
  const double shifted = wide * 0.63661977236758138 + 6755399441055744.0;
  const double n = shifted - 6755399441055744.0;
  const double r = (wide - n * 1.5707963267341256) - n * 6.0771005065061922e-11;
  const etx_angle_f32 angle = {(float)r, (uint32_t)(int32_t)(float)n};
  return angle;
}

ETX_IN_LOOP float etx_sin_part_f32(float r) {
  const float z = r * r;
  float p = -0.000195169705f;
  p = p * z + 0.00833217613f;
  p = p * z - 0.166666552f;
  return r + r * z * p;
}

ETX_IN_LOOP float etx_cos_part_f32(float r) {
  const float z = r * r;
  float p = 2.4438119e-05f;
  p = p * z - 0.00138873653f;
  p = p * z + 0.0416666456f;
  return 1.0f + (z * z * p - 0.5f * z);
}

// The sine or, for odd quadrants, the cosine of r with the quadrant's sign.
ETX_IN_LOOP float etx_sin_of_angle_f32(etx_angle_f32 a, uint32_t more) {
  const uint32_t quadrant = a.quadrant + more;
  const float part =
      (quadrant & 1) != 0 ? etx_cos_part_f32(a.r) : etx_sin_part_f32(a.r);
  return etx_f32_of_bits(etx_bits_of_f32(part) ^ (quadrant & 2) << 30);
}

// For |x| < ETX_ANGLE_LIMIT_F32; 1.5 ulp, the tangent 3.
ETX_IN_LOOP float etx_sin_fast_f32(float x) {
  const float value = etx_sin_of_angle_f32(etx_angle_of_f32(x), 0);
  return x == 0.0f ? x : value;
}
ETX_IN_LOOP float etx_cos_fast_f32(float x) {
  return etx_sin_of_angle_f32(etx_angle_of_f32(x), 1);
}
ETX_IN_LOOP float etx_tan_fast_f32(float x) {
  const etx_angle_f32 a = etx_angle_of_f32(x);
  const float sine = etx_sin_part_f32(a.r), cosine = etx_cos_part_f32(a.r);
  const int is_odd = (a.quadrant & 1) != 0;
  const float value = (is_odd ? -cosine : sine) / (is_odd ? sine : cosine);
  return x == 0.0f ? x : value;
}

// asin(s) for |s| <= 0.5, z = s^2.
ETX_IN_LOOP float etx_asin_part_f32(float s, float z) {
  float p = 0.0422175601f;
  p = p * z + 0.0241485089f;
  p = p * z + 0.0454768352f;
  p = p * z + 0.0749524459f;
  p = p * z + 0.166667536f;
  return s + s * z * p;
}

// 1.5 ulp. acos(x) = 2 asin(sqrt((1 - x)/2)) beyond 0.5.
ETX_IN_LOOP float etx_asin_f32(float x) {
  const float a = etx_abs_f32(x);
  const int is_far = a > 0.5f;
  const float z = is_far ? 0.5f * (1.0f - a) : a * a;
  const float part = etx_asin_part_f32(is_far ? etx_sqrt_f32(z) : a, z);
  const float far = 1.57079637f - (2.0f * part + 4.371139e-08f);
  return etx_with_sign_f32(is_far ? far : part, x);
}

// 1.5 ulp.
ETX_IN_LOOP float etx_acos_f32(float x) {
  const float a = etx_abs_f32(x);
  const int is_far = a > 0.5f;
  const float z = is_far ? 0.5f * (1.0f - a) : a * a;
  const float part = etx_asin_part_f32(is_far ? etx_sqrt_f32(z) : x, z);
  const float near = 1.57079637f - (part + 4.371139e-08f);
  const float below = 3.14159274f - (2.0f * part + 8.742278e-08f);
  const float far = x > 0.0f ? 2.0f * part : below;
  return is_far ? far : near;
}

// atan(y/x) for y and x not negative, neither both 0 nor both infinite; their
// sum is finite. tan(pi/8) and tan(3 pi/8) separate three ranges.
ETX_IN_LOOP float etx_arc_f32(float y, float x) {
  const int is_low = y <= 0.414213568f * x;
  const int is_high = y >= 2.41421366f * x;
  const float top = is_low ? y : (is_high ? -x : y - x);
  const float bottom = is_low ? x : (is_high ? y : y + x);
  const float base = is_low ? 0.0f : (is_high ? 1.57079637f : 0.785398185f);
  const float rest =
      is_low ? 0.0f : (is_high ? -4.371139e-08f : -2.1855695e-08f);
  const float t = top / bottom;
  const float z = t * t;
  float p = -0.0608337149f;
  p = p * z + 0.105960101f;
  p = p * z - 0.142438576f;
  p = p * z + 0.199984908f;
  p = p * z - 0.333333164f;
  return base + (t + (t * z * p + rest));
}

// 1.5 ulp.
ETX_IN_LOOP float etx_atan_f32(float x) {
  const float a = etx_abs_f32(x);
  const float large = 1e30f;
  const float value = etx_arc_f32(a > large ? large : a, 1.0f);
  return x != x ? x : etx_with_sign_f32(value, x);
}

// 2 ulp.
ETX_IN_LOOP float etx_atan2_f32(float y, float x) {
  const float infinity = etx_f32_of_bits(UINT32_C(0x7f800000));
  float a = etx_abs_f32(y), b = etx_abs_f32(x);
  const int is_pair = a == b;
  // 0 by 0 is 0, infinity by infinity 1.
  b = is_pair && a == 0.0f ? 1.0f : b;
  b = is_pair && a == infinity ? 1.0f : b;
  a = is_pair && a == infinity ? 1.0f : a;
  const int is_large = a > 1e37f || b > 1e37f;
  const int is_small = a < 1e-30f && b < 1e-30f;
  const float factor = is_large ? 0.0625f : (is_small ? 16777216.0f : 1.0f);
  const float first = etx_arc_f32(a * factor, b * factor);
  const int is_behind = etx_bits_of_f32(x) >> 31 != 0;
  const float behind = 3.14159274f - (first + 8.742278e-08f);
  const float value = etx_with_sign_f32(is_behind ? behind : first, y);
  return x != x || y != y ? x + y : value;
}

// ------------------------------------------------ error function

// 1.5 ulp: x p(x^2) up to 1, then 1 - e^(-x^2) t p(t) with t = 1/(1 + x/2).
ETX_IN_LOOP float etx_erf_f32(float x) {
  const float a = etx_abs_f32(x);
  const float z = x * x;
  float p = 7.85384982e-05f;
  p = p * z - 0.000801020244f;
  p = p * z + 0.00518833054f;
  p = p * z - 0.0268538147f;
  p = p * z + 0.112835854f;
  p = p * z - 0.37612626f;
  p = p * z + 0.128379166f;
  const float bounded = a > 4.0f ? 4.0f : a;
  const float t = 1.0f / (1.0f + 0.5f * bounded);
  float q = -0.0488982648f;
  q = q * t - 0.0598127656f;
  q = q * t + 0.388339907f;
  q = q * t + 0.127269894f;
  q = q * t + 0.313821942f;
  q = q * t + 0.278786808f;
  const float away = 1.0f - etx_exp_f32(-bounded * bounded) * (q * t);
  const float value = a < 1.0f ? x + x * p : etx_with_sign_f32(away, x);
  return x != x ? x : value;
}

#endif
