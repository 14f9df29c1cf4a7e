#include "runtime/kernels/x86/panel_loops_avx2.h"

#define VECTOR_BYTES 32
#include "runtime/kernels/panel_set_template.h"

const etx_panel_loops etx_panel_loops_avx2 = ETX_PANEL_SET("avx2");
