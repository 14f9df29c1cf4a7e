// The loops over quantised weights for processors with AVX2 and FMA.

#ifndef ETX_RUNTIME_KERNELS_ARCH_X86_INT8_QUANTIZED_LOOPS_AVX2_H
#define ETX_RUNTIME_KERNELS_ARCH_X86_INT8_QUANTIZED_LOOPS_AVX2_H

#include "runtime/kernels/simd/int8/quantized_loops.h"

extern const etx_quantized_loops etx_quantized_loops_avx2;

#endif
