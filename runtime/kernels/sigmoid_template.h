// The sigmoid of floats and what is made of it: silu, tanh, and gelu's
// approximation by that. Read once for each instruction set, after
// fused_template.h.

#include "runtime/kernels/loop_unrolled.h"

// 1/(1 + e^-x), 2.5 ulp: as 2^-24 / (2^-24 + 2^-24 e^-x), so that e^-x may be
// as large as it has to be for a result of 0. e^-x is 2^n 2^r with |r| <= 1/2.
// Adding 1.5 * 2^23 rounds to the nearest whole number n, and leaves the
// exponent's bits of 2^n 2^-24 in the low ones, as 127 - 24 is added too.
//
// 1 + 2^n is exact, or one of the two is too small to matter: as what is left,
// 2^n (2^r - 1), is added in one step, 1 + e^-x is rounded once.
static inline __attribute__((always_inline)) etx_fused sigmoid_of(etx_fused x) {
  typedef uint32_t bits __attribute__((vector_size(VECTOR_BYTES)));
  static const float factors[] = {0.00133910007f, 0.00961850211f, 0.0555035956f,
                                  0.240226477f, 0.693147182f};
  const float round = 12583015.0f;
  const etx_fused times = ETX_FUSED_ALL(-1.44269504f);  // log2 of 1/e
  const etx_fused least = ETX_FUSED_ALL(-104.9f), most = ETX_FUSED_ALL(71.0f);
  const etx_fused below = ETX_FUSED_LARGER(least, x);
  const etx_fused held = ETX_FUSED_SMALLER(most, below);
  const etx_fused shifted =
      ETX_FUSED_ADD(held, times, (etx_fused)ETX_FUSED_ALL(round));
  const etx_fused n = round - shifted;  // less than zero for a large e^-x
  // What `times` lacks, 1.9e-8, is found by n as well as by x.
  const etx_fused r = ETX_FUSED_ADD(n, (etx_fused)ETX_FUSED_ALL(-1.33499e-8f),
                                    ETX_FUSED_ADD(held, times, n));
  etx_fused q = ETX_FUSED_ALL(0.00015328388f);
  ETX_UNROLLED
  for (int i = 0; i < 5; ++i) {
    q = ETX_FUSED_ADD(q, r, (etx_fused)ETX_FUSED_ALL(factors[i]));
  }
  const etx_fused power = (etx_fused)((bits)shifted << 23);
  return 0x1p-24f / ETX_FUSED_ADD(q * r, power, power + 0x1p-24f);
}

static inline __attribute__((always_inline)) etx_fused silu_of(etx_fused x) {
  return x * sigmoid_of(x);
}

// x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), which is x times a sigmoid:
// nothing cancels for negative x. That of -infinity is 0.
static inline __attribute__((always_inline)) etx_fused
gelu_tanh_of(etx_fused x) {
  const etx_fused least = ETX_FUSED_ALL(-1e30f);
  const etx_fused y = x * (x * x * 0.0713548163f + 1.59576912f);
  return ETX_FUSED_LARGER(least, x) * sigmoid_of(y);
}

// 1.4 ulp: 1 - 2/(1 + e^2x) far from 0, a sum of powers near it.
static inline __attribute__((always_inline)) etx_fused tanh_of(etx_fused x) {
  static const float factors[] = {0.020650588f, -0.053743497f, 0.13331491f,
                                  -0.33333284f};
  const etx_fused_truths bits = (etx_fused_truths)x;
  const etx_fused magnitude = (etx_fused)(bits & INT32_C(0x7fffffff));
  const etx_fused z = x * x;
  etx_fused p = ETX_FUSED_ALL(-0.005717045f);
  ETX_UNROLLED
  for (int i = 0; i < 4; ++i) {
    p = ETX_FUSED_ADD(p, z, (etx_fused)ETX_FUSED_ALL(factors[i]));
  }
  const etx_fused near = ETX_FUSED_ADD(x * z, p, x);
  const etx_fused half = sigmoid_of(-2.0f * magnitude);
  const etx_fused away = 1.0f - (half + half);
  const etx_fused any = etx_fused_picked(near, away, magnitude < 0.625f);
  return (etx_fused)((etx_fused_truths)any | (bits & INT32_MIN));
}
