// Depthwise sums of up to thirty-two channels: u8_depthwise_avx512vnni.c in
// registers of 32 bytes.

#include "runtime/kernels/simd/vector/loop_unrolled.h"
#include "runtime/kernels/simd/int8/u8_requantize.h"
#include "runtime/kernels/arch/x86/u8/u8_loops_sets_x86.h"

enum { CHANNELS = 32, SOME = 4, SIDE = ETX_U8_INTERLEAVE };

typedef int ints __attribute__((vector_size(32)));
typedef float floats __attribute__((vector_size(32)));
typedef char chars __attribute__((vector_size(32)));
typedef short shorts __attribute__((vector_size(32)));

#define SIDE_BY_SIDE(vector, of, a, b, each, begin)               \
  (ints) __builtin_shufflevector((vector)(a), (vector)(b),        \
                                 of(begin, (begin) + 2 * (each)), \
                                 of((begin) + (each), (begin) + 3 * (each)))

#include "runtime/kernels/arch/x86/u8/u8_transpose_template.h"

static inline ints all_ints(int x) { return (ints){x, x, x, x, x, x, x, x}; }
static inline floats all_floats(float x) {
  return (floats){x, x, x, x, x, x, x, x};
}

static inline ints add_products(ints sum, ints unsigned_bytes,
                                ints signed_bytes) {
  __asm__("vpdpbusd %2, %1, %0"
          : "+v"(sum)
          : "v"(unsigned_bytes), "v"(signed_bytes));
  return sum;
}

static inline unsigned mask_of(size_t count) {
  return count < CHANNELS ? (1U << count) - 1 : ~0U;
}

static inline __attribute__((always_inline)) void transpose_bytes(
    const uint8_t* const from[SIDE], size_t count, ints out[SOME]) {
#ifdef __clang__
  typedef const chars* place;
#else
  typedef const char* place;
#endif
  ints rows[SIDE];
  ETX_UNROLLED
  for (size_t i = 0; i < SIDE; ++i) {
    rows[i] = from[i] == NULL ? (ints){0}
                              : (ints)__builtin_ia32_loaddquqi256_mask(
                                    (place)from[i], (chars){0}, mask_of(count));
  }
  turn(rows, out);
}

static inline void transpose_signed(const uint8_t* const from[SIDE],
                                    size_t count, ints out[SOME]) {
  transpose_bytes(from, count, out);
}

typedef struct byte_bounds {
  floats low, high;
  ints zero;
} byte_bounds;

static inline byte_bounds bounds_of(const etx_u8_requantize* r) {
  return (byte_bounds){all_floats(r->low), all_floats(r->high),
                       all_ints(r->zero)};
}

static inline __attribute__((always_inline)) void store_bytes(
    const floats f[SOME], const etx_u8_requantize* r, const byte_bounds* bounds,
    size_t count, uint8_t* to) {
#ifdef __clang__
  typedef chars* place;
#else
  typedef char* place;
#endif
  ints whole[SOME];
  (void)r;
  ETX_UNROLLED
  for (size_t i = 0; i < SOME; ++i) {
    const floats limited = __builtin_ia32_minps256(
        __builtin_ia32_maxps256(f[i], bounds->low), bounds->high);
    whole[i] = (ints)__builtin_ia32_cvtps2dq256(limited) + bounds->zero;
  }
  const shorts low = (shorts)__builtin_ia32_packssdw256(whole[0], whole[1]);
  const shorts high = (shorts)__builtin_ia32_packssdw256(whole[2], whole[3]);
  const chars all = (chars)__builtin_ia32_packuswb256(low, high);
  __builtin_ia32_storedquqi256_mask((place)to, all, mask_of(count));
}

#include "runtime/kernels/simd/int8/u8_depthwise_template.h"

void etx_u8_depthwise_narrow_avx512vnni(const etx_u8_depthwise* windows) {
  sum_channels(windows);
}
