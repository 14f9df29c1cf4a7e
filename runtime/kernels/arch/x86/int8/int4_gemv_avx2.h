// One row of bytes times 4-bit weights, with AVX2.

#ifndef ETX_RUNTIME_KERNELS_ARCH_X86_INT8_INT4_GEMV_AVX2_H
#define ETX_RUNTIME_KERNELS_ARCH_X86_INT8_INT4_GEMV_AVX2_H

#include "runtime/kernels/simd/int8/int8_dot_loops.h"

enum {
  ETX_INT4_GEMV_AVX2_MOST = 16384,   // elements of a row
  ETX_INT4_GEMV_AVX2_MULTIPLE = 64,  // they are a multiple of it
};

// The member `groups` of etx_int8_dot_loops.
void etx_int4_gemv_avx2(const etx_int4_dot_block* block);

#endif
