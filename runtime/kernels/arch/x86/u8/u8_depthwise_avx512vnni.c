// Depthwise sums of 64 channels at a time, and of up to 32 in registers half as
// wide. The bytes of four rows are interleaved, so that a lane has the four
// bytes of one channel. The lanes of the four registers then have these
// channels, quarter by quarter:
//
//     register 0   0-3  16-19  32-35  48-51
//     register 1   4-7  20-23  ..
//
// Packing integers to bytes restores the order of the channels.

#include "runtime/kernels/arch/x86/u8/u8_loops_sets_x86.h"
#include "runtime/kernels/arch/x86/u8/u8_vec_template.h"

enum { CHANNELS = 64, SOME = 4, SIDE = ETX_U8_INTERLEAVE };

#define I32_VEC etx_i32x16
#define F32_VEC etx_f32x16
#define I16_VEC etx_i16x32
#define CHAR_VEC etx_charx64
#define BYTE_BOUNDS byte_bounds_avx512
#define SIDE_BY_SIDE(vector, of, a, b, each, begin)              \
  (etx_i32x16) __builtin_shufflevector(                          \
      (vector)(a), (vector)(b), of(begin, (begin) + 4 * (each)), \
      of((begin) + (each), (begin) + 5 * (each)),                \
      of((begin) + 2 * (each), (begin) + 6 * (each)),            \
      of((begin) + 3 * (each), (begin) + 7 * (each)))

#include "runtime/kernels/arch/x86/u8/u8_transpose_template.h"

static inline __attribute__((always_inline)) void transpose_bytes(
    const uint8_t* const from[SIDE], size_t count, etx_i32x16 out[SOME]) {
  etx_i32x16 rows[SIDE];
  ETX_UNROLLED
  for (size_t i = 0; i < SIDE; ++i) {
    rows[i] =
        from[i] == NULL ? (etx_i32x16){0} : load_some_bytes(from[i], count);
  }
  interleave_rows(rows, out);
}

static inline void transpose_signed(const uint8_t* const from[SIDE],
                                    size_t count, etx_i32x16 out[SOME]) {
  transpose_bytes(from, count, out);
}

static inline __attribute__((always_inline)) void store_bytes(
    const etx_f32x16 f[SOME], const etx_u8_requantize* r,
    const byte_bounds_avx512* bounds, size_t count, uint8_t* to) {
  etx_i32x16 whole[SOME];
  ETX_UNROLLED
  for (size_t i = 0; i < SOME; ++i) {
    whole[i] = rounded(
        r->fits_int32 ? f[i]
                      : limited(f[i], all_floats(r->low), all_floats(r->high)));
  }
  const etx_i32x16 made = packed_with(whole, bounds->zero);
  const etx_i32x16 all =
      smaller_bytes(larger_bytes(made, bounds->low), bounds->high);
  if (count == CHANNELS) {
    memcpy(to, &all, sizeof all);
  } else {
    store_some_bytes(to, all, count);
  }
}

#include "runtime/kernels/simd/int8/u8_depthwise_template.h"

void etx_u8_depthwise_avx512vnni(const etx_u8_depthwise* w) {
  etx_u8_depthwise part = *w;
  if (!windows_fit(w)) {
    etx_u8_loops_base.windows(w);
    return;
  }
  for (size_t c = 0; c < w->count; c += CHANNELS) {
    const size_t left = w->count - c;
    part.first = w->first + c;
    part.count = left < CHANNELS ? left : (size_t)CHANNELS;
    if (part.count <= CHANNELS / 2) {
      etx_u8_depthwise_narrow_avx512vnni(&part);
    } else {
      sum_channels(&part);
    }
  }
}
