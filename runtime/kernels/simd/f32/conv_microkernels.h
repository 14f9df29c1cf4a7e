// Operands of the convolution, depthwise, pooling and row loops, which are
// compiled for each instruction set as f32_microkernels.h describes. Strides
// are in elements.

#ifndef ETX_RUNTIME_KERNELS_SIMD_F32_CONV_MICROKERNELS_H
#define ETX_RUNTIME_KERNELS_SIMD_F32_CONV_MICROKERNELS_H

#include <stdbool.h>
#include <stddef.h>

// Copies `rows` rows of `count` elements. Elements of the source lie `step`
// apart, those of the result are neighbours. Nothing else is read or written.
typedef struct etx_row_copy {
  const float* from;
  ptrdiff_t from_row, step;
  float* to;
  ptrdiff_t to_row;
  size_t rows, count;
} etx_row_copy;

typedef void (*etx_row_copy_loop)(const etx_row_copy* copy);

// Stores sums: for each element x of `rows` rows of `count` neighbours
//
//   x += bias;  x = added + x;  x < below ? low : x > high ? high : x
//
// where `below` is `low`, or, if `low` is 0, the smallest number above it. Rows
// of `added` have the strides of `out` and must not overlap it: the last vector
// of a row may overlap the one before it.
typedef struct etx_row_store {
  const float* sums;
  ptrdiff_t sum_row;
  float* out;
  ptrdiff_t out_row;
  size_t rows, count;
  float bias;          // -0: nothing is added
  const float* added;  // NULL: nothing is added
  float below, low, high;
} etx_row_store;

typedef void (*etx_row_store_loop)(const etx_row_store* store);

// Depthwise convolution of rows of one channel, stored as above. The sum of
// element i of a row is the sum over k of weights[k] * row[i + offsets[k]], by
// FMA in the order of taps, where the input row begins at `store.sums` and rows
// are `store.sum_row` apart. Up to ETX_LANE_GROUP_BYTES behind a row are read.
// Rows are written in order: if result rows touch, a row's last vector may
// write into the next row, which is written afterwards.
typedef struct etx_depthwise_row {
  etx_row_store store;
  const float* weights;
  const ptrdiff_t* offsets;
  size_t taps;
} etx_depthwise_row;

typedef void (*etx_depthwise_row_loop)(const etx_depthwise_row* plane);

// Depthwise convolution of whole channels with windows of `kernel` x `kernel`
// (3, 5 or 7) neighbours: the window of result (y, x) begins at row
// row + y * stride and column column + x * stride of `in`. Elements outside
// `in` count as zero and are not read. `stride` is 1 or 2, and 1 for windows
// of 7. Several channels are computed in one call; `store` has the pointers of
// the first one, but neither sums nor bias.
typedef struct etx_depthwise_planes {
  etx_row_store store;
  size_t planes;
  ptrdiff_t out_plane;  // from channel to channel, of `added` too
  const float* bias;    // the bias of the first channel; NULL: none
  ptrdiff_t bias_step;
  const float* weights;
  ptrdiff_t weight_plane;
  const float* in;
  ptrdiff_t in_plane, in_row;
  ptrdiff_t in_rows, in_columns;
  ptrdiff_t row, column, stride, kernel;
} etx_depthwise_planes;

typedef void (*etx_depthwise_loop)(const etx_depthwise_planes* planes);

// A row of max pooling: out[i] is the largest of `rows` x `taps` elements from
// column first + i * stride on, with taps `tap` columns apart; of equal
// elements the first, of NaNs the last, -infinity if there are none. The first
// row begins at `in`, and rows are `in_row` apart. Columns below 0 and from
// `columns` on do not count and are not read. `stride` is 1 or 2.
typedef struct etx_max_pool_row {
  const float* in;
  ptrdiff_t in_row, first, columns, tap, stride;
  size_t rows, taps;
  float* out;
  size_t count;
} etx_max_pool_row;

typedef void (*etx_max_pool_row_loop)(const etx_max_pool_row* most);

// Direct convolution vectorised over output channels, for images with few
// pixels:
//
//   sums[position, channel] += sum over taps k, in order, by FMA, of
//       input[places[position] + offsets[k]] * weights[weight_places[k] +
//       channel]
//
// for each group of channels, whose weights are `weight_group` apart.
typedef struct etx_conv_oc {
  const float* input;
  const ptrdiff_t* places;
  const ptrdiff_t* offsets;
  const float* weights;
  ptrdiff_t weight_group;
  const ptrdiff_t* weight_places;
  // Distance from a weight to the one to prefetch; 0: none.
  ptrdiff_t weight_prefetch;
  float* sums;
  ptrdiff_t sum_row;
  size_t positions, taps;
  size_t groups;  // groups of ETX_LANE_GROUP_BYTES, at most 4
  bool starts;    // the sums begin at zero and are not read
  // Memory to prefetch meanwhile: rows, `ahead_row` bytes apart, of as many
  // floats as there are taps.
  const char* ahead;
  ptrdiff_t ahead_row;
  size_t ahead_rows;
} etx_conv_oc;

typedef void (*etx_conv_oc_loop)(const etx_conv_oc* spots);

// Stores the sums of one group of channels of etx_conv_oc, transposed: the
// pixels of a channel become neighbours, with the epilogue of etx_row_store.
// `store` has the pointers of the first channel; sums exist for whole groups of
// positions.
typedef struct etx_conv_oc_store {
  etx_row_store store;  // one row
  ptrdiff_t out_channel;
  const float* bias;  // a bias for each channel
  size_t channels;    // up to a group
} etx_conv_oc_store;

typedef void (*etx_conv_oc_store_loop)(const etx_conv_oc_store* store);

// The same for positions that are neighbours in memory:
// sums[positions][channels] += input[taps][positions] *
// weights[panels][taps][16]. Sums have room for an even number of panels:
// beside a single last panel, the place of its neighbour may be written.
enum { ETX_CONV_OC_CHANNELS = 16, ETX_CONV_OC_LINE = 64 };

typedef struct etx_conv_oc_dense {
  const float* input;
  ptrdiff_t input_row;  // from tap to tap
  const float* weights;
  ptrdiff_t weight_panel;
  float* sums;
  ptrdiff_t sum_row;
  size_t positions, taps, panels;
  bool starts;  // the sums begin at zero and are not read
  // Memory to prefetch meanwhile: pieces, `ahead_piece` bytes apart, of cache
  // lines of 64 bytes; at most one line for each tap.
  const char* ahead;
  ptrdiff_t ahead_piece;
  size_t ahead_pieces, ahead_lines;
  // The first tap of the positions that the next call reads, for prefetching;
  // equal to `input` if they have been read before.
  const float* next;
} etx_conv_oc_dense;

typedef void (*etx_conv_oc_dense_loop)(const etx_conv_oc_dense* spots);

enum { ETX_CONV_PIXEL_CHANNELS = 8 };  // channels are a multiple of it

// Direct convolution vectorised over pixels: sums stay in registers from the
// first tap to the result. Element i of a row of a channel is the sum over taps
// k of that channel's weights times row[i + offsets[k]], where rows begin as
// those of etx_depthwise_row; then the same offsets `piece` further on, and so
// on; the last piece has `last_taps` taps. Channels are a multiple of eight,
// and a row is longer than a group of lanes. Nothing but the elements is read
// or written.
typedef struct etx_conv_pixels {
  etx_row_store store;  // for the first channel, without the bias
  ptrdiff_t out_channel;
  size_t channels;
  const float* bias;  // the bias of the first channel; NULL: none
  ptrdiff_t bias_step;
  const float* weights;
  // With panels, the weights of ETX_CONV_OC_CHANNELS channels are neighbours,
  // and there are no more channels. Otherwise the taps of a channel are.
  bool has_panels;
  ptrdiff_t weight_row;  // from channel to channel, without panels
  const ptrdiff_t* offsets;
  size_t taps, last_taps, pieces;
  ptrdiff_t piece;
} etx_conv_pixels;

typedef void (*etx_conv_pixel_loop)(const etx_conv_pixels* points);

#endif
