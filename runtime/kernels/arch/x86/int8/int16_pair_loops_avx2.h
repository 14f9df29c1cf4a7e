// The int16 pair loops for processors with AVX2.

#ifndef ETX_RUNTIME_KERNELS_ARCH_X86_INT8_INT16_PAIR_LOOPS_AVX2_H
#define ETX_RUNTIME_KERNELS_ARCH_X86_INT8_INT16_PAIR_LOOPS_AVX2_H

#include "runtime/kernels/simd/int8/int16_pair_loops.h"

extern const etx_int16_pair_loops etx_int16_pair_loops_avx2;

#endif
