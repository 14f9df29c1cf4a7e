// The loops over half types for processors with F16C and AVX2.

#ifndef ETX_RUNTIME_KERNELS_ARCH_X86_HALF_LOOPS_AVX2_H
#define ETX_RUNTIME_KERNELS_ARCH_X86_HALF_LOOPS_AVX2_H

#include "runtime/kernels/simd/elementwise/half_loops.h"

extern const etx_half_loops etx_half_loops_avx2;

#endif
