// The uint8 loops for processors with dot product instructions.

#ifndef ETX_RUNTIME_KERNELS_ARCH_ARM64_U8_LOOPS_DOTPROD_H
#define ETX_RUNTIME_KERNELS_ARCH_ARM64_U8_LOOPS_DOTPROD_H

#include "runtime/kernels/simd/int8/u8_loops.h"

extern const etx_u8_loops etx_u8_loops_dotprod;

// The member `windows`; and the same for at most sixteen channels whose windows
// fit.
void etx_u8_depthwise_dotprod(const etx_u8_depthwise* windows);
void etx_u8_depthwise_narrow_dotprod(const etx_u8_depthwise* windows);

#endif
