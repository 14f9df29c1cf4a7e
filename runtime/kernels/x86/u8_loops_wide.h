// Loops of bytes for wider instruction sets.

#ifndef ETX_RUNTIME_KERNELS_X86_U8_LOOPS_WIDE_H
#define ETX_RUNTIME_KERNELS_X86_U8_LOOPS_WIDE_H

#include "runtime/kernels/u8_loops.h"

extern const etx_u8_loops etx_u8_loops_avx2;
extern const etx_u8_loops etx_u8_loops_avx512vnni;

// The member `windows` of the latter; and the same of at most 32 channels whose
// windows fit.
void etx_u8_windows_avx512vnni(const etx_u8_windows* windows);
void etx_u8_narrow_windows_avx512vnni(const etx_u8_windows* windows);

#endif
