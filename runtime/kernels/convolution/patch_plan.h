// Splits a convolution into tiles of output positions. Each tile reads a patch
// of every input channel. Positions are counted along the patch's rows,
//
//         pitch                 result 2 stands for a position that does not
//     .-----------.             exist, nor do those between two rows: they are
//     | 0 1 (2)   |             computed, too, and not stored
//     | 3 4       |
//     '-----------'
//
// so that the inputs of one tap at all positions are contiguous, at an offset
// that depends on the tap alone. With strides, the patch is split into phases,
// in which elements that are a stride apart are neighbours. Zeros after a row
// and before the next row are shared.
//
// In a 1 x 1 convolution a tile is packed: its lanes are stored group by group,
// and in a group tap by tap.
//
// If all taps are summed at once, the sums stay in registers until they are
// results (etx_conv_pixels): for 1 x 1 windows, which read the input in place,
// or for few channels, all of whose patches fit.
//
// Few positions waste lanes. Then lanes are output channels (etx_conv_oc):
// weights are transposed on the stack, and positions that do not exist are left
// out. The input is read one element at a time, so neighbours may be a stride
// apart: patches have no phases. If no window reaches out of the input, no
// patch is copied at all.

#ifndef ETX_RUNTIME_KERNELS_CONVOLUTION_PATCH_PLAN_H
#define ETX_RUNTIME_KERNELS_CONVOLUTION_PATCH_PLAN_H

#include "runtime/kernels/core/chain_store.h"
#include "runtime/kernels/convolution/convolution.h"
#include "runtime/kernels/simd/f32/f32_microkernels.h"

enum {
  ETX_PATCHES = 8192,     // floats of the patches that exist at a time
  ETX_PATCH_BEHIND = 64,  // floats that are read behind them
  ETX_PATCH_SUMS = 256 * 64,
  ETX_PATCH_TAPS = 256,  // that are summed at a time
  ETX_PATCH_PHASES = 8,  // in each direction
  ETX_PATCH_GROUP = ETX_LANE_GROUP_BYTES / 4,
  ETX_CONV_OC_BLOCK = 64,  // whose weights are transposed at a time
  ETX_CONV_OC_TAPS = 147,  // 16 channels of 3 x 3, or colours of 7 x 7
  ETX_CONV_OC_TILE = 448,  // positions, at most
  // For tiles whose lanes are channels: weights are transposed for each.
  ETX_CONV_OC_PATCHES = 12288,
  ETX_CONV_OC_SUMS = ETX_CONV_OC_TILE * ETX_CONV_OC_BLOCK,
};

// One direction. Tap t reads phase (t * dilation) mod stride, or rather the
// number of that phase among those that are read.
typedef struct etx_patch_direction {
  etx_window window;
  size_t step;  // from position to position; not 1: there are no phases
  size_t phases;
  int64_t first[ETX_PATCH_PHASES];  // of each: what its first tap is beside 0
  size_t extra;                     // elements of a phase beyond positions
  int64_t tile;                     // result positions of a tile
  int64_t tiles;
} etx_patch_direction;

typedef struct etx_patch_plan {
  etx_convolution c;
  const etx_f32_microkernels* loops;
  etx_chain_store store;
  etx_patch_direction y, x;
  bool is_packed;
  bool is_direct;  // whole groups of a packed tile are read where they lie
  bool has_many_weights;   // more than a near cache holds
  bool has_channel_lanes;  // result channels are lanes; direct: the input is
                           // read
  bool has_pixel_lanes;    // sums stay in registers until they are results
  bool parts_channels;     // blocks of channels come first, then tiles
  etx_depthwise_loop depthwise_planes;  // of planes where they lie, or NULL
  bool is_plane;  // a channel sees one channel: a tile is summed row by row
  size_t pitch, phase, patch;  // elements of a row, a phase, a channel's patch
  size_t taps;                 // of a channel, or of a part of its windows
  size_t parts;                // of a channel's windows, one after the other
  size_t room;                 // floats of the patches that exist at a time
  size_t channels;             // whose patches these are
  size_t lanes;                // of a tile, at most
  size_t thread_count;
  int64_t rows, row_blocks;  // result channels that share patches
  ptrdiff_t offsets[ETX_PATCH_TAPS];
} etx_patch_plan;

// The elements of one phase in one direction: number i is input first + i *
// stride; those from `begin` up to `end` exist.
typedef struct etx_patch_piece {
  int64_t first, stride;
  size_t begin, end, count;
} etx_patch_piece;

// The elements of phase number `phase` for `size` results from `out` on.
etx_patch_piece etx_patch_piece_of(const etx_patch_direction* direction,
                                   size_t phase, int64_t out, size_t size);

// False if patches do not support these windows or types.
bool etx_patch_plan_start(etx_patch_plan* plan,
                          const etx_convolution* convolution);

#endif
