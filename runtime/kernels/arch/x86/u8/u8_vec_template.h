// Requantises float vectors to bytes with AVX-512. No parameters.

#include "runtime/kernels/simd/int8/u8_requantize.h"
#include "runtime/kernels/arch/x86/int8/int8_vec_template.h"
#include "runtime/kernels/arch/x86/int8/int8_dot_template.h"
#include "runtime/kernels/arch/x86/int8/int8_tail_template.h"

typedef char chars __attribute__((vector_size(64)));
typedef short shorts __attribute__((vector_size(64)));

enum { CURRENT = 4 };  // rounding, as it is set

static inline floats all_floats(float x) {
  return (floats)all_ints((union {
                            float f;
                            int i;
                          }){.f = x}
                              .i);
}

// As u8_clamp: NaN is low. The names are the compilers' own, which differ.
static inline floats limited(floats x, floats low, floats high) {
#ifdef __clang__
  return __builtin_ia32_minps512(__builtin_ia32_maxps512(x, low, CURRENT), high,
                                 CURRENT);
#else
  const floats above = __builtin_ia32_maxps512_mask(x, low, x, -1, CURRENT);
  return __builtin_ia32_minps512_mask(above, high, x, -1, CURRENT);
#endif
}

// The names are the compilers' own, which differ.
#ifdef __clang__
typedef unsigned char unsigned_chars __attribute__((vector_size(64)));
static inline ints larger_bytes(ints a, ints b) {
  return (ints)__builtin_elementwise_max((unsigned_chars)a, (unsigned_chars)b);
}
static inline ints smaller_bytes(ints a, ints b) {
  return (ints)__builtin_elementwise_min((unsigned_chars)a, (unsigned_chars)b);
}
// a + b, at most INT16_MAX, for a b that is not negative. Only newer compilers
// have a built-in function for it.
static inline shorts add_limited(shorts a, shorts b) {
  return __builtin_elementwise_min(a, INT16_MAX - b) + b;
}
static inline ints rounded(floats x) {
  return (ints)__builtin_ia32_cvtps2dq512_mask(x, (ints){0}, 0xffff, CURRENT);
}
// Integers of two registers as those of 16 bits, quarter by quarter.
static inline shorts packed_pairs(ints a, ints b) {
  return (shorts)__builtin_ia32_packssdw512(a, b);
}
static inline ints packed_bytes(shorts a, shorts b) {
  return (ints)__builtin_ia32_packuswb512(a, b);
}
#else
static inline ints larger_bytes(ints a, ints b) {
  return (ints)__builtin_ia32_pmaxub512_mask((chars)a, (chars)b, (chars)a,
                                             ~0ULL);
}
static inline ints smaller_bytes(ints a, ints b) {
  return (ints)__builtin_ia32_pminub512_mask((chars)a, (chars)b, (chars)a,
                                             ~0ULL);
}
static inline shorts add_limited(shorts a, shorts b) {
  return __builtin_ia32_paddsw512_mask(a, b, a, ~0U);
}
static inline ints rounded(floats x) {
  return __builtin_ia32_cvtps2dq512_mask(x, (ints){0}, -1, CURRENT);
}
// Integers of two registers as those of 16 bits, quarter by quarter.
static inline shorts packed_pairs(ints a, ints b) {
  return __builtin_ia32_packssdw512_mask(a, b, (shorts){0}, ~0U);
}
static inline ints packed_bytes(shorts a, shorts b) {
  return (ints)__builtin_ia32_packuswb512_mask(a, b, (chars){0}, ~0ULL);
}
#endif

// Bounds and zero point of bytes.
typedef struct byte_bounds {
  ints low, high;
  shorts zero;
} byte_bounds;

static inline byte_bounds bounds_of(const etx_u8_requantize* r) {
  const int low = (int)r->low + r->zero, high = (int)r->high + r->zero;
  return (byte_bounds){all_ints((int)((unsigned)low * 0x01010101)),
                       all_ints((int)((unsigned)high * 0x01010101)),
                       (shorts)all_ints(r->zero * 0x00010001)};
}

// Integers as bytes, those of four registers in each quarter side by side: plus
// a zero point, 0 to 255, and what is beyond that is the nearest.
static inline ints packed_with(const ints x[4], shorts zero) {
  const shorts low = add_limited(packed_pairs(x[0], x[1]), zero);
  const shorts high = add_limited(packed_pairs(x[2], x[3]), zero);
  return packed_bytes(low, high);
}

static inline void store_some_bytes(void* to, ints x, size_t count) {
#ifdef __clang__
  typedef chars* place;
#else
  typedef char* place;
#endif
  const unsigned long long mask = count < BYTES ? (1ULL << count) - 1 : ~0ULL;
  __builtin_ia32_storedquqi512_mask((place)to, (chars)x, mask);
}
