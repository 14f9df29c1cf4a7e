// Depthwise sums of up to 32 channels: u8_depthwise_avx512vnni.c with registers
// of 32 bytes.

#include "runtime/kernels/simd/vector/vector_types.h"
#include "runtime/kernels/simd/vector/loop_unrolled.h"
#include "runtime/kernels/simd/int8/u8_requantize.h"
#include "runtime/kernels/arch/x86/u8/u8_loops_sets_x86.h"

enum { CHANNELS = 32, SOME = 4, SIDE = ETX_U8_INTERLEAVE };

#define I32_VEC etx_i32x8
#define F32_VEC etx_f32x8
#define I16_VEC etx_i16x16
#define CHAR_VEC etx_charx32
#define BYTE_BOUNDS byte_bounds_narrow
#define SIDE_BY_SIDE(vector, of, a, b, each, begin)              \
  (etx_i32x8) __builtin_shufflevector(                           \
      (vector)(a), (vector)(b), of(begin, (begin) + 2 * (each)), \
      of((begin) + (each), (begin) + 3 * (each)))

#include "runtime/kernels/arch/x86/u8/u8_transpose_template.h"

static inline etx_i32x8 all_ints(int x) {
  return (etx_i32x8){x, x, x, x, x, x, x, x};
}
static inline etx_f32x8 all_floats(float x) {
  return (etx_f32x8){x, x, x, x, x, x, x, x};
}

static inline etx_i32x8 add_products(etx_i32x8 sum, etx_i32x8 unsigned_bytes,
                                     etx_i32x8 signed_bytes) {
  __asm__("vpdpbusd %2, %1, %0"
          : "+v"(sum)
          : "v"(unsigned_bytes), "v"(signed_bytes));
  return sum;
}

static inline unsigned mask_of(size_t count) {
  return count < CHANNELS ? (1U << count) - 1 : ~0U;
}

static inline __attribute__((always_inline)) void transpose_bytes(
    const uint8_t* const from[SIDE], size_t count, etx_i32x8 out[SOME]) {
  etx_i32x8 rows[SIDE];
  ETX_UNROLLED
  for (size_t i = 0; i < SIDE; ++i) {
    rows[i] = from[i] == NULL
                  ? (etx_i32x8){0}
                  : (etx_i32x8)__builtin_ia32_loaddquqi256_mask(
                        (const void*)from[i], (etx_charx32){0}, mask_of(count));
  }
  interleave_rows(rows, out);
}

static inline void transpose_signed(const uint8_t* const from[SIDE],
                                    size_t count, etx_i32x8 out[SOME]) {
  transpose_bytes(from, count, out);
}

typedef struct byte_bounds_narrow {
  etx_f32x8 low, high;
  etx_i32x8 zero;
} byte_bounds_narrow;

static inline byte_bounds_narrow bounds_of(const etx_u8_requantize* r) {
  return (byte_bounds_narrow){all_floats(r->low), all_floats(r->high),
                              all_ints(r->zero)};
}

static inline __attribute__((always_inline)) void store_bytes(
    const etx_f32x8 f[SOME], const etx_u8_requantize* r,
    const byte_bounds_narrow* bounds, size_t count, uint8_t* to) {
  etx_i32x8 whole[SOME];
  (void)r;
  ETX_UNROLLED
  for (size_t i = 0; i < SOME; ++i) {
    const etx_f32x8 limited = __builtin_ia32_minps256(
        __builtin_ia32_maxps256(f[i], bounds->low), bounds->high);
    whole[i] = (etx_i32x8)__builtin_ia32_cvtps2dq256(limited) + bounds->zero;
  }
  const etx_i16x16 low =
      (etx_i16x16)__builtin_ia32_packssdw256(whole[0], whole[1]);
  const etx_i16x16 high =
      (etx_i16x16)__builtin_ia32_packssdw256(whole[2], whole[3]);
  const etx_charx32 all = (etx_charx32)__builtin_ia32_packuswb256(low, high);
  __builtin_ia32_storedquqi256_mask((void*)to, all, mask_of(count));
}

#include "runtime/kernels/simd/int8/u8_depthwise_template.h"

void etx_u8_depthwise_narrow_avx512vnni(const etx_u8_depthwise* windows) {
  sum_channels(windows);
}
