#include "runtime/kernels/arch/x86/int8/quantize_input_avx512vnni.h"

#include "runtime/kernels/simd/vector/vector_types.h"
#include "runtime/kernels/arch/x86/int8/int8_vec_template.h"
#include "runtime/kernels/arch/x86/int8/int8_tail_template.h"

// gcc and clang name these builtins differently. If an operand is NaN, the
// result is b.
enum { AS_IS = 4 };  // of roundings
#define FUSED(a, b, c) \
  __builtin_ia32_vfmaddps512_mask(a, b, c, ALL_SIXTEEN, AS_IS)
// Without it gcc reads the memory again for each use.
#define READ_ONCE(x) __asm__("" : "+v"(x))
// a | (b != c), lane by lane.
#define OR_UNEQUAL(a, b, c) \
  __builtin_ia32_pternlogd512_mask(a, b, c, 0xf6, 0xffff)
#ifdef __clang__
#define LARGER(a, b) (etx_f64x8) __builtin_ia32_maxpd512(a, b, AS_IS)
#define SMALLER(a, b) (etx_f64x8) __builtin_ia32_minpd512(a, b, AS_IS)
#define LARGER_INTS(a, b) __builtin_elementwise_max(a, b)
#define LARGER_BITS(a, b) __builtin_elementwise_max(a, b)
#define ALL_EIGHT (unsigned char)0xff
#define ALL_SIXTEEN (unsigned short)0xffff
#define AS_BYTES(a, b) \
  __builtin_ia32_packuswb512((etx_i16x32)(a), (etx_i16x32)(b))
#else
#define LARGER(a, b) __builtin_ia32_maxpd512_mask(a, b, a, 0xff, AS_IS)
#define SMALLER(a, b) __builtin_ia32_minpd512_mask(a, b, a, 0xff, AS_IS)
#define LARGER_INTS(a, b) __builtin_ia32_pmaxsd512_mask(a, b, a, 0xffff)
#define LARGER_BITS(a, b)                                                      \
  (etx_u32x16) __builtin_ia32_pmaxud512_mask((etx_i32x16)(a), (etx_i32x16)(b), \
                                             (etx_i32x16)(a), 0xffff)
#define ALL_EIGHT (char)-1
#define ALL_SIXTEEN (short)-1
#define AS_BYTES(a, b)                                              \
  __builtin_ia32_packuswb512_mask((etx_i16x32)(a), (etx_i16x32)(b), \
                                  (etx_charx64){0}, ~0ULL)
#endif

// ------------------------------------------------ the range

// Minimum and maximum by integer comparison. As integers, floats above zero
// have their own order, NaN last. Floats below zero come after all these in
// unsigned order, the lowest and NaN last.
typedef struct vnni_extent {
  etx_i32x16 most;
  etx_u32x16 least;
} vnni_extent;

static const unsigned int sign = 0x80000000u;

static inline vnni_extent new_extent(void) {
  return (vnni_extent){{0}, (etx_u32x16){0} + sign};
}

static inline void extend(vnni_extent* e, etx_i32x16 v) {
  READ_ONCE(v);
  e->most = LARGER_INTS(e->most, v);
  e->least = LARGER_BITS(e->least, (etx_u32x16)v);
}

static inline void extend_by_rest(vnni_extent* e, const float* x,
                                  size_t count) {
  for (size_t some; count > 0; count -= some, x += some) {
    some = count < LANES ? count : LANES;
    extend(e, load_some_bytes(x, some * sizeof(float)));
  }
}

// Reduces the lanes of maximum and minimum, as the two halves of one register.
// Without the sign bit, negative floats have the order of their magnitudes.
static inline void range_of(const vnni_extent* e, float* low, float* high) {
  const int infinite = 0x7f800000, no_number = 0x7fc00000;
  const etx_i32x16 a = e->most, b = (etx_i32x16)(e->least ^ sign);
  etx_i32x16 v =
      LARGER_INTS(__builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7, 16, 17,
                                          18, 19, 20, 21, 22, 23),
                  __builtin_shufflevector(a, b, 8, 9, 10, 11, 12, 13, 14, 15,
                                          24, 25, 26, 27, 28, 29, 30, 31));
  v = LARGER_INTS(v, __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3, 12,
                                             13, 14, 15, 8, 9, 10, 11));
  v = LARGER_INTS(v, __builtin_shufflevector(v, v, 2, 3, 0, 1, 6, 7, 4, 5, 10,
                                             11, 8, 9, 14, 15, 12, 13));
  v = LARGER_INTS(v, __builtin_shufflevector(v, v, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8,
                                             11, 10, 13, 12, 15, 14));
  int top = v[0];
  unsigned int bottom = (unsigned int)v[8] | sign;
  if (top > infinite || v[8] > infinite) {
    top = no_number;
    bottom = (unsigned int)no_number;
  }
  memcpy(low, &bottom, sizeof(bottom));
  memcpy(high, &top, sizeof(top));
}

void etx_int8_range_avx512vnni(const float* x, size_t count, float* low,
                               float* high) {
  vnni_extent e = new_extent();
  for (; count >= LANES; count -= LANES, x += LANES) extend(&e, load_bytes(x));
  extend_by_rest(&e, x, count);
  range_of(&e, low, high);
}

// ------------------------------------------------ bytes

static inline etx_f32x16 all_floats(float x) {
  return (etx_f32x16){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x};
}

// Eight elements. The conversion rounds halves to even, as the portable loop
// does.
static inline void quantize_eight(const float* x, double inverse, double zero,
                                  uint8_t* out) {
  etx_f32x8 input;
  memcpy(&input, x, sizeof(input));
  etx_f64x8 y = __builtin_convertvector(input, etx_f64x8) * inverse + zero;
  const etx_longx8 is_number = y == y;
  const etx_f64x8 zeros = (etx_f64x8){0} + zero;
  y = (etx_f64x8)((is_number & (etx_longx8)y) |
                  (~is_number & (etx_longx8)zeros));
  y = SMALLER(LARGER(y, (etx_f64x8){0} - 128), (etx_f64x8){0} + 127);
  const etx_i32x8 whole = (etx_i32x8)__builtin_ia32_cvtpd2dq512_mask(
      y, (etx_i32x8){0}, ALL_EIGHT, AS_IS);
  const etx_i8x8 bytes = __builtin_convertvector(whole + 128, etx_i8x8);
  memcpy(out, &bytes, sizeof(bytes));
}

// Sixty-four elements in double. Rarely needed.
static __attribute__((noinline)) void quantize_exactly(const float* x,
                                                       double inverse,
                                                       double zero,
                                                       uint8_t* out) {
  for (size_t i = 0; i < BYTES; i += 8) {
    quantize_eight(x + i, inverse, zero, out + i);
  }
}

// Sixty-four elements. Adding 1.5 * 2^23 leaves the nearest integer in the low
// bits of the sum, and an FMA does not round before the addition. The exact
// factor is a double that lies between two floats. If products with both floats
// round to the same integer, there is no half between them, so double
// arithmetic gives that integer too. Otherwise the elements are computed in
// double. The sums are negative as integers: packing with saturation makes
// zeros of the high bits and bytes of the low bits.
static inline __attribute__((always_inline)) void quantize_bytes(const float* x,
                                                                 double inverse,
                                                                 double zero,
                                                                 uint8_t* out) {
  const float factor = -(float)inverse, little = 1.0f / 8388608;
  const etx_f32x16 more = all_floats(factor + factor * little);
  const etx_f32x16 less = all_floats(factor - factor * little);
  const etx_f32x16 base = all_floats(-12582912.0f - 128.0f - (float)zero);
  etx_i32x16 whole[4], differ = all_ints(!(inverse > 0));
  ETX_UNROLLED
  for (size_t i = 0; i < 4; ++i) {
    etx_f32x16 v = (etx_f32x16)load_bytes(x + i * LANES);
    READ_ONCE(v);
    whole[i] = (etx_i32x16)FUSED(v, more, base);
    differ = OR_UNEQUAL(differ, whole[i], (etx_i32x16)FUSED(v, less, base));
  }
  const etx_i32x16 made = (etx_i32x16)AS_BYTES(AS_BYTES(whole[0], whole[1]),
                                               AS_BYTES(whole[2], whole[3]));
  const etx_i32x16 bytes = __builtin_shufflevector(
      made, made, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  memcpy(out, &bytes, sizeof(bytes));
  if (HAS_ANY(differ)) quantize_exactly(x, inverse, zero, out);
}

// The last elements, fewer than 64.
static __attribute__((noinline)) void quantize_rest(const float* x,
                                                    size_t count,
                                                    double inverse, double zero,
                                                    uint8_t* out) {
  float rest[BYTES] = {0};
  uint8_t made[BYTES];
  memcpy(rest, x, count * sizeof(float));
  quantize_bytes(rest, inverse, zero, made);
  memcpy(out, made, count);
}

void etx_int8_quantize_avx512vnni(const float* x, size_t count, double inverse,
                                  double zero, uint8_t* out) {
  size_t i = 0;
  for (; i + BYTES <= count; i += BYTES) {
    quantize_bytes(x + i, inverse, zero, out + i);
  }
  if (i < count) quantize_rest(x + i, count - i, inverse, zero, out + i);
}

void etx_int8_quantize_and_range_avx512vnni(const etx_int8_quantize* quantize,
                                            const float* other, float* low,
                                            float* high) {
  const float* const x = quantize->x;
  const size_t count = quantize->count;
  const double inverse = quantize->inverse, zero = quantize->zero;
  uint8_t* const out = quantize->out;
  vnni_extent e = new_extent();
  size_t i = 0;
  for (; i + BYTES <= count; i += BYTES) {
    quantize_bytes(x + i, inverse, zero, out + i);
    ETX_UNROLLED
    for (size_t k = 0; k < BYTES; k += LANES) {
      extend(&e, load_bytes(other + i + k));
    }
  }
  if (i < count) {
    quantize_rest(x + i, count - i, inverse, zero, out + i);
    extend_by_rest(&e, other + i, count - i);
  }
  range_of(&e, low, high);
}

void etx_int4_order_avx512vnni(uint8_t* row, size_t count) {
  for (size_t k = 0; k < count; k += 2 * BYTES, row += 2 * BYTES) {
    etx_u8x32 v[4];
    ETX_UNROLLED
    for (size_t i = 0; i < 2; ++i) {
      const etx_u16x32 both = (etx_u16x32)load_bytes(row + i * BYTES);
      v[i] = __builtin_convertvector(both, etx_u8x32);
      v[2 + i] = __builtin_convertvector(both >> 8, etx_u8x32);
    }
    ETX_UNROLLED
    for (size_t i = 0; i < 4; ++i) {
      memcpy(row + i * sizeof(etx_u8x32), &v[i], sizeof(etx_u8x32));
    }
  }
}
