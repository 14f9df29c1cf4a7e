// The transforms of Winograd convolution F(2 x 2, 3 x 3), compiled for each
// instruction set as f32_microkernels.h describes. A tile of 2 x 2 results
// reads 4 x 4 elements d of a channel; g are the weights of a channel:
//
//   V = B' d B      U = G g G'      M = sum over channels of U V      A' M A
//
//        1  0 -1  0         1    0    0
//   B' = 0  1  1  0    G =  1/2  1/2  1/2    A' = 1  1  1  0
//        0 -1  1  0         1/2 -1/2  1/2         0  1 -1 -1
//        0  1  0 -1         0    0    1
//
// where U V is elementwise: 16 products for four results instead of 36. The sum
// over channels is computed by etx_conv_oc_dense, whose positions are tiles.
// The left matrix is applied first. Sums go from left to right, except those of
// G: (g0 + g2) + g1 and (g0 + g2) - g1.

#ifndef ETX_RUNTIME_KERNELS_SIMD_F32_WINOGRAD_MICROKERNELS_H
#define ETX_RUNTIME_KERNELS_SIMD_F32_WINOGRAD_MICROKERNELS_H

#include <stddef.h>

#include "runtime/kernels/simd/f32/conv_microkernels.h"

enum {
  ETX_WINOGRAD_TAPS = 9,
  ETX_WINOGRAD_PLACES = 16,  // elements of d, U, V, M
};

// Input transform of one channel: `patch` becomes V. Element i of V of tile t,
// in row-major order, goes to out[t + i * place]. A row of tiles is written up
// to a multiple of sixteen tiles, and as much is read behind the input.
typedef struct etx_winograd_input {
  const float* patch;
  ptrdiff_t patch_row;
  size_t rows, columns;  // rows and columns of tiles
  float* out;
  ptrdiff_t place;
} etx_winograd_input;

typedef void (*etx_winograd_input_loop)(const etx_winograd_input* input);

// Weight transform: weights [count][9][16] of a panel become U [16][count][16].
typedef void (*etx_winograd_weight_loop)(const float* weights, size_t count,
                                         float* out);

// Output transform: M [16][tiles][channels], elements `place` apart and tiles
// `tile` apart, becomes results [height, width, channels], pixels `tile` apart.
// The last row and column of tiles may be cut off.
typedef struct etx_winograd_output {
  const float* sums;
  ptrdiff_t place, tile;
  size_t channels;  // whole panels
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
