// out[m, n] = sum over k of input[m, k] * w[n, k] (+ bias[n]) with quantised w,
// in float32, or over integers where the input is quantised too.
//
// The input is prepared once, in temporary memory: as floats in the order of
// the weights' chunks, or row by row as int8 minus its zero point, in 16 bits.
// Dense float32 in plain order is used where it lies.

#ifndef ETX_RUNTIME_KERNELS_QUANTIZED_QUANTIZED_LINEAR_H
#define ETX_RUNTIME_KERNELS_QUANTIZED_QUANTIZED_LINEAR_H

#include "runtime/kernel.h"
#include "runtime/kernels/quantized/quantized_linear_args.h"

// Temporary bytes for an input; false if they do not fit in a size.
bool etx_quantized_linear_bytes(const etx_tensor* input, size_t bits,
                                bool is_integer, size_t* out_bytes);

// Computes all of it, over the threads of `parallel` if it is large enough.
// `temporary` has the bytes stated above, 16-aligned.
void etx_quantized_linear_run(const etx_quantized_linear* linear,
                              void* temporary, const etx_parallel* parallel);

#endif
