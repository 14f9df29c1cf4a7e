#define VECTOR_BYTES 16
#include "runtime/kernels/panel_set_template.h"

const etx_panel_loops etx_panel_loops_base = ETX_PANEL_SET("base");
