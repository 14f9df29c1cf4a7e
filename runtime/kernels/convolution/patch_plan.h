// Splits a convolution into tiles of output positions. Each tile reads a patch
// of every input channel. Positions are counted along the patch's rows, so that
// the inputs of one tap at all positions are contiguous, at an offset that
// depends on the tap alone:
//
//         pitch         (2) stands for the positions that do not exist: those
//     .-----------.     beyond the width of the result, up to the next row of
//     | 0 1 (2)   |     the patch. They are computed, too, and not stored.
//     | 3 4       |
//     '-----------'
//
// With strides, the patch is split into phases,
// in which elements that are a stride apart are neighbours. Zeros after a row
// and before the next row are shared.
//
// In a 1 x 1 convolution a tile is packed: its lanes are stored group by group,
// and in a group one input channel after the other. Each channel is a tap here.
//
// If all taps are summed at once, the sums stay in registers until they are
// results (etx_conv_pixels): for 1 x 1 windows, which read the input in place,
// or for few channels, all of whose patches fit.
//
// Few positions waste lanes. Then lanes are output channels (etx_conv_oc):
// weights are transposed in the thread's tile, and positions that do not exist are left
// out. The input is read one element at a time, so neighbours may be a stride
// apart: patches have no phases. If no window reaches out of the input, no
// patch is copied at all.

#ifndef ETX_RUNTIME_KERNELS_CONVOLUTION_PATCH_PLAN_H
#define ETX_RUNTIME_KERNELS_CONVOLUTION_PATCH_PLAN_H

#include "runtime/kernels/core/chain_store.h"
#include "runtime/kernels/convolution/convolution.h"
#include "runtime/kernels/simd/f32/f32_microkernels.h"

enum {
  ETX_PATCHES = 8192,     // most floats of the patches that exist at a time
  ETX_PATCH_BEHIND = 64,  // floats after the patches that may be read
  ETX_PATCH_SUMS = 256 * 64,
  ETX_PATCH_TAPS = 256,  // most taps that are summed at a time
  ETX_PATCH_PHASES = 8,  // most phases in each direction
  ETX_PATCH_GROUP = ETX_LANE_GROUP_BYTES / 4,
  // output channels whose weights are transposed at a time
  ETX_CONV_OC_BLOCK = 64,
  ETX_CONV_OC_TAPS = 147,  // 16 channels of 3 x 3, or 3 channels of 7 x 7
  // The most positions of a tile whose lanes are output channels. It is large,
  // because the weights are transposed again for each tile.
  ETX_CONV_OC_TILE = 448,
  ETX_CONV_OC_PATCHES = 12288,  // most floats of the patches of such a tile
  ETX_CONV_OC_SUMS = ETX_CONV_OC_TILE * ETX_CONV_OC_BLOCK,
};

// One direction. Tap t reads the elements whose index modulo the stride is
// (t * dilation) mod stride: they are a phase. Phases are numbered in the order
// in which the taps need them; a phase that no tap reads has no number.
typedef struct etx_patch_direction {
  etx_window window;
  size_t step;  // distance of neighbouring positions; if it is not 1, there are
                // no phases
  size_t phases;
  int64_t first[ETX_PATCH_PHASES];  // for each phase, the input element of its
                                    // first tap
  size_t extra;  // elements of a phase beyond one for each position
  int64_t tile;  // output positions of a tile
  int64_t tiles;
} etx_patch_direction;

typedef struct etx_patch_plan {
  etx_convolution c;
  const etx_f32_microkernels* loops;
  etx_chain_store store;
  etx_patch_direction y, x;
  bool is_packed;
  bool is_direct;          // the input is read in place: whole groups of a
                           // packed tile; with channel lanes or keeps_sums,
                           // all of it
  bool has_many_weights;   // the weights do not fit L2
  bool has_channel_lanes;  // lanes are output channels
  bool keeps_sums;         // lanes are pixels, and all taps are summed at once:
                           // sums stay in registers (etx_conv_pixels)
  bool splits_channels;    // work items are ordered by blocks of channels, then
                           // by tiles
  etx_depthwise_loop depthwise_planes;  // the loop that computes whole planes
                                        // in place, or NULL
  bool is_plane;               // depthwise: a tile is summed row by row
  size_t pitch, phase, patch;  // elements of a patch's row, phase, and whole
  size_t taps;   // taps of a channel, or of one part of its windows
  size_t parts;  // parts of a channel's windows, computed one after the other
  size_t room;   // floats of the patches that exist at a time
  size_t channels;  // channels whose patches exist at a time
  size_t lanes;     // most lanes of a tile
  size_t thread_count;
  int64_t rows, row_blocks;  // output channels that share patches; their blocks
  ptrdiff_t offsets[ETX_PATCH_TAPS];
} etx_patch_plan;

// The elements of one phase in one direction. Element i is the input's element
// first + i * stride; elements from `begin` up to `end` exist.
typedef struct etx_patch_piece {
  int64_t first, stride;
  size_t begin, end, count;
} etx_patch_piece;

// Returns the elements of phase number `phase` that `size` results from `out`
// on read.
etx_patch_piece etx_patch_piece_of(const etx_patch_direction* direction,
                                   size_t phase, int64_t out, size_t size);

// Plans the convolution. False if patches do not support its windows or types.
bool etx_patch_plan_start(etx_patch_plan* plan,
                          const etx_convolution* convolution);

#endif
