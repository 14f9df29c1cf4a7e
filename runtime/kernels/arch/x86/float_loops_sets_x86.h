// The float loops of AVX2 with FMA, and of AVX-512.

#ifndef ETX_RUNTIME_KERNELS_ARCH_X86_FLOAT_LOOPS_SETS_X86_H
#define ETX_RUNTIME_KERNELS_ARCH_X86_FLOAT_LOOPS_SETS_X86_H

#include "runtime/kernels/simd/elementwise/float_loops.h"

extern const etx_float_loops etx_float_loops_avx2;
extern const etx_float_loops etx_float_loops_avx512;

// The function of both instruction sets.
void etx_layer_norm_rows_avx2(const etx_layer_norm_rows* norm);

#endif
