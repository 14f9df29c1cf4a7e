// The loops over half types of AVX2 with F16C, and of AVX-512.

#ifndef ETX_RUNTIME_KERNELS_ARCH_X86_HALF_LOOPS_SETS_X86_H
#define ETX_RUNTIME_KERNELS_ARCH_X86_HALF_LOOPS_SETS_X86_H

#include "runtime/kernels/simd/elementwise/half_loops.h"

extern const etx_half_loops etx_half_loops_avx2;
extern const etx_half_loops etx_half_loops_avx512;

#endif
