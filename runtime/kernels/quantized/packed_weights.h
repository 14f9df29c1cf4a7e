// The rows of a quantised matrix [rows, inner], unpacked in chunks.
//
//   8 bits   element k of a row is its byte k (int8 or uint8); or, of int8 with
//            one scale a row, panels of sixteen rows with four elements of each
//            side by side: [rows / 16][inner / 4][16][4]
//   4 bits   byte j holds element 2j in its high half and 2j + 1 in its low
//            one, each plus 8
//
// w[n, k] = (q[n, k] - zero[n, k / group]) * scale[n, k / group].
//
// Elements of a chunk come in the order that costs least: for 4 bits first the
// even ones, then the odd ones. Whoever multiplies by them orders his own
// elements alike (etx_packed_order).

#ifndef ETX_RUNTIME_KERNELS_QUANTIZED_PACKED_WEIGHTS_H
#define ETX_RUNTIME_KERNELS_QUANTIZED_PACKED_WEIGHTS_H

#include "runtime/tensor.h"

// Elements of a chunk; the last one of a row may have fewer.
enum { ETX_PACKED_CHUNK = 256 };

// Rows of a panel, and elements of each that lie side by side.
enum { ETX_PACKED_PANEL = 16, ETX_PACKED_INTERLEAVE = 4 };

typedef struct etx_packed_weights {
  const uint8_t* data;  // rows of `row_bytes` without gaps
  etx_dtype dtype;      // of 8-bit elements
  size_t bits;          // 4 or 8
  bool has_panels;      // as above
  size_t row_bytes;
  size_t inner;        // elements of a row
  size_t group;        // elements with one scale, at least 1; even for 4 bits
  size_t groups;       // scales of a row
  const char* scales;  // [rows, groups] of `scale_dtype`, dense
  etx_dtype scale_dtype;
  const int8_t* zeros;  // [rows, groups], dense; NULL: zeros
} etx_packed_weights;

// Elements of a panel from element `first`, a multiple of
// ETX_PACKED_INTERLEAVE, on; `row` is a panel's first one.
static inline const int8_t* etx_packed_panel(const etx_packed_weights* p,
                                             size_t row, size_t first) {
  return (const int8_t*)p->data + row * p->inner + first * ETX_PACKED_PANEL;
}

// The scale of a row's group.
float etx_packed_scale(const etx_packed_weights* p, size_t row, size_t group);

// Unpacks `count` elements of a row from `first` on, a multiple of
// ETX_PACKED_CHUNK: times their scales, or without them if a row has but one.
void etx_packed_floats(const etx_packed_weights* p, size_t row, size_t first,
                       size_t count, float* out);

// The same as q - zero point, never times the scale.
void etx_packed_integers(const etx_packed_weights* p, size_t row, size_t first,
                         size_t count, int16_t* out);

// Copies one chunk of dense floats in the order of 4-bit chunks.
void etx_packed_order(const float* in, size_t count, float* out);

#endif
