// 2^x on vectors. Include after f32_vec_template.h.
//
// x = n + r with |r| <= 1/2, and 2^x = 2^n 2^r. 2^r is a polynomial in Horner
// form with FMA, half as many instructions as with products and sums.
//
//   VECTOR_BYTES          required  bytes of a vector register: 16, 32 or 64
//   ETX_F32_FMA(a, b, c)  required  a * b + c, rounded once: f32_vec_template.h

#if !defined(VECTOR_BYTES) || !defined(ETX_F32_FMA)
#error "this header needs the macros of its table"
#endif

#define ETX_EXP2_MIN (-127.0f)

// 2^x for ETX_EXP2_MIN <= x <= 127, 2 units of the last place; 0 below
// -126.5. Adding 1.5 * 2^23 + 127 rounds to the nearest whole number n, and
// leaves the exponent's bits of 2^n in the low ones: none for -127. NaN stays
// what it is.
static inline __attribute__((always_inline)) etx_f32_vec etx_f32_vec_exp2(
    etx_f32_vec x) {
  typedef uint32_t exp2_bits __attribute__((vector_size(VECTOR_BYTES)));
  const etx_f32_vec shifted = x + 12583039.0f;
  const etx_f32_vec r = x - (shifted - 12583039.0f);
  etx_f32_vec q = ETX_F32_BROADCAST(0.00132647273f);
  q = ETX_F32_FMA(q, r, (etx_f32_vec)ETX_F32_BROADCAST(0.00967151299f));
  q = ETX_F32_FMA(q, r, (etx_f32_vec)ETX_F32_BROADCAST(0.0555073358f));
  q = ETX_F32_FMA(q, r, (etx_f32_vec)ETX_F32_BROADCAST(0.240222424f));
  q = ETX_F32_FMA(q, r, (etx_f32_vec)ETX_F32_BROADCAST(0.693147004f));
  q = ETX_F32_FMA(q, r, (etx_f32_vec)ETX_F32_BROADCAST(1.0f));
  return q * (etx_f32_vec)((exp2_bits)shifted << 23);
}
