// Products of quantised rows with quantised weights where the processor
// multiplies unsigned bytes by signed ones (int8_dot_loops.h). Rows are stored as
// bytes, int8 plus 128, and each sum of products is corrected with the sum of
// the weights:
//
//   sum of (byte - base) * weight = sum of byte * weight
//                                   - base * sum of weights
//
// Few rows are multiplied by weights as they are stored, and so is one row more
// of ones, which gives the sums of the weights. For many rows thirty-two rows
// of the weights at a time are copied to the stack, four elements of each next
// to those of the others, and summed meanwhile. A file may have such panels, and
// the sums: then they are read for any rows, and nothing is copied. So many rows
// that a core's own cache does not keep their bytes pass them part by part.
//
// Sums of integers are exact and floats have one order (quantized_loops.h), so
// results are those of any other way.

#ifndef ETX_RUNTIME_KERNELS_QUANTIZED_QUANTIZED_LINEAR_INT8_H
#define ETX_RUNTIME_KERNELS_QUANTIZED_QUANTIZED_LINEAR_INT8_H

#include "runtime/kernel.h"
#include "runtime/kernels/simd/int8/int8_dot_loops.h"
#include "runtime/kernels/quantized/quantized_linear_args.h"

// Whether weights are as the loops know them: int8 with one scale for a
// row, or 4 bits in groups of 32, 64 or 128.
bool etx_quantized_linear_int8_supports(const etx_packed_weights* weight);

// Temporary bytes for so many rows; false if they do not fit in a size.
bool etx_quantized_linear_int8_bytes(size_t rows, size_t inner, size_t* out_bytes);

// Computes all of it, over the threads of `parallel` if it is large enough. The
// result has an element, and `temporary` the bytes stated above, 16-aligned.
void etx_quantized_linear_int8_run(const etx_quantized_linear* linear,
                             const etx_int8_dot_loops* loops, void* temporary,
                             const etx_parallel* parallel);

#endif
