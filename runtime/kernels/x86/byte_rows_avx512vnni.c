#include "runtime/kernels/x86/byte_rows_avx512vnni.h"

#include "runtime/kernels/x86/byte_vectors_template.h"
#include "runtime/kernels/x86/byte_rest_template.h"

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
#ifdef __clang__
#define LARGER(a, b) (reals) __builtin_ia32_maxpd512(a, b, AS_IS)
#define SMALLER(a, b) (reals) __builtin_ia32_minpd512(a, b, AS_IS)
#define LARGER_INTS(a, b) __builtin_elementwise_max(a, b)
#define LARGER_BITS(a, b) __builtin_elementwise_max(a, b)
#define ALL_EIGHT (unsigned char)0xff
#define ALL_SIXTEEN (unsigned short)0xffff
#define AS_BYTES(a, b) __builtin_ia32_packuswb512(a, b)
#else
#define LARGER(a, b) __builtin_ia32_maxpd512_mask(a, b, a, 0xff, AS_IS)
#define SMALLER(a, b) __builtin_ia32_minpd512_mask(a, b, a, 0xff, AS_IS)
#define LARGER_INTS(a, b) __builtin_ia32_pmaxsd512_mask(a, b, a, 0xffff)
#define LARGER_BITS(a, b)                                            \
  (whole_bits) __builtin_ia32_pmaxud512_mask((ints)(a), (ints)(b), \
                                             (ints)(a), 0xffff)
#define ALL_EIGHT (char)-1
#define ALL_SIXTEEN (short)-1
#define AS_BYTES(a, b) \
  __builtin_ia32_packuswb512_mask(a, b, (all_bytes){0}, ~0ULL)
#endif

// ------------------------------------------------ the range

// Lanes from `n` on first.
#define other_half(x, n)                                                   \
  __builtin_shufflevector(x, x, (n) + 0, (n) + 1, (n) + 2, (n) + 3, (n) + 4, \
                          (n) + 5, (n) + 6, (n) + 7, 8, 9, 10, 11, 12, 13, \
                          14, 15)

// As integers the bits of floats above zero have the floats' order, NaN last,
// and those of floats below zero come after all these, the lowest and NaN last.
void etx_byte_range_avx512vnni(const float* x, size_t count, float* low,
                               float* high) {
  const int infinite = 0x7f800000, no_number = 0x7fc00000;
  const unsigned int sign = 0x80000000u;
  ints most[2] = {{0}};
  whole_bits least[2] = {(whole_bits){0} + sign, (whole_bits){0} + sign};
  for (; count >= 2 * LANES; count -= 2 * LANES) {
    ETX_UNROLLED
    for (size_t part = 0; part < 2; ++part, x += LANES) {
      const ints v = load_bytes(x);
      most[part] = LARGER_INTS(most[part], v);
      least[part] = LARGER_BITS(least[part], (whole_bits)v);
    }
  }
  for (size_t some; count > 0; count -= some, x += some) {
    some = count < LANES ? count : LANES;
    const ints v = load_some_bytes(x, some * sizeof(float));
    most[0] = LARGER_INTS(most[0], v);
    least[0] = LARGER_BITS(least[0], (whole_bits)v);
  }
  ints a = LARGER_INTS(most[0], most[1]);
  whole_bits b = LARGER_BITS(least[0], least[1]);
  a = LARGER_INTS(a, other_half(a, 8));
  b = LARGER_BITS(b, (whole_bits)other_half((ints)b, 8));
  a = LARGER_INTS(a, other_half(a, 4));
  b = LARGER_BITS(b, (whole_bits)other_half((ints)b, 4));
  a = LARGER_INTS(a, other_half(a, 2));
  b = LARGER_BITS(b, (whole_bits)other_half((ints)b, 2));
  int top = a[0] > a[1] ? a[0] : a[1];
  unsigned int bottom = b[0] > b[1] ? b[0] : b[1];
  if (top > infinite || bottom > (sign | (unsigned int)infinite)) {
    top = no_number;
    bottom = (unsigned int)no_number;
  }
  memcpy(low, &bottom, sizeof(bottom));
  memcpy(high, &top, sizeof(top));
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

// Low halves of the lanes of two registers.
static inline all_shorts low_halves(floats a, floats b) {
  return __builtin_shufflevector((all_shorts)a, (all_shorts)b, 0, 2, 4, 6, 8,
                                 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30, 32,
                                 34, 36, 38, 40, 42, 44, 46, 48, 50, 52, 54, 56,
                                 58, 60, 62);
}

// Sixty-four elements. A float that is added to 1.5 * 2^23 leaves the nearest
// whole number in the low bits of the sum. What is added is wrong by less than
// 2^-15 where it is below 256, and above all become 255: where a little more
// and a little less leave the same, so does what is computed in double.
static inline void quantize_bytes(const float* x, double inverse, double zero,
                                  uint8_t* out) {
  const float base = (float)zero + 128, little = 1.0f / 32768;
  const floats factor = all_floats((float)inverse);
  const floats whole = all_floats(12582912.0f);
  floats more[4];
  ints differ[4];
  ETX_UNROLLED
  for (size_t i = 0; i < 4; ++i) {
    const floats v = (floats)load_bytes(x + i * LANES);
    more[i] = FUSED(v, factor, all_floats(base + little)) + whole;
    const floats less = FUSED(v, factor, all_floats(base - little)) + whole;
    differ[i] = (ints)more[i] ^ (ints)less;
  }
  const longs made = (longs)AS_BYTES(low_halves(more[0], more[1]),
                                     low_halves(more[2], more[3]));
  const longs bytes =
      __builtin_shufflevector(made, made, 0, 2, 4, 6, 1, 3, 5, 7);
  memcpy(out, &bytes, sizeof(bytes));
  const bool has_range = inverse > 0;
  const ints any = differ[0] | differ[1] | differ[2] | differ[3];
  if (has_range && !HAS_ANY(any)) return;
  for (size_t i = 0; i < 4; ++i) {
    const size_t at = i * LANES;
    if (has_range && !HAS_ANY(differ[i])) continue;
    quantize_eight(x + at, inverse, zero, out + at);
    quantize_eight(x + at + 8, inverse, zero, out + at + 8);
  }
}

void etx_byte_quantize_avx512vnni(const float* x, size_t count, double inverse,
                                  double zero, uint8_t* out,
                                  const float* next) {
  size_t i = 0;
  for (; i + BYTES <= count; i += BYTES) {
    for (size_t k = 0; k < BYTES && next != NULL; k += LANES) {
      __builtin_prefetch(next + i + k);
    }
    quantize_bytes(x + i, inverse, zero, out + i);
  }
  if (i < count) {
    float rest[BYTES] = {0};
    uint8_t made[BYTES];
    memcpy(rest, x + i, (count - i) * sizeof(float));
    quantize_bytes(rest, inverse, zero, made);
    memcpy(out + i, made, count - i);
  }
}

void etx_byte_order4_avx512vnni(uint8_t* row, size_t count) {
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
