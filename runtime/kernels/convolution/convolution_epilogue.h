// The epilogue of convolutions whose lanes are output channels: from sums of
// sixteen channels, [position][channel], to float32 results with the bias and
// the chain.

#ifndef ETX_RUNTIME_KERNELS_CONVOLUTION_CONVOLUTION_EPILOGUE_H
#define ETX_RUNTIME_KERNELS_CONVOLUTION_CONVOLUTION_EPILOGUE_H

#include "runtime/kernels/core/chain_store.h"
#include "runtime/kernels/convolution/convolution.h"
#include "runtime/kernels/simd/f32/f32_microkernels.h"

typedef struct etx_convolution_epilogue {
  etx_volumes out;         // of two dimensions, dense
  const etx_tensor* bias;  // or NULL
  const etx_chain* chain;  // or NULL
  etx_chain_store store;
  const etx_f32_microkernels* loops;
} etx_convolution_epilogue;

// Stores `count` neighbouring results, from position `at` of an image on, of
// sixteen channels from `channel` on. Sums of positions are `row` apart, and
// are read up to a multiple of sixteen positions.
void etx_convolution_epilogue_store(const etx_convolution_epilogue* results,
                                    const float* sums, ptrdiff_t row,
                                    int64_t image, int64_t channel, size_t at,
                                    size_t count);

// The same for the microkernel of positions as lanes, which computes the sums
// itself: `points` has everything but the results. The instruction set has that
// microkernel, and there is more than one group of positions.
void etx_convolution_epilogue_pixels(const etx_convolution_epilogue* results,
                                     etx_conv_pixels points, int64_t image,
                                     int64_t channel, size_t at);

// Computes the sums of a call and passes them to one of these functions.
typedef void (*etx_convolution_epilogue_function)(
    etx_call* call, const etx_convolution_epilogue* results);

// For prepare, of (input, panels, bias, .., others, steps, out), where steps
// may be x alone: refuses types other than float32 and strided tensors.
ETX_MUST_USE etx_status etx_convolution_epilogue_check(etx_call* call);

// For run: splits the chain into the part that `sum` does and the rest.
etx_status etx_convolution_epilogue_run(etx_call* call,
                                        etx_convolution_epilogue_function sum);

#endif
