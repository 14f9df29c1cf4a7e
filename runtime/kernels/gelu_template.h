// gelu of floats: x/2 (1 + erf(x/sqrt 2)), which is x Phi(x), with an absolute
// error of 1.1e-7 |x|. Read once for each instruction set, after
// fused_template.h.

#include "runtime/kernels/loop_unrolled.h"
#include "runtime/kernels/power_template.h"

// Phi(-a) = 2^q(a): no quotient, and nothing cancels where Phi is small. q was
// fitted so that the error of the power is level (1.3e-8) up to 5.5; behind
// that it falls, and the power is 0 at 14 at the latest.
static inline __attribute__((always_inline)) etx_fused gelu_of(etx_fused x) {
  typedef uint32_t whole __attribute__((vector_size(VECTOR_BYTES)));
  static const float factors[] = {
      3.937769e-05f,  -0.000186180245f, -0.00013693636f, 0.00706342002f,
      -0.0524961799f, -0.45920819f,     -1.15110517f,    -1.0f};
  const etx_fused zero = {0}, most = ETX_FUSED_ALL(14.0f);
  const etx_fused least = ETX_FUSED_ALL(ETX_POWER_LEAST);
  const etx_fused magnitude = (etx_fused)((whole)x & UINT32_C(0x7fffffff));
  const etx_fused a = ETX_FUSED_SMALLER(most, magnitude);
  etx_fused q = ETX_FUSED_ALL(-2.83491272e-06f);
  ETX_UNROLLED
  for (int i = 0; i < 8; ++i) {
    q = ETX_FUSED_ADD(q, a, (etx_fused)ETX_FUSED_ALL(factors[i]));
  }
  const etx_fused rest = etx_fused_power(ETX_FUSED_LARGER(least, q));
  // x - x Phi(-x), or x Phi(x).
  return ETX_FUSED_ADD(-a, rest, ETX_FUSED_LARGER(zero, x));
}
