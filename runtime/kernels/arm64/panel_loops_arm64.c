#include "runtime/kernels/panel_loops.h"

const etx_panel_loops* etx_panel_loops_of(etx_instruction_set set) {
  (void)set;
  return &etx_panel_loops_base;
}
