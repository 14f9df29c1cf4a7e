// Apart from the other loops, since it has an option of its own: CMakeLists.txt
// tells which and why.

#include "runtime/kernels/x86/panel_loops_wide.h"
#include "runtime/kernels/x86/panel_sizes_avx512_template.h"

#include "runtime/kernels/fused_template.h"

#define PANEL_ASKS_BY_TAP
#include "runtime/kernels/panel_floats_template.h"

void etx_panel_floats_avx512(const etx_panel_block* block) {
  add_products_f32(block);
}
