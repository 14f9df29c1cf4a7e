// Rows of floats become bytes.

#ifndef ETX_RUNTIME_KERNELS_X86_BYTE_ROWS_AVX512VNNI_H
#define ETX_RUNTIME_KERNELS_X86_BYTE_ROWS_AVX512VNNI_H

#include "runtime/kernels/byte_loops.h"

// The members of etx_byte_loops.
void etx_byte_range_avx512vnni(const float* x, size_t count, float* low,
                               float* high);
void etx_byte_quantize_avx512vnni(const float* x, size_t count, double inverse,
                                  double zero, uint8_t* out);
void etx_byte_quantize_and_range_avx512vnni(const float* x, size_t count,
                                            double inverse, double zero,
                                            uint8_t* out, const float* other,
                                            float* low, float* high);
void etx_byte_order4_avx512vnni(uint8_t* row, size_t count);

#endif
