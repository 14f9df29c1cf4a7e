#include "runtime/kernels/x86/panel_loops_avx2.h"

const etx_panel_loops* etx_panel_loops_best(void) {
  return __builtin_cpu_supports("avx2") ? &etx_panel_loops_avx2
                                        : &etx_panel_loops_base;
}
