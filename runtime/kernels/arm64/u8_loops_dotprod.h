// The loops of bytes that stand for floats, for processors with dot products.

#ifndef ETX_RUNTIME_KERNELS_ARM64_U8_LOOPS_DOTPROD_H
#define ETX_RUNTIME_KERNELS_ARM64_U8_LOOPS_DOTPROD_H

#include "runtime/kernels/u8_loops.h"

extern const etx_u8_loops etx_u8_loops_dotprod;

// Its member `windows`; and the same of at most sixteen channels whose windows
// fit.
void etx_u8_windows_dotprod(const etx_u8_windows* windows);
void etx_u8_narrow_windows_dotprod(const etx_u8_windows* windows);

#endif
