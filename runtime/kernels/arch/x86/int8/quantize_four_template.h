// Quantises four floats in double, with AVX2. No parameters. Include after
// vector_types.h and <string.h>.

// clamp(round(x * inverse + zero)) in int8's range; NaN becomes zero. The
// conversion rounds halves to even, as the portable loop does.
static inline etx_i32x4 quantize_four(const float* x, etx_f64x4 inverse,
                                      etx_f64x4 zero) {
  const etx_f64x4 least = {-128, -128, -128, -128}, most = {127, 127, 127, 127};
  etx_f32x4 input;
  memcpy(&input, x, sizeof(input));
  etx_f64x4 y = __builtin_convertvector(input, etx_f64x4) * inverse + zero;
  const etx_longx4 is_number = y == y;
  y = (etx_f64x4)((is_number & (etx_longx4)y) |
                  (~is_number & (etx_longx4)zero));
  y = __builtin_ia32_maxpd256(y, least);
  y = __builtin_ia32_minpd256(y, most);
  return (etx_i32x4)__builtin_ia32_cvtpd2dq256(y);
}
