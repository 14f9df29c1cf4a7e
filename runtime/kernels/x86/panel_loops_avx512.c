#include "runtime/kernels/x86/panel_loops_wide.h"

#define VECTOR_BYTES 64
#define PANEL_ROWS 6
#define PANEL_GROUPS 4
#define PANEL_FEW_SUMS 8
#define PANEL_ASKS_BY_TAP
#define DOT_ROWS 7
#define DOT_COLUMNS 4
#include "runtime/kernels/panel_set_template.h"

const etx_panel_loops etx_panel_loops_avx512 = ETX_PANEL_SET("avx512");
