#include "runtime/kernels/x86/panel_loops_wide.h"

const etx_panel_loops* etx_panel_loops_of(etx_instruction_set set) {
  if (set >= ETX_SET_AVX512) return &etx_panel_loops_avx512;
  return set >= ETX_SET_AVX2 ? &etx_panel_loops_avx2 : &etx_panel_loops_base;
}
