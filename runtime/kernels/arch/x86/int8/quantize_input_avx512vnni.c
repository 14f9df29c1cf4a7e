#include "runtime/kernels/arch/x86/int8/quantize_input_avx512vnni.h"

#include "runtime/kernels/arch/x86/int8/int8_vec_template.h"
#include "runtime/kernels/arch/x86/int8/int8_tail_template.h"

typedef unsigned int whole_bits __attribute__((vector_size(64)));
typedef double reals __attribute__((vector_size(64)));
typedef float half_floats __attribute__((vector_size(32)));
typedef int half_ints __attribute__((vector_size(32)));
typedef signed char few_bytes __attribute__((vector_size(8)));
typedef short all_shorts __attribute__((vector_size(64)));
typedef char all_bytes __attribute__((vector_size(64)));

// The names are the compilers' own, which differ. NaN gives b.
enum { AS_IS = 4 };  // of roundings
#define FUSED(a, b, c) \
  __builtin_ia32_vfmaddps512_mask(a, b, c, ALL_SIXTEEN, AS_IS)
// Else gcc reads memory for each use.
#define READ_ONCE(x) __asm__("" : "+v"(x))
// a, or where b and c differ.
#define OR_UNEQUAL(a, b, c) \
  __builtin_ia32_pternlogd512_mask(a, b, c, 0xf6, 0xffff)
#ifdef __clang__
#define LARGER(a, b) (reals) __builtin_ia32_maxpd512(a, b, AS_IS)
#define SMALLER(a, b) (reals) __builtin_ia32_minpd512(a, b, AS_IS)
#define LARGER_INTS(a, b) __builtin_elementwise_max(a, b)
#define LARGER_BITS(a, b) __builtin_elementwise_max(a, b)
#define ALL_EIGHT (unsigned char)0xff
#define ALL_SIXTEEN (unsigned short)0xffff
#define AS_BYTES(a, b) \
  __builtin_ia32_packuswb512((all_shorts)(a), (all_shorts)(b))
#else
#define LARGER(a, b) __builtin_ia32_maxpd512_mask(a, b, a, 0xff, AS_IS)
#define SMALLER(a, b) __builtin_ia32_minpd512_mask(a, b, a, 0xff, AS_IS)
#define LARGER_INTS(a, b) __builtin_ia32_pmaxsd512_mask(a, b, a, 0xffff)
#define LARGER_BITS(a, b) \
  (whole_bits)            \
      __builtin_ia32_pmaxud512_mask((ints)(a), (ints)(b), (ints)(a), 0xffff)
#define ALL_EIGHT (char)-1
#define ALL_SIXTEEN (short)-1
#define AS_BYTES(a, b)                                              \
  __builtin_ia32_packuswb512_mask((all_shorts)(a), (all_shorts)(b), \
                                  (all_bytes){0}, ~0ULL)
#endif

// ------------------------------------------------ the range

// As integers the bits of floats above zero have the floats' order, NaN last,
// and those of floats below zero come after all these, the lowest and NaN last.
typedef struct extent {
  ints most;
  whole_bits least;
} extent;

static const unsigned int sign = 0x80000000u;

static inline extent new_extent(void) {
  return (extent){{0}, (whole_bits){0} + sign};
}

static inline void extend(extent* e, ints v) {
  READ_ONCE(v);
  e->most = LARGER_INTS(e->most, v);
  e->least = LARGER_BITS(e->least, (whole_bits)v);
}

static inline void extend_by_rest(extent* e, const float* x, size_t count) {
  for (size_t some; count > 0; count -= some, x += some) {
    some = count < LANES ? count : LANES;
    extend(e, load_some_bytes(x, some * sizeof(float)));
  }
}

// The lanes of the highest and of the lowest as one register's halves. Without
// their sign the bits of what is below zero have the order of the rest.
static inline void range_of(const extent* e, float* low, float* high) {
  const int infinite = 0x7f800000, no_number = 0x7fc00000;
  const ints a = e->most, b = (ints)(e->least ^ sign);
  ints v =
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
  extent e = new_extent();
  for (; count >= LANES; count -= LANES, x += LANES) extend(&e, load_bytes(x));
  extend_by_rest(&e, x, count);
  range_of(&e, low, high);
}

// ------------------------------------------------ bytes

static inline floats all_floats(float x) {
  return (floats){x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x};
}

// Eight elements. A conversion rounds halves to even, as the plain loop does.
static inline void quantize_eight(const float* x, double inverse, double zero,
                                  uint8_t* out) {
  half_floats seen;
  memcpy(&seen, x, sizeof(seen));
  reals y = __builtin_convertvector(seen, reals) * inverse + zero;
  const longs is_number = y == y;
  const reals zeros = (reals){0} + zero;
  y = (reals)((is_number & (longs)y) | (~is_number & (longs)zeros));
  y = SMALLER(LARGER(y, (reals){0} - 128), (reals){0} + 127);
  const half_ints whole = (half_ints)__builtin_ia32_cvtpd2dq512_mask(
      y, (half_ints){0}, ALL_EIGHT, AS_IS);
  const few_bytes bytes = __builtin_convertvector(whole + 128, few_bytes);
  memcpy(out, &bytes, sizeof(bytes));
}

// Sixty-four elements in double, which is seldom needed.
static __attribute__((noinline)) void quantize_exactly(const float* x,
                                                       double inverse,
                                                       double zero,
                                                       uint8_t* out) {
  for (size_t i = 0; i < BYTES; i += 8) {
    quantize_eight(x + i, inverse, zero, out + i);
  }
}

// Sixty-four elements. A float that is added to 1.5 * 2^23 leaves the nearest
// whole number in the low bits of the sum, and fused with a product nothing is
// rounded before. The factor lies between two floats: where products with both
// leave the same, no half of a whole number is between them, and what is
// computed in double, which is much closer, leaves the same too. All of it is
// negative: with the high bits' sign packing makes zeros of them, and bytes of
// the low ones.
static inline __attribute__((always_inline)) void quantize_bytes(const float* x,
                                                                 double inverse,
                                                                 double zero,
                                                                 uint8_t* out) {
  const float factor = -(float)inverse, little = 1.0f / 8388608;
  const floats more = all_floats(factor + factor * little);
  const floats less = all_floats(factor - factor * little);
  const floats base = all_floats(-12582912.0f - 128.0f - (float)zero);
  ints whole[4], differ = all_ints(!(inverse > 0));
  ETX_UNROLLED
  for (size_t i = 0; i < 4; ++i) {
    floats v = (floats)load_bytes(x + i * LANES);
    READ_ONCE(v);
    whole[i] = (ints)FUSED(v, more, base);
    differ = OR_UNEQUAL(differ, whole[i], (ints)FUSED(v, less, base));
  }
  const ints made = (ints)AS_BYTES(AS_BYTES(whole[0], whole[1]),
                                   AS_BYTES(whole[2], whole[3]));
  const ints bytes = __builtin_shufflevector(made, made, 0, 4, 8, 12, 1, 5, 9,
                                             13, 2, 6, 10, 14, 3, 7, 11, 15);
  memcpy(out, &bytes, sizeof(bytes));
  if (HAS_ANY(differ)) quantize_exactly(x, inverse, zero, out);
}

// What is left of whole sixty-fours.
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

void etx_int8_quantize_and_range_avx512vnni(const float* x, size_t count,
                                            double inverse, double zero,
                                            uint8_t* out, const float* other,
                                            float* low, float* high) {
  extent e = new_extent();
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
  typedef unsigned short words __attribute__((vector_size(64)));
  typedef unsigned char half __attribute__((vector_size(32)));
  for (size_t k = 0; k < count; k += 2 * BYTES, row += 2 * BYTES) {
    half v[4];
    ETX_UNROLLED
    for (size_t i = 0; i < 2; ++i) {
      const words both = (words)load_bytes(row + i * BYTES);
      v[i] = __builtin_convertvector(both, half);
      v[2 + i] = __builtin_convertvector(both >> 8, half);
    }
    ETX_UNROLLED
    for (size_t i = 0; i < 4; ++i) {
      memcpy(row + i * sizeof(half), &v[i], sizeof(half));
    }
  }
}
