#include "runtime/kernels/panel_loops.h"

const etx_panel_loops* etx_panel_loops_best(void) {
  return &etx_panel_loops_base;
}
