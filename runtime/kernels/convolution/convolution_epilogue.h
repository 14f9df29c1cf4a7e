// From sums of sixteen result channels, [position][channel], to float32 results
// of a convolution: the bias, and the chain behind it.

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

// `count` results of the channels from `channel` on, a multiple of sixteen,
// that lie side by side from position `at` of an image on. Sums are `row`
// apart, and read up to a whole sixteen of positions.
void etx_convolution_epilogue_store(const etx_convolution_epilogue* results,
                                    const float* sums, ptrdiff_t row,
                                    int64_t image, int64_t channel, size_t at,
                                    size_t count);

// The same of sums that the loop for points takes with the weights, their sizes
// and what they see as `points` has them: all but its results. The set has that
// loop, and more than a group of positions are given.
void etx_convolution_epilogue_pixels(const etx_convolution_epilogue* results,
                                     etx_conv_pixels points, int64_t image,
                                     int64_t channel, size_t at);

// Computes the sums of a call and hands them to one of these.
typedef void (*etx_convolution_epilogue_function)(
    etx_call* call, const etx_convolution_epilogue* results);

// For prepare, of (input, panels, bias, .., others, steps, out), where steps
// may be x alone: refuses types other than float32 and tensors that are not
// dense.
ETX_MUST_USE etx_status etx_convolution_epilogue_check(etx_call* call);

// For run: what `sum` has to do before a chain and what is left of the chain.
etx_status etx_convolution_epilogue_run(etx_call* call,
                                        etx_convolution_epilogue_function sum);

#endif
