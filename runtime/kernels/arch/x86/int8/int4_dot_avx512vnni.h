// A few rows of bytes times 4-bit weights.

#ifndef ETX_RUNTIME_KERNELS_ARCH_X86_INT8_INT4_DOT_AVX512VNNI_H
#define ETX_RUNTIME_KERNELS_ARCH_X86_INT8_INT4_DOT_AVX512VNNI_H

#include "runtime/kernels/simd/int8/int8_dot_loops.h"

// The member of etx_int8_dot_loops.
void etx_int4_dot_avx512vnni(const etx_int4_dot_block* block);

#endif
