// Depthwise sums of sixteen channels at a time: what four rows have of a column
// is turned so that a lane has a channel's four bytes.

#include "runtime/kernels/arm64/u8_loops_dotprod.h"
#include "runtime/kernels/arm64/u8_vectors_template.h"

enum { CHANNELS = BYTES, SOME = SIXTEEN, SIDE = ETX_U8_SIDE };

#define HALF_OF_LESS vdupq_n_s32(0x40404040)

static inline
    __attribute__((always_inline)) ints add_products(ints sum, ints bytes,
                                                     ints weights) {
  return add_dots(sum, vreinterpretq_s8_s32(bytes),
                  vreinterpretq_s8_s32(weights));
}

static inline size_t register_of(size_t channel) { return channel / LANES; }
static inline size_t lane_of(size_t channel) { return channel % LANES; }

// Zeros behind the channels that there are, and for rows that there are not.
static inline __attribute__((always_inline)) uint8x16_t
load_channels(const uint8_t* from, size_t count) {
  if (from == NULL) return vdupq_n_u8(0);
  if (count == CHANNELS) return vld1q_u8(from);
  uint8_t some[CHANNELS] = {0};
  memcpy(some, from, count);
  return vld1q_u8(some);
}

static inline __attribute__((always_inline)) void turn(
    const uint8x16_t rows[SIDE], ints out[SOME]) {
  uint16x8_t pairs[2][2];  // halves of the channels, of rows 0, 1 and 2, 3
  ETX_UNROLLED
  for (size_t i = 0; i < 2; ++i) {
    const uint8x16_t a = rows[2 * i], b = rows[2 * i + 1];
    pairs[0][i] = vreinterpretq_u16_u8(vzip1q_u8(a, b));
    pairs[1][i] = vreinterpretq_u16_u8(vzip2q_u8(a, b));
  }
  ETX_UNROLLED
  for (size_t i = 0; i < 2; ++i) {
    out[2 * i] = vreinterpretq_s32_u16(vzip1q_u16(pairs[i][0], pairs[i][1]));
    out[2 * i + 1] =
        vreinterpretq_s32_u16(vzip2q_u16(pairs[i][0], pairs[i][1]));
  }
}

static inline __attribute__((always_inline)) void turn_signed(
    const uint8_t* const from[SIDE], size_t count, ints out[SOME]) {
  uint8x16_t rows[SIDE];
  ETX_UNROLLED
  for (size_t i = 0; i < SIDE; ++i) rows[i] = load_channels(from[i], count);
  turn(rows, out);
}

static inline __attribute__((always_inline)) void turn_bytes(
    const uint8_t* const from[SIDE], size_t count, ints out[SOME]) {
  turn_signed(from, count, out);
  ETX_UNROLLED
  for (size_t i = 0; i < SOME; ++i) out[i] ^= (int32_t)0x80808080;
}

typedef struct byte_bounds {
  float low, high;
  int32_t zero;
} byte_bounds;

static inline byte_bounds bounds_of(const etx_u8_results* r) {
  return (byte_bounds){r->low, r->high, r->zero};
}

static inline __attribute__((always_inline)) void store_bytes(
    const floats f[SOME], const etx_u8_results* r, const byte_bounds* bounds,
    size_t count, uint8_t* to) {
  (void)r;
  const uint8x16_t all = bytes_of(f, bounds->low, bounds->high, bounds->zero);
  if (count == CHANNELS) {
    vst1q_u8(to, all);
  } else {
    memcpy(to, &all, count);
  }
}

#include "runtime/kernels/u8_windows_template.h"

void etx_u8_windows_dotprod(const etx_u8_windows* w) {
  etx_u8_windows part = *w;
  if (!windows_fit(w)) {
    etx_u8_loops_base.windows(w);
    return;
  }
  for (size_t c = 0; c < w->count; c += CHANNELS) {
    const size_t left = w->count - c;
    part.first = w->first + c;
    part.count = left < CHANNELS ? left : (size_t)CHANNELS;
    sum_channels(&part);
  }
}
