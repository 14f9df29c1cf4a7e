// Rows of float32 on their way to and from the loops of f32_microkernels.h,
// compiled for each instruction set as those are.

#ifndef ETX_RUNTIME_KERNELS_SIMD_F32_CONV_MICROKERNELS_H
#define ETX_RUNTIME_KERNELS_SIMD_F32_CONV_MICROKERNELS_H

#include <stdbool.h>
#include <stddef.h>

// `rows` rows of `count` elements that lie `step` apart, written side by side.
// Strides are in elements. Nothing but these elements is read or written.
typedef struct etx_row_copy {
  const float* from;
  ptrdiff_t from_row, step;
  float* to;
  ptrdiff_t to_row;
  size_t rows, count;
} etx_row_copy;

typedef void (*etx_row_copy_loop)(const etx_row_copy* copy);

// Of each element x of `rows` rows of `count` elements side by side:
//
//   x += bias;  x = added + x;  x < below ? low : x > high ? high : x
//
// where `below` is `low`, or the least number above it if that is 0.
// Rows of `added` lie as those of `out` do, and elsewhere: the last vector of a
// row may be stored over the one before it.
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

// The same of sums that are taken on the way: that of element i of a row is
// weights [taps] times what lies at i + offsets [taps], from zero on, where
// `store.sums` begins and a row is `store.sum_row` behind the one before; each
// step is rounded once (f32_vec_template.h). Up to ETX_LANE_GROUP_BYTES behind
// a row are read, too. Rows are written in order: what is written of those
// behind one that lie right there is overwritten.
typedef struct etx_depthwise_row {
  etx_row_store store;
  const float* weights;
  const ptrdiff_t* offsets;
  size_t taps;
} etx_depthwise_row;

typedef void (*etx_depthwise_row_loop)(const etx_depthwise_row* plane);

// The same for windows of `kernel` times `kernel` neighbours, 3, 5 or 7, read
// where they lie: result (y, x) sees rows row + y stride and on of `in`, from
// column + x stride on. What lies outside of it is zero, and not read. `stride`
// is 1 or 2, for windows of 7 it is 1. Some planes one after the other, since
// what their places come to is the same: `store` has the first one's places,
// but neither sums nor bias.
typedef struct etx_depthwise_planes {
  etx_row_store store;
  size_t planes;
  ptrdiff_t out_plane;  // from one to the next, of what is added too
  const float* bias;    // of the first one; NULL: none
  ptrdiff_t bias_step;
  const float* weights;
  ptrdiff_t weight_plane;
  const float* in;
  ptrdiff_t in_plane, in_row;
  ptrdiff_t in_rows, in_columns;
  ptrdiff_t row, column, stride, kernel;
} etx_depthwise_planes;

typedef void (*etx_depthwise_loop)(const etx_depthwise_planes* planes);

// out [i] = the largest of `rows` times `taps` elements from column first +
// i stride on, taps `tap` columns apart, in this order: of equal ones the
// first, of NaNs the last, -infinity if there is none. A row begins at `in` and
// is `in_row` behind the one before; columns below 0 and from `columns` on do
// not count and are not read. `stride` is 1 or 2.
typedef struct etx_max_pool_row {
  const float* in;
  ptrdiff_t in_row, first, columns, tap, stride;
  size_t rows, taps;
  float* out;
  size_t count;
} etx_max_pool_row;

typedef void (*etx_max_pool_row_loop)(const etx_max_pool_row* most);

// Sums of positions with result channels as lanes, which few positions fill
// better than they fill lanes themselves: sums [positions, channels] += what
// lies at places [position] + offsets [taps] of `seen`, times the group of
// channels at weight_places [taps] of a group's weights, tap by tap, in steps
// that are rounded once.
typedef struct etx_conv_oc {
  const float* seen;
  const ptrdiff_t* places;
  const ptrdiff_t* offsets;
  const float* weights;
  ptrdiff_t weight_group;
  const ptrdiff_t* weight_places;
  // So far behind each weight is one that is wanted next, and asked for once;
  // 0: none.
  ptrdiff_t weight_prefetch;
  float* sums;
  ptrdiff_t sum_row;
  size_t positions, taps;
  size_t groups;  // of ETX_LANE_GROUP_BYTES, at most 4
  bool starts;    // the sums are zero, and not read
  // What is asked of memory meanwhile: so many rows, `ahead_row` bytes apart,
  // of as many floats as there are taps.
  const char* ahead;
  ptrdiff_t ahead_row;
  size_t ahead_rows;
} etx_conv_oc;

typedef void (*etx_conv_oc_loop)(const etx_conv_oc* spots);

// A group of channels on its way out: elements of a channel lie side by side,
// and become what etx_row_store says. `store` has the first one's places, but
// the sums are those of etx_conv_oc, of whole groups of positions.
typedef struct etx_conv_oc_store {
  etx_row_store store;  // one row
  ptrdiff_t out_channel;
  const float* bias;  // of each channel
  size_t channels;    // up to a group
} etx_conv_oc_store;

typedef void (*etx_conv_oc_store_loop)(const etx_conv_oc_store* store);

// The same of positions that lie side by side: sums [positions][channels] +=
// seen [taps][positions] times weights [panels][taps][16]. Sums have whole
// pairs of panels; those beside a panel that stands alone may be written.
enum { ETX_CONV_OC_CHANNELS = 16, ETX_CONV_OC_LINE = 64 };

typedef struct etx_conv_oc_dense {
  const float* seen;
  ptrdiff_t seen_row;  // from tap to tap
  const float* weights;
  ptrdiff_t weight_panel;
  float* sums;
  ptrdiff_t sum_row;
  size_t positions, taps, panels;
  bool starts;  // the sums are zero, and not read
  // What is asked of memory meanwhile: so many pieces, `ahead_piece` bytes
  // apart, of lines of 64 bytes; at most one for each tap.
  const char* ahead;
  ptrdiff_t ahead_piece;
  size_t ahead_pieces, ahead_lines;
  // And where the positions that are seen next lie at the first tap; `seen` if
  // they were seen before.
  const float* next;
} etx_conv_oc_dense;

typedef void (*etx_conv_oc_dense_loop)(const etx_conv_oc_dense* spots);

enum { ETX_CONV_PIXEL_CHANNELS = 8 };  // channels are a multiple of it

// Sums with result positions as lanes, in registers from the first tap to the
// result: element i of a row of a channel is that channel's weights times what
// lies at i + offsets [taps] from where etx_depthwise_row's row begins, then at
// as many places `piece` behind those, and so on; the last piece has
// `last_taps`. Channels are whole eights, rows longer than a group of lanes.
// Nothing but the elements is read or written.
typedef struct etx_conv_pixels {
  etx_row_store store;  // of the first channel, but for the bias
  ptrdiff_t out_channel;
  size_t channels;
  const float* bias;  // of the first channel; NULL: none
  ptrdiff_t bias_step;
  const float* weights;
  // Taps of a channel lie side by side; or, in panels, those of
  // ETX_CONV_OC_CHANNELS channels, of which there are no more then.
  bool has_panels;
  ptrdiff_t weight_row;  // from channel to channel, if they are not
  const ptrdiff_t* offsets;
  size_t taps, last_taps, pieces;
  ptrdiff_t piece;
} etx_conv_pixels;

typedef void (*etx_conv_pixel_loop)(const etx_conv_pixels* points);

#endif
