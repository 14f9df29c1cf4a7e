// The ways through a convolution that convolution_engine.c chooses from.

#ifndef ETX_RUNTIME_KERNELS_CONVOLUTION_CONVOLUTION_VARIANTS_H
#define ETX_RUNTIME_KERNELS_CONVOLUTION_CONVOLUTION_VARIANTS_H

#include "runtime/kernels/convolution/convolution.h"

// Computes all of a plain float32 convolution over at most two dimensions,
// whose weights of a result channel follow each other, if its windows are small
// enough; false if it has done nothing. Results have the bits that
// convolution_engine.c gives.
bool etx_convolution_patches(const etx_convolution* convolution,
                             const etx_parallel* parallel);

// The same of a transposed one, whatever the order of its weights, if a row of
// results lies side by side and strides are small.
bool etx_convolution_subpixel(const etx_convolution* convolution,
                              const etx_parallel* parallel);

// Computes a float32 convolution whose windows are whole images, or a
// transposed one of images of one position, but for its chain; false if it has
// done nothing. Sums have the order of products (gemm.h).
bool etx_convolution_gemm(const etx_convolution* convolution,
                          const etx_parallel* parallel);

#endif
