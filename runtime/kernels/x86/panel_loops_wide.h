// The loops of products for processors with AVX2 and FMA, and with AVX-512.

#ifndef ETX_RUNTIME_KERNELS_X86_PANEL_LOOPS_WIDE_H
#define ETX_RUNTIME_KERNELS_X86_PANEL_LOOPS_WIDE_H

#include "runtime/kernels/panel_loops.h"

extern const etx_panel_loops etx_panel_loops_avx2;
extern const etx_panel_loops etx_panel_loops_avx512;

#endif
