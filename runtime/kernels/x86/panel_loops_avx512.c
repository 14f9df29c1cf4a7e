#include "runtime/kernels/x86/panel_loops_wide.h"
#include "runtime/kernels/x86/panel_sizes_avx512_template.h"

#define PANEL_FLOATS etx_panel_floats_avx512
#define DOT_ROWS 7
#define DOT_COLUMNS 4
#include "runtime/kernels/panel_set_template.h"

const etx_panel_loops etx_panel_loops_avx512 = ETX_PANEL_SET("avx512");
