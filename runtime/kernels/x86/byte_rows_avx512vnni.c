#include "runtime/kernels/x86/byte_rows_avx512vnni.h"

#include "runtime/kernels/x86/byte_vectors_template.h"
#include "runtime/kernels/x86/byte_rest_template.h"

typedef unsigned int whole_bits __attribute__((vector_size(64)));
typedef double reals __attribute__((vector_size(64)));
typedef float half_floats __attribute__((vector_size(32)));
typedef int half_ints __attribute__((vector_size(32)));
typedef signed char few_bytes __attribute__((vector_size(8)));
typedef char some_bytes __attribute__((vector_size(16)));

// The names are the compilers' own, which differ. NaN gives b.
enum { AS_IS = 4 };  // rounding
#ifdef __clang__
#define LARGER(a, b) (reals) __builtin_ia32_maxpd512(a, b, AS_IS)
#define SMALLER(a, b) (reals) __builtin_ia32_minpd512(a, b, AS_IS)
#define LARGER_INTS(a, b) __builtin_elementwise_max(a, b)
#define LARGER_BITS(a, b) __builtin_elementwise_max(a, b)
#define ALL_EIGHT (unsigned char)0xff
#define ALL_SIXTEEN (unsigned short)0xffff
#else
#define LARGER(a, b) __builtin_ia32_maxpd512_mask(a, b, a, 0xff, AS_IS)
#define SMALLER(a, b) __builtin_ia32_minpd512_mask(a, b, a, 0xff, AS_IS)
#define LARGER_INTS(a, b) __builtin_ia32_pmaxsd512_mask(a, b, a, 0xffff)
#define LARGER_BITS(a, b)                                            \
  (whole_bits) __builtin_ia32_pmaxud512_mask((ints)(a), (ints)(b), \
                                             (ints)(a), 0xffff)
#define ALL_EIGHT (char)-1
#define ALL_SIXTEEN (short)-1
#endif

// ------------------------------------------------ the range

// Lanes from `n` on first.
#define other_half(x, n)                                                   \
  __builtin_shufflevector(x, x, (n) + 0, (n) + 1, (n) + 2, (n) + 3, (n) + 4, \
                          (n) + 5, (n) + 6, (n) + 7, 8, 9, 10, 11, 12, 13, \
                          14, 15)

// As integers the bits of floats above zero have the floats' order, NaN last,
// and those of floats below zero come after all these, the lowest and NaN last.
bool etx_byte_range_avx512vnni(const float* x, size_t count, float* low,
                               float* high) {
  const int infinite = 0x7f800000;
  const unsigned int sign = 0x80000000u;
  ints most[2] = {{0}};
  whole_bits least[2] = {(whole_bits){0} + sign, (whole_bits){0} + sign};
  for (size_t i = 0; i < count; i += 2 * LANES) {
    ETX_UNROLLED
    for (size_t part = 0; part < 2; ++part) {
      const size_t at = i + part * LANES;
      const size_t left = at < count ? count - at : 0;
      const ints v = left >= LANES
                         ? load_bytes(x + at)
                         : load_some_bytes(x + (left > 0 ? at : 0), 4 * left);
      most[part] = LARGER_INTS(most[part], v);
      least[part] = LARGER_BITS(least[part], (whole_bits)v);
    }
  }
  ints a = LARGER_INTS(most[0], most[1]);
  whole_bits b = LARGER_BITS(least[0], least[1]);
  a = LARGER_INTS(a, other_half(a, 8));
  b = LARGER_BITS(b, (whole_bits)other_half((ints)b, 8));
  a = LARGER_INTS(a, other_half(a, 4));
  b = LARGER_BITS(b, (whole_bits)other_half((ints)b, 4));
  a = LARGER_INTS(a, other_half(a, 2));
  b = LARGER_BITS(b, (whole_bits)other_half((ints)b, 2));
  const int top = a[0] > a[1] ? a[0] : a[1];
  const unsigned int bottom = b[0] > b[1] ? b[0] : b[1];
  memcpy(low, &bottom, sizeof(bottom));
  memcpy(high, &top, sizeof(top));
  return top <= infinite && bottom <= (sign | (unsigned int)infinite);
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

// Sixty-four elements. In float the numbers that are rounded are wrong by less
// than 2^-14 where they are at most 256: where none is as near to a half, they
// become what they become in double. One that is no integer of 32 bits is not
// near what the conversion gives.
static inline void quantize_bytes(const float* x, double inverse, double zero,
                                  uint8_t* out) {
  enum { GREATER = 6 };
  const floats factor = all_floats((float)inverse);
  const floats shift = all_floats((float)zero);
  const floats most = all_floats(0.5f - 1.0f / 16384);
  const ints magnitude = all_ints(0x7fffffff);
  const some_bytes signs = (some_bytes){0} + (char)-128;
  some_bytes made[4];
  ints far = {0};
  ETX_UNROLLED
  for (size_t i = 0; i < 4; ++i) {
    const floats y = (floats)load_bytes(x + i * LANES) * factor + shift;
    const ints whole =
        (ints)__builtin_ia32_cvtps2dq512_mask(y, (ints){0}, ALL_SIXTEEN, AS_IS);
    const floats off = y - __builtin_convertvector(whole, floats);
    far = LARGER_INTS(far, (ints)off & magnitude);
    made[i] = (some_bytes)__builtin_ia32_pmovsdb512_mask(
        whole, (some_bytes){0}, 0xffff);
  }
  if (__builtin_ia32_cmpd512_mask(far, (ints)most, GREATER, 0xffff) == 0) {
    ETX_UNROLLED
    for (size_t i = 0; i < 4; ++i) {
      const some_bytes bytes = made[i] ^ signs;
      memcpy(out + i * LANES, &bytes, sizeof(bytes));
    }
    return;
  }
  for (size_t i = 0; i < BYTES; i += 8) {
    quantize_eight(x + i, inverse, zero, out + i);
  }
}

void etx_byte_quantize_avx512vnni(const float* x, size_t count, double inverse,
                                  double zero, uint8_t* out) {
  size_t i = 0;
  for (; i + BYTES <= count; i += BYTES) {
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
