// The loops of products for processors with AVX2.

#ifndef ETX_RUNTIME_KERNELS_X86_PANEL_LOOPS_AVX2_H
#define ETX_RUNTIME_KERNELS_X86_PANEL_LOOPS_AVX2_H

#include "runtime/kernels/panel_loops.h"

extern const etx_panel_loops etx_panel_loops_avx2;

#endif
