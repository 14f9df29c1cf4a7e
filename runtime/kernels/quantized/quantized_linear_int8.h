// Quantised rows times quantised weights with dot-product instructions, which
// multiply unsigned bytes by signed ones and add groups of four products
// (int8_dot_loops.h). Rows are stored as int8 plus 128. The sum of products is
// corrected with the sum of the weights:
//
//   sum of (byte - base) * weight = sum of byte * weight
//                                   - base * sum of weights
//
// For few rows, weights are multiplied as they are stored, and an additional
// row of ones gives the sums of the weights. For many rows, 32 rows of the
// weight at a time are copied to a panel on the stack, with four elements of
// each row side by side, and summed on the way. If the file has such panels and
// the sums, they are read in place for any number of rows. So many rows that
// their bytes do not fit L2 are computed in parts.
//
// Integer sums are exact and float sums have one order (quantized_loops.h), so
// results are bit-equal to those of all other implementations.

#ifndef ETX_RUNTIME_KERNELS_QUANTIZED_QUANTIZED_LINEAR_INT8_H
#define ETX_RUNTIME_KERNELS_QUANTIZED_QUANTIZED_LINEAR_INT8_H

#include "runtime/kernel.h"
#include "runtime/kernels/core/thread_tiles.h"
#include "runtime/kernels/simd/int8/int8_dot_loops.h"
#include "runtime/kernels/quantized/quantized_linear_args.h"

// True for int8 weights with one scale per row, if the loops multiply bytes,
// and for 4-bit weights in groups of 32, 64, 128 or 256.
bool etx_quantized_linear_int8_supports(const etx_packed_weights* weight,
                                        const etx_int8_dot_loops* loops);

// The workspace's size in bytes. Returns false if it overflows size_t.
bool etx_quantized_linear_int8_bytes(size_t rows, size_t inner, size_t bits,
                                     size_t* out_bytes);

// Computes the product, by the threads of `parallel` if it is large enough. The
// result has at least one element. `temporary` is the workspace, aligned to 16
// bytes.
void etx_quantized_linear_int8_run(const etx_quantized_linear* linear,
                                   const etx_int8_dot_loops* loops,
                                   void* temporary,
                                   const etx_thread_tiles* tiles,
                                   const etx_parallel* parallel);

// The bytes of a thread's tile for a product of so many rows of `inner`
// elements by weights of so many bits.
size_t etx_quantized_linear_int8_tile(size_t rows, size_t inner, size_t bits);

#endif
