// Vectors of bfloat16 and of float16 in memory, expanded to float32 in
// registers. Expansion is exact, so every set gives the same bits. Include
// after f32_vec_template.h.
//
// Why no dot instruction of half types: VDPBF16PS flushes denormals and adds
// pairs without rounding between them, BFDOT of ARM rounds in other ways again,
// and arithmetic in float16 rounds every sum to eleven bits. A program would
// have other results on each of these processors. One row reads weights more
// slowly than registers expand them.
//
//   VECTOR_BYTES  required  bytes of a vector register: 16, 32 or 64

#if !defined(VECTOR_BYTES)
#error "define VECTOR_BYTES before this header"
#endif

#include <stdint.h>
#include <string.h>

#include "runtime/kernels/simd/vector/vector_types.h"

typedef uint32_t etx_f32_vec_bits __attribute__((vector_size(VECTOR_BYTES)));
typedef uint16_t etx_f32_vec_shorts
    __attribute__((vector_size(VECTOR_BYTES / 2)));

// ETX_F32_LANES elements in the low halves of the lanes. The builtins, because
// gcc 12 widens vectors of 32 and of 64 bytes half by half.
static inline __attribute__((unused, always_inline)) etx_f32_vec_bits
etx_f32_vec_of_shorts(const uint16_t* from) {
  short __attribute__((vector_size(VECTOR_BYTES / 2))) x;
  memcpy(&x, from, sizeof x);
#if VECTOR_BYTES == 64 && defined(__AVX512F__) && !defined(__clang__)
  return (etx_f32_vec_bits)__builtin_ia32_pmovzxwd512_mask(
      x, (etx_f32_vec_mask){0}, 0xffff);
#elif VECTOR_BYTES == 32 && defined(__AVX2__) && !defined(__clang__)
  return (etx_f32_vec_bits)__builtin_ia32_pmovzxwd256(x);
#else
  return __builtin_convertvector((etx_f32_vec_shorts)x, etx_f32_vec_bits);
#endif
}

static inline __attribute__((unused, always_inline)) etx_f32_vec
etx_f32_vec_of_bfloats(const uint16_t* from) {
#if VECTOR_BYTES == 16 && defined(__SSE2__)
  // One unpacking of zeros and elements; gcc 12 would widen them one by one.
  const etx_u16x8 zeros = {0};
  etx_u16x8 x = {0};
  memcpy(&x, from, sizeof x / 2);
  return (etx_f32_vec)__builtin_shufflevector(zeros, x, 0, 8, 1, 9, 2, 10, 3,
                                              11);
#else
  return (etx_f32_vec)(etx_f32_vec_of_shorts(from) << 16);
#endif
}

#if VECTOR_BYTES == 64 && defined(__AVX512F__)

static inline __attribute__((unused, always_inline)) etx_f32_vec
etx_f32_vec_of_halves(const uint16_t* from) {
  short __attribute__((vector_size(32))) x;
  memcpy(&x, from, sizeof x);
  enum { AS_SET = 4 };  // no rounding happens
#ifdef __clang__
  return __builtin_ia32_vcvtph2ps512_mask(x, (etx_f32_vec){0}, 0xffff, AS_SET);
#else
  return __builtin_ia32_vcvtph2ps512_mask(x, (etx_f32_vec){0}, (short)-1,
                                          AS_SET);
#endif
}

#elif VECTOR_BYTES == 32 && defined(__F16C__)

static inline __attribute__((unused, always_inline)) etx_f32_vec
etx_f32_vec_of_halves(const uint16_t* from) {
  short __attribute__((vector_size(16))) x;
  memcpy(&x, from, sizeof x);
  return __builtin_ia32_vcvtph2ps256(x);
}

#elif VECTOR_BYTES == 16 && defined(__aarch64__)

static inline __attribute__((unused, always_inline)) etx_f32_vec
etx_f32_vec_of_halves(const uint16_t* from) {
  etx_u16x4 x;
  etx_f32_vec wide;
  memcpy(&x, from, sizeof x);
  // The name of the builtin depends on the compiler.
  __asm__("fcvtl %0.4s, %1.4h" : "=w"(wide) : "w"(x));
  return wide;
}

#else

// As etx_f32_of_half of half_float.h, which explains the steps. It takes about
// twenty instructions with 16 bytes, where inlined copies would make loops
// long.
#if VECTOR_BYTES == 16
static __attribute__((unused, noinline)) etx_f32_vec
#else
static inline __attribute__((unused, always_inline)) etx_f32_vec
#endif
etx_f32_vec_of_halves(const uint16_t* from) {
  const etx_f32_vec_bits x = etx_f32_vec_of_shorts(from);
  const etx_f32_vec_bits rest = x & 0x7fff, bits = rest << 13;
  const etx_f32_vec scaled = (etx_f32_vec)bits * 0x1p112f;
  const etx_f32_vec_bits special =
      (etx_f32_vec_bits)((etx_f32_vec_mask)rest >= 0x7c00) & 0x7f800000;
  return (etx_f32_vec)((etx_f32_vec_bits)scaled | special | (x & 0x8000) << 16);
}

#endif
