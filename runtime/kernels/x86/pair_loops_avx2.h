// The loops of pairs for processors with AVX2.

#ifndef ETX_RUNTIME_KERNELS_X86_PAIR_LOOPS_AVX2_H
#define ETX_RUNTIME_KERNELS_X86_PAIR_LOOPS_AVX2_H

#include "runtime/kernels/pair_loops.h"

extern const etx_pair_loops etx_pair_loops_avx2;

#endif
