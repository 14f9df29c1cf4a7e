// The inner loops of products: blocks of panels (panel.h) and dot products.
// Compiled once for each instruction set that is worth it, as float_loops.h
// is; all sets give the same bits.

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

// out[i, j] = dot product of row i of left and row j of right, in the order of
// lanes.h.
typedef struct etx_dot_block {
  float* out;
  ptrdiff_t out_row;
  const float* left;
  ptrdiff_t left_row;
  const float* right;
  ptrdiff_t right_row;
  size_t rows, columns, count;
} etx_dot_block;

typedef void (*etx_dot_loop)(const etx_dot_block* block);

typedef struct etx_panel_loops {
  const char* name;           // of the instruction set
  etx_panel_loop by_wide[3];  // by etx_wide
  etx_dot_loop dots;
} etx_panel_loops;

// For every machine that the compiler was told of.
extern const etx_panel_loops etx_panel_loops_base;

// The fastest set that this processor has.
const etx_panel_loops* etx_panel_loops_best(void);

#endif
