// Rows of bytes times packed panels of 4-bit weights, with AVX2.

#ifndef ETX_RUNTIME_KERNELS_ARCH_X86_INT8_INT4_PANEL_AVX2_H
#define ETX_RUNTIME_KERNELS_ARCH_X86_INT8_INT4_PANEL_AVX2_H

#include "runtime/kernels/simd/int8/int8_dot_loops.h"

// The loops for weights of 4 bits; there are none for bytes.
extern const etx_int8_dot_loops etx_int8_dot_loops_avx2;

#endif
