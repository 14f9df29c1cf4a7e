// sigmoid on vectors, and the functions built on it: silu, tanh, and the tanh
// approximation of gelu. Include after f32_vec_template.h.
//
//   VECTOR_BYTES          required  bytes of a vector register: 16, 32 or 64
//   ETX_F32_FMA(a, b, c)  required  a * b + c, rounded once: f32_vec_template.h

#if !defined(VECTOR_BYTES) || !defined(ETX_F32_FMA)
#error "this header needs the macros of its table"
#endif

#include "runtime/kernels/simd/vector/loop_unrolled.h"

// 1/(1 + e^-x), 2.5 ulp: as 2^-24 / (2^-24 + 2^-24 e^-x), so that e^-x may be
// as large as it has to be for a result of 0. e^-x is 2^n 2^r with |r| <= 1/2.
// Adding 1.5 * 2^23 rounds to the nearest whole number n, and leaves the
// exponent's bits of 2^n 2^-24 in the low ones, as 127 - 24 is added too.
//
// 1 + 2^n is exact, or one of the two is too small to matter: as what is left,
// 2^n (2^r - 1), is added in one step, 1 + e^-x is rounded once.
static inline __attribute__((always_inline)) etx_f32_vec sigmoid_of(
    etx_f32_vec x) {
  typedef uint32_t sigmoid_bits __attribute__((vector_size(VECTOR_BYTES)));
  static const float factors[] = {0.00133910007f, 0.00961850211f, 0.0555035956f,
                                  0.240226477f, 0.693147182f};
  const float round = 12583015.0f;
  const etx_f32_vec times = ETX_F32_BROADCAST(-1.44269504f);  // log2 of 1/e
  const etx_f32_vec least = ETX_F32_BROADCAST(-104.9f),
                    most = ETX_F32_BROADCAST(71.0f);
  const etx_f32_vec below = ETX_F32_MAX(least, x);
  const etx_f32_vec held = ETX_F32_MIN(most, below);
  const etx_f32_vec shifted =
      ETX_F32_FMA(held, times, (etx_f32_vec)ETX_F32_BROADCAST(round));
  const etx_f32_vec n = round - shifted;  // negative for a large e^-x
  // What `times` lacks, 1.9e-8, is found by n as well as by x.
  const etx_f32_vec rest = ETX_F32_FMA(held, times, n);
  const etx_f32_vec r =
      ETX_F32_FMA(n, (etx_f32_vec)ETX_F32_BROADCAST(-1.33499e-8f), rest);
  etx_f32_vec q = ETX_F32_BROADCAST(0.00015328388f);
  ETX_UNROLLED
  for (int i = 0; i < 5; ++i) {
    q = ETX_F32_FMA(q, r, (etx_f32_vec)ETX_F32_BROADCAST(factors[i]));
  }
  const etx_f32_vec power = (etx_f32_vec)((sigmoid_bits)shifted << 23);
  return 0x1p-24f / ETX_F32_FMA(q * r, power, power + 0x1p-24f);
}

static inline __attribute__((always_inline, unused)) etx_f32_vec silu_of(
    etx_f32_vec x) {
  return x * sigmoid_of(x);
}

// x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), which is x times a sigmoid:
// nothing cancels for negative x. That of -infinity is 0.
static inline __attribute__((always_inline, unused)) etx_f32_vec gelu_tanh_of(
    etx_f32_vec x) {
  const etx_f32_vec least = ETX_F32_BROADCAST(-1e30f);
  const etx_f32_vec y = x * (x * x * 0.0713548163f + 1.59576912f);
  return ETX_F32_MAX(least, x) * sigmoid_of(y);
}

// 1.4 ulp: 1 - 2/(1 + e^2x) far from 0, a sum of powers near it.
static inline __attribute__((always_inline)) etx_f32_vec tanh_of(
    etx_f32_vec x) {
  static const float factors[] = {0.020650588f, -0.053743497f, 0.13331491f,
                                  -0.33333284f};
  const etx_f32_vec_mask bits = (etx_f32_vec_mask)x;
  const etx_f32_vec magnitude = (etx_f32_vec)(bits & INT32_C(0x7fffffff));
  const etx_f32_vec z = x * x;
  etx_f32_vec p = ETX_F32_BROADCAST(-0.005717045f);
  ETX_UNROLLED
  for (int i = 0; i < 4; ++i) {
    p = ETX_F32_FMA(p, z, (etx_f32_vec)ETX_F32_BROADCAST(factors[i]));
  }
  const etx_f32_vec near = ETX_F32_FMA(x * z, p, x);
  const etx_f32_vec half = sigmoid_of(-2.0f * magnitude);
  const etx_f32_vec away = 1.0f - (half + half);
  const etx_f32_vec any = etx_f32_vec_select(near, away, magnitude < 0.625f);
  return (etx_f32_vec)((etx_f32_vec_mask)any | (bits & INT32_MIN));
}
