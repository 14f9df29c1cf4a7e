// Requantises float vectors to bytes with AVX-512. No parameters.

#include "runtime/kernels/simd/vector/vector_types.h"
#include "runtime/kernels/simd/int8/u8_requantize.h"
#include "runtime/kernels/arch/x86/int8/int8_vec_template.h"
#include "runtime/kernels/arch/x86/int8/int8_dot_template.h"
#include "runtime/kernels/arch/x86/int8/int8_tail_template.h"

enum { CURRENT = 4 };  // rounding, as it is set

static inline etx_f32x16 all_floats(float x) {
  return (etx_f32x16)all_ints((union {
                                float f;
                                int i;
                              }){.f = x}
                                  .i);
}

// As u8_clamp: NaN gives low. gcc and clang name these builtins differently.
static inline etx_f32x16 limited(etx_f32x16 x, etx_f32x16 low,
                                 etx_f32x16 high) {
#ifdef __clang__
  return __builtin_ia32_minps512(__builtin_ia32_maxps512(x, low, CURRENT), high,
                                 CURRENT);
#else
  const etx_f32x16 above = __builtin_ia32_maxps512_mask(x, low, x, -1, CURRENT);
  return __builtin_ia32_minps512_mask(above, high, x, -1, CURRENT);
#endif
}

// gcc and clang name these builtins differently.
#ifdef __clang__
static inline etx_i32x16 larger_bytes(etx_i32x16 a, etx_i32x16 b) {
  return (etx_i32x16)__builtin_elementwise_max((etx_u8x64)a, (etx_u8x64)b);
}
static inline etx_i32x16 smaller_bytes(etx_i32x16 a, etx_i32x16 b) {
  return (etx_i32x16)__builtin_elementwise_min((etx_u8x64)a, (etx_u8x64)b);
}
// Saturated addition; b is not negative. Only newer versions of clang have a
// builtin for it.
static inline etx_i16x32 add_limited(etx_i16x32 a, etx_i16x32 b) {
  return __builtin_elementwise_min(a, INT16_MAX - b) + b;
}
static inline etx_i32x16 rounded(etx_f32x16 x) {
  return (etx_i32x16)__builtin_ia32_cvtps2dq512_mask(x, (etx_i32x16){0}, 0xffff,
                                                     CURRENT);
}
// Packs int32 to int16 with saturation, quarter by quarter.
static inline etx_i16x32 packed_pairs(etx_i32x16 a, etx_i32x16 b) {
  return (etx_i16x32)__builtin_ia32_packssdw512(a, b);
}
static inline etx_i32x16 packed_bytes(etx_i16x32 a, etx_i16x32 b) {
  return (etx_i32x16)__builtin_ia32_packuswb512(a, b);
}
#else
static inline etx_i32x16 larger_bytes(etx_i32x16 a, etx_i32x16 b) {
  return (etx_i32x16)__builtin_ia32_pmaxub512_mask(
      (etx_charx64)a, (etx_charx64)b, (etx_charx64)a, ~0ULL);
}
static inline etx_i32x16 smaller_bytes(etx_i32x16 a, etx_i32x16 b) {
  return (etx_i32x16)__builtin_ia32_pminub512_mask(
      (etx_charx64)a, (etx_charx64)b, (etx_charx64)a, ~0ULL);
}
static inline etx_i16x32 add_limited(etx_i16x32 a, etx_i16x32 b) {
  return __builtin_ia32_paddsw512_mask(a, b, a, ~0U);
}
static inline etx_i32x16 rounded(etx_f32x16 x) {
  return __builtin_ia32_cvtps2dq512_mask(x, (etx_i32x16){0}, -1, CURRENT);
}
// Packs int32 to int16 with saturation, quarter by quarter.
static inline etx_i16x32 packed_pairs(etx_i32x16 a, etx_i32x16 b) {
  return __builtin_ia32_packssdw512_mask(a, b, (etx_i16x32){0}, ~0U);
}
static inline etx_i32x16 packed_bytes(etx_i16x32 a, etx_i16x32 b) {
  return (etx_i32x16)__builtin_ia32_packuswb512_mask(a, b, (etx_charx64){0},
                                                     ~0ULL);
}
#endif

// Bounds and zero point of bytes.
typedef struct byte_bounds_avx512 {
  etx_i32x16 low, high;
  etx_i16x32 zero;
} byte_bounds_avx512;

static inline byte_bounds_avx512 bounds_of(const etx_u8_requantize* r) {
  const int low = (int)r->low + r->zero, high = (int)r->high + r->zero;
  return (byte_bounds_avx512){all_ints((int)((unsigned)low * 0x01010101)),
                              all_ints((int)((unsigned)high * 0x01010101)),
                              (etx_i16x32)all_ints(r->zero * 0x00010001)};
}

// Packs the integers of four registers to bytes: adds a zero point, 0 to 255,
// and saturates. Each quarter of the result has those of all four registers.
static inline etx_i32x16 packed_with(const etx_i32x16 x[4], etx_i16x32 zero) {
  const etx_i16x32 low = add_limited(packed_pairs(x[0], x[1]), zero);
  const etx_i16x32 high = add_limited(packed_pairs(x[2], x[3]), zero);
  return packed_bytes(low, high);
}

static inline void store_some_bytes(void* to, etx_i32x16 x, size_t count) {
  const unsigned long long mask = count < BYTES ? (1ULL << count) - 1 : ~0ULL;
  __builtin_ia32_storedquqi512_mask(to, (etx_charx64)x, mask);
}
