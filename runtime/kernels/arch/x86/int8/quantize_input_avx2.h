// Rows of floats as unsigned bytes, with AVX2.

#ifndef ETX_RUNTIME_KERNELS_ARCH_X86_INT8_QUANTIZE_INPUT_AVX2_H
#define ETX_RUNTIME_KERNELS_ARCH_X86_INT8_QUANTIZE_INPUT_AVX2_H

#include "runtime/kernels/simd/int8/int8_dot_loops.h"

// The members of etx_int8_dot_loops.
void etx_int8_range_avx2(const float* x, size_t count, float* low, float* high);
void etx_int8_quantize_avx2(const float* x, size_t count, double inverse,
                            double zero, uint8_t* out);
void etx_int8_quantize_and_range_avx2(const etx_int8_quantize* quantize,
                                      const float* other, float* low,
                                      float* high);
void etx_int4_order_avx2(uint8_t* row, size_t count);

#endif
