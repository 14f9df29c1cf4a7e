// The implementations of a convolution among which convolution_engine.c
// chooses. Where an implementation has a tile (thread_tiles.h), it has a
// function that states the bytes of it for a convolution of these sizes.

#ifndef ETX_RUNTIME_KERNELS_CONVOLUTION_CONVOLUTION_VARIANTS_H
#define ETX_RUNTIME_KERNELS_CONVOLUTION_CONVOLUTION_VARIANTS_H

#include "runtime/kernels/convolution/convolution.h"
#include "runtime/kernels/matmul/gemm.h"

// Computes a plain float32 convolution over at most two dimensions, if the
// weights of each output channel are contiguous and its windows are small
// enough; returns false if it has done nothing. Results have the bits of
// convolution_engine.c.
size_t etx_convolution_patches_tile(const etx_convolution* convolution);
bool etx_convolution_patches(const etx_convolution* convolution,
                             const etx_parallel* parallel, void* temporary);

// The same for a transposed convolution with weights in any order, if rows of
// results are contiguous and strides are small.
size_t etx_convolution_subpixel_tile(const etx_convolution* convolution);
bool etx_convolution_subpixel(const etx_convolution* convolution,
                              const etx_parallel* parallel, void* temporary);

// Computes a float32 convolution whose windows are whole images, or a
// transposed one over images of one position, without its chain; returns false
// if it has done nothing. Sums have the order of matrix products (gemm.h).
bool etx_convolution_gemm(const etx_convolution* convolution,
                          const etx_parallel* parallel, void* temporary);

// Sets the sizes, the type and nothing else of the product that
// etx_convolution_gemm computes if the convolution suits it.
etx_gemm etx_convolution_gemm_sizes(const etx_convolution* convolution);

#endif
