// Sine, cosine and tangent of doubles, for every argument.
//
// x = n pi/2 + r with |r| <= pi/4, r as a pair of doubles: near a multiple of
// pi/2 nearly all bits of x cancel. Below 2^20 the multiple is taken off in
// parts of 33 bits, whose products with n are exact. Above (Payne and Hanek), x
// is an integer m times a power of two, and x 2/pi modulo 4 is m times the bits
// of 2/pi that have a weight below 4.

#include "runtime/kernels/math/math_functions.h"
#include "runtime/kernels/math/double_double.h"

// Bits of 2/pi, most significant first, behind two words of zeros so that an
// offset may be negative.
static const uint32_t two_over_pi[] = {
    0x00000000, 0x00000000, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0,
    0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561, 0xb7246e3a, 0x424dd2e0,
    0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484,
    0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b,
    0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7,
    0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b, 0x3d0739f7, 0x8a5292ea,
    0x6bfb5fb1, 0x1f8d5d08, 0x56033046, 0xfc7b6bab, 0xf0cfbc20,
};

enum { WORDS = 6 };  // 2 bits before the point, 190 behind it

// The lowest WORDS words of m times the bits of 2/pi from `start` on.
static void multiply_bits(uint64_t m, unsigned start, uint32_t out[WORDS]) {
  const uint32_t digits[2] = {(uint32_t)m, (uint32_t)(m >> 32)};
  uint32_t part[WORDS];
  for (unsigned i = 0; i < WORDS; ++i) {
    const unsigned at = start + 32 * i;
    const uint64_t pair =
        (uint64_t)two_over_pi[at / 32] << 32 | two_over_pi[at / 32 + 1];
    part[i] = (uint32_t)((pair << (at % 32)) >> 32);
    out[i] = 0;
  }
  for (unsigned d = 0; d < 2; ++d) {
    uint64_t carry = 0;
    for (unsigned i = WORDS; i-- > d;) {
      carry += (uint64_t)part[i] * digits[d] + out[i - d];
      out[i - d] = (uint32_t)carry;
      carry >>= 32;
    }
  }
}

// Negates a fraction and its integer part, as one number.
static void negate_bits(uint32_t bits[WORDS]) {
  uint64_t carry = 1;
  for (unsigned i = WORDS; i-- > 0;) {
    carry += (uint32_t)~bits[i];
    bits[i] = (uint32_t)carry;
    carry >>= 32;
  }
}

// The bits behind the point as two doubles.
static etx_double_double pair_of_bits(const uint32_t bits[WORDS]) {
  etx_double_double pair = {0, 0};
  double weight = 9.3132257461547852e-10;  // 2^-30
  for (unsigned i = 0; i < WORDS; ++i) {
    const uint32_t word = i == 0 ? bits[0] & 0x3fffffff : bits[i];
    const etx_double_double sum =
        etx_double_double_of_ordered_sum(pair.high, (double)word * weight);
    pair.high = sum.high;
    pair.low += sum.low;
    weight *= 2.3283064365386963e-10;  // 2^-32
  }
  return etx_double_double_of_ordered_sum(pair.high, pair.low);
}

// For x >= 2^20.
static etx_double_double reduce_large(double x, unsigned* out_quadrant) {
  const uint64_t bits = etx_bits_of_f64(x);
  const uint64_t m =
      (bits & UINT64_C(0xfffffffffffff)) | UINT64_C(0x10000000000000);
  const int e = (int)(bits >> 52) - 1075;
  uint32_t product[WORDS];
  multiply_bits(m, (unsigned)(64 + e - 2), product);
  *out_quadrant = product[0] >> 30;
  const int is_upper = (product[0] >> 29 & 1) != 0;
  if (is_upper) {
    negate_bits(product);
    ++*out_quadrant;
  }
  const etx_double_double half_pi = {1.5707963267948966, 6.123233995736766e-17};
  etx_double_double r =
      etx_double_double_multiply(pair_of_bits(product), half_pi);
  if (is_upper) {
    r.high = -r.high;
    r.low = -r.low;
  }
  return r;
}

// |x| = quadrant pi/2 + result, |result| <= pi/4; x is finite.
static etx_double_double reduce(double x, unsigned* out_quadrant) {
  const double magnitude = etx_abs_f64(x);
  if (magnitude >= 1048576.0) return reduce_large(magnitude, out_quadrant);
  const double n = etx_round_f64(magnitude * 0.63661977236758138);
  *out_quadrant = (unsigned)(int64_t)n & 3;
  const double a = magnitude - n * 1.5707963267341256;
  const double second = n * 6.077100506303966e-11;
  const double b = a - second;
  const double lost_b = (a - b) - second;
  const double third = n * 2.0222662487111665e-21;
  const double c = b - third;
  const double lost_c = (b - c) - third;
  return etx_double_double_of_ordered_sum(
      c, lost_b + lost_c - n * 8.4784276603688996e-32);
}

static double sin_near_zero(etx_double_double x) {
  const double r = x.high, z = r * r;
  double p = 1.5896684851194925e-10;
  p = p * z - 2.5050756363708988e-08;
  p = p * z + 2.755731368188143e-06;
  p = p * z - 0.00019841269829782521;
  p = p * z + 0.0083333333333223871;
  p = p * z - 0.16666666666666632;
  return r + (r * z * p + x.low * (1.0 - 0.5 * z));
}

static double cos_near_zero(etx_double_double x) {
  const double r = x.high, z = r * r;
  double p = -1.1359558790756135e-11;
  p = p * z + 2.0875721631328545e-09;
  p = p * z - 2.7557314340896396e-07;
  p = p * z + 2.4801587289445166e-05;
  p = p * z - 0.0013888888888874071;
  p = p * z + 0.041666666666666602;
  const double half = 0.5 * z, top = 1.0 - half;
  return top + (((1.0 - top) - half) + (z * z * p - r * x.low));
}

static double sin_of_quadrant(etx_double_double r, unsigned quadrant) {
  const double value =
      (quadrant & 1) != 0 ? cos_near_zero(r) : sin_near_zero(r);
  return (quadrant & 2) != 0 ? -value : value;
}

static int is_finite(double x) { return etx_abs_f64(x) < __builtin_inf(); }

double etx_sin_f64(double x) {
  if (!is_finite(x)) return x - x;
  if (x == 0) return x;
  unsigned quadrant;
  const etx_double_double r = reduce(x, &quadrant);
  const double value = sin_of_quadrant(r, quadrant);
  return x < 0 ? -value : value;
}

double etx_cos_f64(double x) {
  if (!is_finite(x)) return x - x;
  unsigned quadrant;
  const etx_double_double r = reduce(x, &quadrant);
  return sin_of_quadrant(r, quadrant + 1);
}

double etx_tan_f64(double x) {
  if (!is_finite(x)) return x - x;
  if (x == 0) return x;
  unsigned quadrant;
  const etx_double_double r = reduce(x, &quadrant);
  const double sine = sin_near_zero(r), cosine = cos_near_zero(r);
  const double value = (quadrant & 1) != 0 ? -cosine / sine : sine / cosine;
  return x < 0 ? -value : value;
}
