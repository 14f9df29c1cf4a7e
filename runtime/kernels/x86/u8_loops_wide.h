// Loops of bytes for wider instruction sets.

#ifndef ETX_RUNTIME_KERNELS_X86_U8_LOOPS_WIDE_H
#define ETX_RUNTIME_KERNELS_X86_U8_LOOPS_WIDE_H

#include "runtime/kernels/u8_loops.h"

extern const etx_u8_loops etx_u8_loops_avx2;
extern const etx_u8_loops etx_u8_loops_avx512vnni;

#endif
