// Defines what u8_depthwise_template.h needs, for CHANNELS channels (a constant
// of the file that includes this): the bytes of four rows of a column are
// interleaved, so that a lane has the four bytes of one channel, and sixteen
// channels fill four registers. No parameters.

#include "runtime/kernels/arch/arm64/int8_dot_dotprod_template.h"
#include "runtime/kernels/arch/arm64/u8_vec_dotprod_template.h"

enum { SOME = CHANNELS / LANES, SIDE = ETX_U8_INTERLEAVE };

#define I32_VEC int32x4_t
#define F32_VEC float32x4_t
#define BYTE_BOUNDS byte_bounds_dotprod
#define HALF_OF_LESS vdupq_n_s32(0x40404040)

static inline int32x4_t add_products(int32x4_t sum, int32x4_t bytes,
                                     int32x4_t weights) {
  return add_dots(sum, vreinterpretq_s8_s32(bytes),
                  vreinterpretq_s8_s32(weights));
}

static inline size_t register_of(size_t channel) { return channel / LANES; }
static inline size_t lane_of(size_t channel) { return channel % LANES; }

// Loads sixteen channels from `first` on. Channels and rows that do not exist
// are zeros.
static inline __attribute__((always_inline)) uint8x16_t load_channels(
    const uint8_t* from, size_t first, size_t count) {
  uint8_t some[BYTES] = {0};
  if (from == NULL || first >= count) return vdupq_n_u8(0);
  if (first + BYTES <= count) return vld1q_u8(from + first);
  memcpy(some, from + first, count - first);
  return vld1q_u8(some);
}

static inline __attribute__((always_inline)) void interleave_rows(
    const uint8x16_t rows[SIDE], int32x4_t out[SUM_REGISTERS]) {
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

static inline __attribute__((always_inline)) void transpose_signed(
    const uint8_t* const from[SIDE], size_t count, int32x4_t out[SOME]) {
  ETX_UNROLLED
  for (size_t first = 0; first < CHANNELS; first += BYTES) {
    uint8x16_t rows[SIDE];
    ETX_UNROLLED
    for (size_t i = 0; i < SIDE; ++i) {
      rows[i] = load_channels(from[i], first, count);
    }
    interleave_rows(rows, out + first / LANES);
  }
}

static inline __attribute__((always_inline)) void transpose_bytes(
    const uint8_t* const from[SIDE], size_t count, int32x4_t out[SOME]) {
  transpose_signed(from, count, out);
  ETX_UNROLLED
  for (size_t i = 0; i < SOME; ++i) out[i] ^= (int32_t)0x80808080;
}

typedef struct byte_bounds_dotprod {
  float low, high;
  int32_t zero;
} byte_bounds_dotprod;

static inline byte_bounds_dotprod bounds_of(const etx_u8_requantize* r) {
  return (byte_bounds_dotprod){r->low, r->high, r->zero};
}

static inline __attribute__((always_inline)) void store_bytes(
    const float32x4_t f[SOME], const etx_u8_requantize* r,
    const byte_bounds_dotprod* bounds, size_t count, uint8_t* to) {
  (void)r;
  ETX_UNROLLED
  for (size_t first = 0; first < CHANNELS; first += BYTES) {
    const uint8x16_t all =
        bytes_of(f + first / LANES, bounds->low, bounds->high, bounds->zero);
    if (first + BYTES <= count) {
      vst1q_u8(to + first, all);
    } else if (first < count) {
      memcpy(to + first, &all, count - first);
    }
  }
}
