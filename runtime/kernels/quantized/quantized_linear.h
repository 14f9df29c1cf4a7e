// out[m, n] = sum over k of input[m, k] * w[n, k] (+ bias[n]) with a quantised
// w: in float32 (weight-only quantisation), or over integers (dynamic
// quantisation).
//
// The input is prepared once, in the workspace: as float32 in the order of
// unpacked weights, or quantised row by row to int8 minus the zero point, in 16
// bits. Contiguous float32 input for 8-bit weights is read in place.

#ifndef ETX_RUNTIME_KERNELS_QUANTIZED_QUANTIZED_LINEAR_H
#define ETX_RUNTIME_KERNELS_QUANTIZED_QUANTIZED_LINEAR_H

#include "runtime/kernel.h"
#include "runtime/kernels/quantized/quantized_linear_args.h"

// The workspace's size in bytes: the prepared input, and a tile for each thread
// of `parallel`. Returns false if it overflows size_t.
bool etx_quantized_linear_bytes(const etx_tensor* input, size_t bits,
                                bool is_integer, const etx_parallel* parallel,
                                size_t* out_bytes);

// Computes the product, by the threads of `parallel` if it is large enough.
// `temporary` is the workspace, aligned to 16 bytes.
void etx_quantized_linear_run(const etx_quantized_linear* linear,
                              void* temporary, const etx_parallel* parallel);

#endif
