#define VECTOR_BYTES 16
#define PANEL_GROUPS 1
#define DOT_COLUMNS_TWO 2
#define DOT_COLUMNS_ONE 2
#ifdef __aarch64__  // 32 registers
#define PANEL_ROWS 6
#define PANEL_READS_STAY __asm__ volatile("" ::: "memory")
#define PANEL_FEW_SUMS 16
#define DOT_ROWS 3
#define DOT_COLUMNS 2
#else
#define PANEL_ROWS 3
#define PANEL_FEW_SUMS 8
#define DOT_ROWS 2
#define DOT_COLUMNS 1
#endif
#include "runtime/kernels/panel_set_template.h"

const etx_panel_loops etx_panel_loops_base = ETX_PANEL_SET("base");
