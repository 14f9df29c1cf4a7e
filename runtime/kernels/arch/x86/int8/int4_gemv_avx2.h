// One row of integers times 4-bit weights.

#ifndef ETX_RUNTIME_KERNELS_ARCH_X86_INT8_INT4_GEMV_AVX2_H
#define ETX_RUNTIME_KERNELS_ARCH_X86_INT8_INT4_GEMV_AVX2_H

#include <stdbool.h>

#include "runtime/kernels/simd/int8/quantized_loops.h"

// Whether etx_int4_gemv_avx2 computes the block.
bool etx_int4_gemv_avx2_supports(const etx_quantized_block* block);

// The same sums as the loop groups4.
void etx_int4_gemv_avx2(const etx_quantized_block* block);

#endif
