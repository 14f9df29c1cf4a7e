// Direct convolution vectorised over pixels, whose sums stay in registers from
// the first tap to the result (etx_conv_pixels). Include after
// depthwise_row_template.h. The last vector of a row overlaps the one before
// it, which belongs to the same block.
//
//   VECTOR_BYTES          required  bytes of a vector register: 32 or 64
//   ETX_F32_FMA(a, b, c)  required  a * b + c, rounded once: f32_vec_template.h

#if !defined(VECTOR_BYTES) || !defined(ETX_F32_FMA)
#error "this header needs the macros of its table"
#endif

#include "runtime/kernels/simd/vector/loop_step.h"
#include "runtime/kernels/simd/vector/loop_unrolled.h"
#include "runtime/kernels/simd/f32/conv_microkernels.h"

enum {
  CONV_PIXEL_LANES = ETX_F32_LANES,
  CONV_PIXEL_GROUPS = 3,
  CONV_PIXEL_NEAR = 4,  // rows of weights addressed from one register
  CONV_PIXEL_LINE = ETX_LANE_GROUP_BYTES / 4,
#if VECTOR_BYTES == 64
  CONV_PIXEL_ROWS = ETX_CONV_PIXEL_CHANNELS,  // channels of a block
#else
  CONV_PIXEL_ROWS = ETX_CONV_PIXEL_CHANNELS / 2,
#endif
};

// The place of a block: its first channel, its row of pixels `line`, its first
// pixel `at`, and the first pixel of its last vector.
typedef struct conv_pixel_place {
  size_t channel, line, at, last;
} conv_pixel_place;

// The first pixel of vector g of a block, relative to the block's first pixel.
static inline size_t conv_pixel_at(const conv_pixel_place* place, size_t g,
                                   size_t groups) {
  return g + 1 < groups ? g * CONV_PIXEL_LANES : place->last - place->at;
}

// Stores the sums with bias, addition and clamp.
static inline __attribute__((always_inline)) void conv_pixel_store(
    const etx_conv_pixels* p, const conv_pixel_place* place, size_t groups,
    float* out, const float* added,
    etx_f32_vec acc[CONV_PIXEL_ROWS][CONV_PIXEL_GROUPS]) {
  static const float none = -0.0f;
  etx_row_store store = p->store;
  const ptrdiff_t step = p->bias == NULL ? 0 : p->bias_step;
  const float* bias = p->bias == NULL ? &none : p->bias;
  bias += (ptrdiff_t)place->channel * step;
  ETX_UNROLLED
  for (size_t c = 0; c < CONV_PIXEL_ROWS; ++c) {
    store.bias = *bias + p->store.bias;
    if (added != NULL) {
      ETX_UNROLLED
      for (size_t g = 0; g < groups; ++g) {
        etx_f32_vec other;
        memcpy(&other, added + conv_pixel_at(place, g, groups), sizeof other);
        acc[c][g] = other + (acc[c][g] + store.bias);
      }
      store.bias = -0.0f;
      ETX_STEP(added, p->out_channel);
    }
    ETX_UNROLLED
    for (size_t g = 0; g < groups; ++g) {
      finish_plane(&store, &acc[c][g], NULL,
                   out + conv_pixel_at(place, g, groups));
    }
    ETX_STEP(out, p->out_channel);
    ETX_STEP(bias, step);
  }
}

// `groups` vectors of a line. Inlined with constants, so that the sums stay in
// registers.
static inline __attribute__((always_inline)) void conv_pixel_block(
    const etx_conv_pixels* p, const conv_pixel_place* place, size_t groups,
    bool has_panels) {
  const ptrdiff_t channel = (ptrdiff_t)place->channel;
  const ptrdiff_t line = (ptrdiff_t)place->line, at = (ptrdiff_t)place->at;
  const ptrdiff_t to = channel * p->out_channel + line * p->store.out_row + at;
  const ptrdiff_t weight_row = has_panels ? 1 : p->weight_row;
  const ptrdiff_t weight_tap = has_panels ? ETX_CONV_OC_CHANNELS : 1;
  const ptrdiff_t* const offsets = p->offsets;
  // The distance to the next block of the line, or, behind the last one, to
  // where neighbouring positions continue.
  const size_t prefetch_distance = place->last + CONV_PIXEL_LANES - place->at;
  const float* weights = p->weights + channel * weight_row;
  const float* input = p->store.sums + line * p->store.sum_row + at;
  etx_f32_vec acc[CONV_PIXEL_ROWS][CONV_PIXEL_GROUPS] = {{{0}}};
  const float* asked = p->store.out + to;
  ETX_UNROLLED
  for (ptrdiff_t c = 0; c < CONV_PIXEL_ROWS; ++c) {
    ETX_UNROLLED
    for (size_t i = 0; i < groups * CONV_PIXEL_LANES; i += CONV_PIXEL_LINE) {
      __builtin_prefetch(asked + i, 1);
    }
    ETX_STEP(asked, p->out_channel);
  }
  for (size_t piece = 0; piece < p->pieces; ++piece, input += p->piece) {
    const size_t taps = piece + 1 < p->pieces ? p->taps : p->last_taps;
    for (size_t k = 0; k < taps; ++k, weights += weight_tap) {
      const float* const from = input + offsets[k];
      const float* next = from;
      etx_f32_vec x[CONV_PIXEL_GROUPS];
      // Taps are too far apart for the hardware prefetcher.
      ETX_STEP(next, (ptrdiff_t)prefetch_distance);
      ETX_UNROLLED
      for (size_t i = 0; i < groups * CONV_PIXEL_LANES; i += CONV_PIXEL_LINE) {
        __builtin_prefetch(next + i);
      }
      ETX_UNROLLED
      for (size_t g = 0; g < groups; ++g) {
        memcpy(&x[g], from + conv_pixel_at(place, g, groups), sizeof x[g]);
        ETX_F32_KEEP(x[g]);
      }
      const float* near = weights;
      ETX_UNROLLED
      for (ptrdiff_t c = 0; c < CONV_PIXEL_ROWS; ++c) {
        const ptrdiff_t row = c % CONV_PIXEL_NEAR;
        if (c > 0 && row == 0) ETX_STEP(near, CONV_PIXEL_NEAR * weight_row);
        const etx_f32_vec weight = ETX_F32_BROADCAST(near[row * weight_row]);
        ETX_UNROLLED
        for (size_t g = 0; g < groups; ++g) {
          acc[c][g] = ETX_F32_FMA(weight, x[g], acc[c][g]);
        }
      }
    }
  }
  conv_pixel_store(p, place, groups, p->store.out + to,
                   p->store.added == NULL ? NULL : p->store.added + to, acc);
}

// Prefetches a share of the weights of the channels from `channel` on: that of
// `some` of `all` vectors.
static void conv_pixel_prefetch(const etx_conv_pixels* p, size_t channel,
                                size_t first, size_t some, size_t all) {
  const size_t taps = (p->pieces - 1) * p->taps + p->last_taps;
  const size_t lines = taps / CONV_PIXEL_LANES + 1;
  const size_t end = lines * (first + some) / all;
  const float* weights = p->weights + (ptrdiff_t)channel * p->weight_row;
  for (size_t c = 0; c < ETX_CONV_PIXEL_CHANNELS;
       ++c, weights += p->weight_row) {
    for (size_t i = lines * first / all; i < end; ++i) {
      __builtin_prefetch(weights + i * CONV_PIXEL_LANES);
    }
  }
}

// Blocks of three vectors, or of two where a single one would be left.
static inline __attribute__((always_inline)) void conv_pixel_line(
    const etx_conv_pixels* p, size_t channel, size_t line, bool has_panels) {
  const size_t count = p->store.count, next = channel + ETX_CONV_PIXEL_CHANNELS;
  const size_t all = (count + CONV_PIXEL_LANES - 1) / CONV_PIXEL_LANES;
  for (size_t first = 0, groups; first < all; first += groups) {
    const size_t left = all - first;
    groups = left > 4 || left == 3 ? 3 : 2;
    const size_t at = first * CONV_PIXEL_LANES;
    conv_pixel_place place = {channel, line, at,
                              at + (groups - 1) * CONV_PIXEL_LANES};
    if (left == groups) place.last = count - CONV_PIXEL_LANES;
    if (line == 0 && next < p->channels && !has_panels) {
      conv_pixel_prefetch(p, next, first, groups, all);
    }
    for (; place.channel < next; place.channel += CONV_PIXEL_ROWS) {
      if (groups == 3) {
        conv_pixel_block(p, &place, 3, has_panels);
      } else {
        conv_pixel_block(p, &place, 2, has_panels);
      }
    }
  }
}

//   @conv_pixel  float32 | direct convolution vectorised over pixels |
//     {CONV_PIXEL_ROWS} channels x {CONV_PIXEL_GROUPS * CONV_PIXEL_LANES}
//     pixels
static void conv_pixel(const etx_conv_pixels* given) {
  etx_conv_pixels p = *given;  // which results do not change
  p.store.bias =
      row_bias(&p.store, -0.0f);  // -0, or 0 if results of -0 become 0
  for (size_t channel = 0; channel < p.channels;
       channel += ETX_CONV_PIXEL_CHANNELS) {
    for (size_t line = 0; line < p.store.rows; ++line) {
      if (p.has_panels) {
        conv_pixel_line(&p, channel, line, true);
      } else {
        conv_pixel_line(&p, channel, line, false);
      }
    }
  }
}
