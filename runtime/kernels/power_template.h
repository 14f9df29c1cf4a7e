// 2^x on vectors. Read once for each instruction set, after fused_template.h.
//
// x = n + r with |r| <= 1/2, and 2^x = 2^n 2^r. The steps of 2^r are fused
// ones, half as many as a product and a sum each.

#define ETX_POWER_LEAST (-127.0f)

// 2^x for ETX_POWER_LEAST <= x <= 127, 2 units of the last place; 0 below
// -126.5. Adding 1.5 * 2^23 + 127 rounds to the nearest whole number n, and
// leaves the exponent's bits of 2^n in the low ones: none for -127. NaN stays
// what it is.
static inline __attribute__((always_inline)) etx_fused
etx_fused_power(etx_fused x) {
  typedef uint32_t bits __attribute__((vector_size(VECTOR_BYTES)));
  const etx_fused shifted = x + 12583039.0f;
  const etx_fused r = x - (shifted - 12583039.0f);
  etx_fused q = ETX_FUSED_ALL(0.00132647273f);
  q = ETX_FUSED_ADD(q, r, (etx_fused)ETX_FUSED_ALL(0.00967151299f));
  q = ETX_FUSED_ADD(q, r, (etx_fused)ETX_FUSED_ALL(0.0555073358f));
  q = ETX_FUSED_ADD(q, r, (etx_fused)ETX_FUSED_ALL(0.240222424f));
  q = ETX_FUSED_ADD(q, r, (etx_fused)ETX_FUSED_ALL(0.693147004f));
  q = ETX_FUSED_ADD(q, r, (etx_fused)ETX_FUSED_ALL(1.0f));
  return q * (etx_fused)((bits)shifted << 23);
}
