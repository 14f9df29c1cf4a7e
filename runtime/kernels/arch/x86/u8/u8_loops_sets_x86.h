// The uint8 loops of AVX2 and AVX-512 VNNI.

#ifndef ETX_RUNTIME_KERNELS_ARCH_X86_U8_U8_LOOPS_SETS_X86_H
#define ETX_RUNTIME_KERNELS_ARCH_X86_U8_U8_LOOPS_SETS_X86_H

#include "runtime/kernels/simd/int8/u8_loops.h"

extern const etx_u8_loops etx_u8_loops_avx2;
extern const etx_u8_loops etx_u8_loops_avx512vnni;

// The member `windows` of etx_u8_loops_avx512vnni; and the same for at most 32
// channels whose windows fit.
void etx_u8_depthwise_avx512vnni(const etx_u8_depthwise* windows);
void etx_u8_depthwise_narrow_avx512vnni(const etx_u8_depthwise* windows);

#endif
