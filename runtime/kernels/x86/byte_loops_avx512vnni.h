// The loops of bytes for processors with AVX-512 and VNNI.

#ifndef ETX_RUNTIME_KERNELS_X86_BYTE_LOOPS_AVX512VNNI_H
#define ETX_RUNTIME_KERNELS_X86_BYTE_LOOPS_AVX512VNNI_H

#include "runtime/kernels/byte_loops.h"

extern const etx_byte_loops etx_byte_loops_avx512vnni;

#endif
