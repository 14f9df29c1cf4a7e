// The rows of a quantised weight [rows, inner], unpacked in chunks.
//
//   8 bits   element k of a row is its byte k (int8 or uint8); or, for int8
//            with one scale per row, panels of 16 rows in which 4 elements of
//            each row are neighbours: [rows / 16][inner / 4][16][4]
//   4 bits   byte j has element 2j in its high half and 2j + 1 in its low half,
//            each plus 8
//
// w[n, k] = (q[n, k] - zero[n, k / group]) * scale[n, k / group], or, for 4
// bits, what group_params.h says.
//
// The elements of an unpacked chunk of 4-bit weights are deinterleaved: first
// the even ones, then the odd ones. The other operand of a product must have
// the same order (etx_packed_deinterleave).

#ifndef ETX_RUNTIME_KERNELS_QUANTIZED_PACKED_WEIGHTS_H
#define ETX_RUNTIME_KERNELS_QUANTIZED_PACKED_WEIGHTS_H

#include "runtime/kernels/simd/int8/group_params.h"
#include "runtime/tensor.h"

// Elements of a chunk; the last chunk of a row may have fewer.
enum { ETX_PACKED_CHUNK = 256 };

// Rows of a panel, and elements of each row that are neighbours.
enum { ETX_PACKED_PANEL = 16, ETX_PACKED_INTERLEAVE = 4 };

typedef struct etx_packed_weights {
  const uint8_t* data;  // rows of `row_bytes` without gaps
  etx_dtype dtype;      // type of 8-bit elements
  size_t bits;          // 4 or 8
  bool has_panels;      // see above
  size_t row_bytes;
  size_t inner;   // elements of a row
  size_t group;   // elements with one scale, at least 1; even for 4 bits
  size_t groups;  // scales of a row
  // [rows, groups] of `scale_dtype`, contiguous; [rows] of float32 if there are
  // parameters of groups.
  const char* scales;
  etx_dtype scale_dtype;
  const int8_t* zeros;    // zero points [rows, groups], contiguous; NULL: all 0
  const int16_t* params;  // of groups [rows, groups], contiguous; NULL: none
} etx_packed_weights;

// True if a row has one scale, which is left to the caller.
static inline bool etx_packed_has_row_scale(const etx_packed_weights* p) {
  return p->groups == 1 && p->params == NULL;
}

// True if zero points or parameters move the zero of groups.
static inline bool etx_packed_has_zeros(const etx_packed_weights* p) {
  return p->zeros != NULL || p->params != NULL;
}

// The address of element `first`, a multiple of ETX_PACKED_INTERLEAVE, of a
// panel. `row` is the panel's first row.
static inline const int8_t* etx_packed_panel(const etx_packed_weights* p,
                                             size_t row, size_t first) {
  return (const int8_t*)p->data + row * p->inner + first * ETX_PACKED_PANEL;
}

// The scale of a row's group.
float etx_packed_scale(const etx_packed_weights* p, size_t row, size_t group);

// Unpacks `count` elements of a row, from `first` on, a multiple of
// ETX_PACKED_CHUNK. They are multiplied with their scales if the row has
// groups; a single scale per row is left to the caller.
void etx_packed_floats(const etx_packed_weights* p, size_t row, size_t first,
                       size_t count, float* out);

// The same as integers: q - zero point, without scales.
void etx_packed_integers(const etx_packed_weights* p, size_t row, size_t first,
                         size_t count, int16_t* out);

// Copies one chunk of floats in the order of 4-bit chunks: even elements first.
void etx_packed_deinterleave(const float* in, size_t count, float* out);

#endif
