// The loops over quantised weights for processors with AVX2 and FMA.

#ifndef ETX_RUNTIME_KERNELS_X86_QUANTIZED_LOOPS_WIDE_H
#define ETX_RUNTIME_KERNELS_X86_QUANTIZED_LOOPS_WIDE_H

#include "runtime/kernels/quantized_loops.h"

extern const etx_quantized_loops etx_quantized_loops_avx2;

#endif
