// The int8 dot product loops for processors with AVX-512 and VNNI.

#ifndef ETX_RUNTIME_KERNELS_ARCH_X86_INT8_INT8_DOT_LOOPS_AVX512VNNI_H
#define ETX_RUNTIME_KERNELS_ARCH_X86_INT8_INT8_DOT_LOOPS_AVX512VNNI_H

#include "runtime/kernels/simd/int8/int8_dot_loops.h"

extern const etx_int8_dot_loops etx_int8_dot_loops_avx512vnni;

#endif
