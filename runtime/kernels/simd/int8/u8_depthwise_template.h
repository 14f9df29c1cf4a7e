// Depthwise convolution of uint8 (etx_u8_loops.windows). The bytes of several
// rows of the image are interleaved by channel once for all results that read
// them.
//
//   I32_VEC       required  type of a register of sums
//   F32_VEC       required  the same with float lanes
//   BYTE_BOUNDS   required  type of clamp bounds
//   HALF_OF_LESS  optional  where the bytes of transpose_bytes are less than
//                           the image's: half of the difference in all bytes of
//                           a register
//
// The including file also defines:
//
//   CHANNELS, SOME   constants: channels at a time, registers of their sums
//   SIDE             constant: rows of the image whose bytes share a lane
//   register_of(channel), lane_of(channel)      the place of a channel's sum
//   transpose_bytes(from, count, out)           lanes of `count` channels of
//                                               SIDE rows; NULL: a row of zeros
//   transpose_signed(from, count, out)          the same for weights
//   add_products(sum, bytes, weights)           adds four products to each lane
//   bounds_of(results)                          clamp bounds, a BYTE_BOUNDS
//   store_bytes(f, results, bounds, count, to)  requantises and stores bytes

#if !defined(I32_VEC) || !defined(F32_VEC) || !defined(BYTE_BOUNDS)
#error "define I32_VEC, F32_VEC and BYTE_BOUNDS before this header"
#endif

#include "runtime/kernels/simd/int8/u8_requantize.h"

enum {
  ROOM_OF_WEIGHTS = 28,  // registers of a window's, / SOME
  ROOM_OF_COLUMNS = 48,  // columns of the image that fit
};

// The working data of up to CHANNELS channels: parameters, weights and columns.
typedef struct channel_block {
  const etx_u8_depthwise* w;
  size_t first, count;  // channels, at most CHANNELS
  size_t sides;         // of a window's rows
  BYTE_BOUNDS bounds;
  I32_VEC offsets[SOME];
  F32_VEC scales[SOME], bias[SOME];
  I32_VEC (*weights)[SOME];  // [kernel_x][sides], in the tile
  I32_VEC (*columns)[SOME];  // the same of columns
} channel_block;

typedef struct channel_tile {
  I32_VEC weights[ROOM_OF_WEIGHTS][SOME];
  I32_VEC columns[ROOM_OF_COLUMNS][SOME];
} channel_tile;

_Static_assert(sizeof(channel_tile) <= ETX_U8_DEPTHWISE_TILE,
               "the tile has room for weights and columns");

// A number of each channel where its sum lies.
static void transpose_numbers(const void* from, size_t count, int32_t rest,
                              void* out) {
  enum { LANES_OF_SUMS = CHANNELS / SOME };
  int32_t made[SOME][LANES_OF_SUMS];
  for (size_t c = 0; c < CHANNELS; ++c) {
    int32_t* to = &made[register_of(c)][lane_of(c)];
    *to = rest;
    if (c < count) memcpy(to, (const char*)from + c * sizeof *to, sizeof *to);
  }
  memcpy(out, made, sizeof made);
}

static void start_channels(channel_block* t) {
  enum { MINUS_ZERO = INT32_MIN };
  const etx_u8_depthwise* w = t->w;
  const etx_u8_requantize* r = w->results;
  const float* bias = r->bias == NULL ? NULL : r->bias + t->first;
  transpose_numbers(r->offsets + t->first, t->count, 0, t->offsets);
  transpose_numbers(r->scales + t->first, t->count, 0, t->scales);
  transpose_numbers(bias, bias == NULL ? 0 : t->count, MINUS_ZERO, t->bias);
  for (size_t x = 0; x < w->kernel_x; ++x) {
    for (size_t s = 0; s < t->sides; ++s) {
      const uint8_t* rows[SIDE] = {NULL};
      for (size_t i = 0; i < SIDE && s * SIDE + i < w->kernel_y; ++i) {
        const size_t tap = (s * SIDE + i) * w->kernel_x + x;
        rows[i] = (const uint8_t*)w->weights + tap * w->channels + t->first;
      }
      I32_VEC* packed = t->weights[x * t->sides + s];
      transpose_signed(rows, t->count, packed);
#ifdef HALF_OF_LESS
      for (size_t k = 0; k < SOME; ++k) {
        I32_VEC* sum = &t->offsets[k];
        *sum = add_products(*sum, HALF_OF_LESS, packed[k]);
        *sum = add_products(*sum, HALF_OF_LESS, packed[k]);
      }
#endif
    }
  }
}

// Loads the columns of the image from `column` on, for the rows that some
// results read.
static inline __attribute__((always_inline)) void transpose_columns(
    channel_block* t, const uint8_t* const* rows, int64_t column, size_t count,
    bool is_whole) {
  const etx_u8_depthwise* w = t->w;
  const size_t bytes = is_whole ? (size_t)CHANNELS : t->count;
  for (size_t s = 0; s < t->sides; ++s) {
    const uint8_t *from[SIDE] = {NULL}, *row[SIDE] = {NULL};
    const size_t left = w->kernel_y - s * SIDE;
    for (size_t i = 0; i < SIDE && i < left; ++i) {
      row[i] = rows[(s * SIDE + i) * w->dilation_y];
    }
    for (size_t c = 0; c < count; ++c) {
      const int64_t at = column + (int64_t)c;
      const bool is_inside = at >= 0 && at < (int64_t)w->columns;
      const size_t place = (size_t)at * w->channels + t->first;
      ETX_UNROLLED
      for (size_t i = 0; i < SIDE; ++i) {
        if (i >= left) break;
        from[i] = row[i] == NULL || !is_inside ? w->outside + t->first
                                               : row[i] + place;
      }
      transpose_bytes(from, bytes, t->columns[c * t->sides + s]);
    }
  }
}

static inline __attribute__((always_inline)) void store_window(
    const channel_block* t, const I32_VEC sums[SOME], size_t at) {
  const etx_u8_requantize* r = t->w->results;
  F32_VEC f[SOME];
  ETX_UNROLLED
  for (size_t i = 0; i < SOME; ++i) {
    f[i] =
        __builtin_convertvector(sums[i], F32_VEC) * t->scales[i] + t->bias[i];
  }
  if (!r->is_float) {
    store_bytes(f, r, &t->bounds, t->count, (uint8_t*)t->w->out + at);
    return;
  }
  for (size_t c = 0; c < t->count; ++c) {
    ((float*)t->w->out)[at + c] = f[register_of(c)][lane_of(c)];
  }
}

// Neighbouring results, from element `at` on. Their columns are interleaved
// already.
static inline __attribute__((always_inline)) void depthwise_planes(
    const channel_block* t, size_t count, size_t at, size_t kernel_x,
    size_t sides) {
  const etx_u8_depthwise* w = t->w;
  for (size_t o = 0; o < count; ++o, at += w->channels) {
    I32_VEC sums[SOME];
    memcpy(sums, t->offsets, sizeof sums);
    for (size_t x = 0; x < kernel_x; ++x) {
      const I32_VEC* input =
          t->columns[(o * w->stride_x + x * w->dilation_x) * sides];
      const I32_VEC* weights = t->weights[x * sides];
      for (size_t i = 0; i < sides * SOME; i += SOME) {
        ETX_UNROLLED
        for (size_t k = 0; k < SOME; ++k) {
          sums[k] = add_products(sums[k], input[i + k], weights[i + k]);
        }
      }
    }
    store_window(t, sums, at);
  }
}

static inline size_t sides_of(const etx_u8_depthwise* w) {
  return (w->kernel_y + SIDE - 1) / SIDE;
}

// True if there is a tile with room for a window and for the columns of one.
static inline __attribute__((unused)) bool windows_fit(
    const etx_u8_depthwise* w) {
  const size_t fit = ROOM_OF_COLUMNS / sides_of(w);
  return w->tile != NULL && sides_of(w) * w->kernel_x <= ROOM_OF_WEIGHTS &&
         w->dilation_x <= fit && (w->kernel_x - 1) * w->dilation_x < fit;
}

// Computes all results of at most CHANNELS channels.
static void sum_channels(const etx_u8_depthwise* w) {
  enum { THREE = (3 + SIDE - 1) / SIDE };
  channel_tile* const tile = w->tile;
  channel_block t = {.w = w,
                     .first = w->first,
                     .count = w->count,
                     .sides = sides_of(w),
                     .bounds = bounds_of(w->results),
                     .weights = tile->weights,
                     .columns = tile->columns};
  const size_t reach = (w->kernel_x - 1) * w->dilation_x + 1;
  const size_t most = (ROOM_OF_COLUMNS / t.sides - reach) / w->stride_x + 1;
  start_channels(&t);
  for (size_t y = 0; y < w->results_y; ++y) {
    const uint8_t* const* rows = w->rows + y * w->stride_y;
    for (size_t x = 0; x < w->results_x; x += most) {
      const size_t left = w->results_x - x, count = left < most ? left : most;
      const int64_t column = (int64_t)(x * w->stride_x) - w->padding;
      const size_t columns = (count - 1) * w->stride_x + reach;
      const size_t at = (y * w->results_x + x) * w->channels + t.first;
      if (t.count == CHANNELS) {
        transpose_columns(&t, rows, column, columns, true);
      } else {
        transpose_columns(&t, rows, column, columns, false);
      }
      if (w->kernel_x == 3 && t.sides == THREE) {
        depthwise_planes(&t, count, at, 3, THREE);
      } else {
        depthwise_planes(&t, count, at, w->kernel_x, t.sides);
      }
    }
  }
}
