// The inner loops of panel.h, one for each wide type and instruction set.

#ifndef ETX_RUNTIME_KERNELS_PANEL_LOOPS_H
#define ETX_RUNTIME_KERNELS_PANEL_LOOPS_H

#include <stdbool.h>
#include <stddef.h>

// sums [rows, lanes] += weights [rows, taps] * panel [taps, lanes]. Strides are
// in elements.
typedef struct etx_panel_block {
  void* sums;
  ptrdiff_t sum_row;
  const void* weights;
  ptrdiff_t weight_row;
  const void* panel;
  ptrdiff_t panel_row;
  size_t rows, taps, lanes;
  bool starts;  // the sums are zero, and not read
} etx_panel_block;

typedef void (*etx_panel_loop)(const etx_panel_block* block);

void etx_panel_loop_f32(const etx_panel_block* block);
void etx_panel_loop_f64(const etx_panel_block* block);
void etx_panel_loop_i64(const etx_panel_block* block);

#endif
