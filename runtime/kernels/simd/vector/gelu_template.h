// gelu on vectors: x/2 (1 + erf(x/sqrt 2)), which is x Phi(x), with an absolute
// error of 1.1e-7 |x|. Include after f32_vec_template.h and exp2_template.h.
//
//   VECTOR_BYTES          required  bytes of a vector register: 16, 32 or 64
//   ETX_F32_FMA(a, b, c)  required  a * b + c, rounded once: f32_vec_template.h

#if !defined(VECTOR_BYTES) || !defined(ETX_F32_FMA)
#error "this header needs the macros of its table"
#endif

#include "runtime/kernels/simd/vector/loop_unrolled.h"

// Phi(-a) = 2^q(a): no quotient, and nothing cancels where Phi is small. q was
// fitted so that the error of the power is level (1.3e-8) up to 5.5; behind
// that it falls, and the power is 0 at 14 at the latest.
static inline __attribute__((always_inline)) etx_f32_vec gelu_of(
    etx_f32_vec x) {
  typedef uint32_t whole __attribute__((vector_size(VECTOR_BYTES)));
  static const float factors[] = {
      3.937769e-05f,  -0.000186180245f, -0.00013693636f, 0.00706342002f,
      -0.0524961799f, -0.45920819f,     -1.15110517f,    -1.0f};
  const etx_f32_vec zero = {0}, most = ETX_F32_BROADCAST(14.0f);
  const etx_f32_vec least = ETX_F32_BROADCAST(ETX_EXP2_MIN);
  const etx_f32_vec magnitude = (etx_f32_vec)((whole)x & UINT32_C(0x7fffffff));
  const etx_f32_vec a = ETX_F32_MIN(most, magnitude);
  etx_f32_vec q = ETX_F32_BROADCAST(-2.83491272e-06f);
  ETX_UNROLLED
  for (int i = 0; i < 8; ++i) {
    q = ETX_F32_FMA(q, a, (etx_f32_vec)ETX_F32_BROADCAST(factors[i]));
  }
  const etx_f32_vec rest = etx_f32_vec_exp2(ETX_F32_MAX(least, q));
  // x - x Phi(-x), or x Phi(x).
  return ETX_F32_FMA(-a, rest, ETX_F32_MAX(zero, x));
}
