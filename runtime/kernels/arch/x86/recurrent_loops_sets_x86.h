// The loops of recurrent layers of AVX2 with FMA, and of AVX-512.

#ifndef ETX_RUNTIME_KERNELS_ARCH_X86_RECURRENT_LOOPS_SETS_X86_H
#define ETX_RUNTIME_KERNELS_ARCH_X86_RECURRENT_LOOPS_SETS_X86_H

#include "runtime/kernels/simd/recurrent/recurrent_loops.h"

extern const etx_recurrent_loops etx_recurrent_loops_avx2;
extern const etx_recurrent_loops etx_recurrent_loops_avx512;

#endif
