// The loops of convolutions with windows of 3 x 3 neighbours in Winograd's form
// F(2 x 2, 3 x 3), compiled for each instruction set as those of
// f32_microkernels.h are. A tile of 2 x 2 results sees 4 x 4 elements d of a
// channel; g are a channel's weights:
//
//   V = B' d B      U = G g G'      M = sum over channels of U V      A' M A
//
//        1  0 -1  0         1    0    0
//   B' = 0  1  1  0    G =  1/2  1/2  1/2    A' = 1  1  1  0
//        0 -1  1  0         1/2 -1/2  1/2         0  1 -1 -1
//        0  1  0 -1         0    0    1
//
// where U V is element by element: 16 products for four results, not 36. Sums
// over channels are those of etx_conv_oc_dense, whose positions are tiles. The
// matrix on the left is taken first, and sums go from left to right, but those
// of G: (g0 + g2) + g1, (g0 + g2) - g1.

#ifndef ETX_RUNTIME_KERNELS_SIMD_F32_WINOGRAD_MICROKERNELS_H
#define ETX_RUNTIME_KERNELS_SIMD_F32_WINOGRAD_MICROKERNELS_H

#include <stddef.h>

#include "runtime/kernels/simd/f32/conv_microkernels.h"

enum {
  ETX_WINOGRAD_TAPS = 9,
  ETX_WINOGRAD_PLACES = 16,  // elements of d, U, V, M
};

// What tiles see of one channel, `patch`, as V. Tile t, row by row, writes to
// places out + t and on, `place` apart; what follows a row of tiles up to whole
// sixteens of them is written as well, and up to as much behind what tiles see
// is read.
typedef struct etx_winograd_input {
  const float* patch;
  ptrdiff_t patch_row;
  size_t rows, columns;  // of tiles
  float* out;
  ptrdiff_t place;
} etx_winograd_input;

typedef void (*etx_winograd_input_loop)(const etx_winograd_input* input);

// Weights [count][9][16] of a panel as U [16][count][16].
typedef void (*etx_winograd_weight_loop)(const float* weights, size_t count,
                                         float* out);

// M [16][tiles][channels], places `place` apart and tiles `tile`, as results
// [.., channels], `tile` apart: `height` rows of `width`, which end in the last
// row and column of tiles.
typedef struct etx_winograd_output {
  const float* sums;
  ptrdiff_t place, tile;
  size_t channels;  // in whole panels
  size_t height, width;
  float* out;
} etx_winograd_output;

typedef void (*etx_winograd_output_loop)(const etx_winograd_output* output);

typedef struct etx_winograd_loops {
  etx_winograd_input_loop input;
  etx_winograd_weight_loop weights;
  etx_winograd_output_loop output;
} etx_winograd_loops;

#endif
