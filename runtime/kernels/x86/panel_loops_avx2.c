#include "runtime/kernels/x86/panel_loops_wide.h"
#ifdef __x86_64__
#include "runtime/kernels/x86/panel_taps_avx2_template.h"
#define PANEL_FLOAT_TAPS panel_eights_of_taps
#define DENSE_EIGHTS panel_eights_of_spots
#endif

#define VECTOR_BYTES 32
#define PANEL_ROWS 6
#define PANEL_GROUPS 1
#define PANEL_FEW_SUMS 8
#define DOT_ROWS 3
#define DOT_COLUMNS 2
#define DOT_COLUMNS_TWO 3
#define DOT_COLUMNS_ONE 4
#include "runtime/kernels/panel_set_template.h"

const etx_panel_loops etx_panel_loops_avx2 = ETX_PANEL_SET("avx2");
