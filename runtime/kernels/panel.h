// Products of matrices that need not exist: sums [rows, lanes] of weights
// [rows, taps] times a panel [taps, lanes]. Convolutions and matrix products
// are made of blocks of these; they differ in where panel and weights come
// from and where the sums go.
//
//            lanes: result positions, or columns
//            .---------.
//            | panel   |  taps: what is summed over. A few exist at a time
//            '---------'
//   .-----.  .---------.
//   |     |  | sums    |  rows: result channels, or rows
//   '-----'  '---------'
//   weights
//
// Elements have one of the three wide types (convert.h). Each sum is taken tap
// by tap, from zero, whatever the machine and however blocks are cut; in
// float32 multiplication and addition are rounded once (fused_template.h).

#ifndef ETX_RUNTIME_KERNELS_PANEL_H
#define ETX_RUNTIME_KERNELS_PANEL_H

#include "runtime/kernels/convert.h"

enum {
  ETX_PANEL_TAPS = 64,         // that exist at a time
  ETX_PANEL_LANE_BYTES = 256,  // of a full row of lanes
  ETX_PANEL_LANES = ETX_PANEL_LANE_BYTES / 4,
  // Rows whose sums a block may keep on the stack, and rows that share a panel
  // where sums are kept in the result itself.
  ETX_PANEL_OWN_ROWS = 32,
  ETX_PANEL_ROWS = 128,
};

// Lanes of a full row.
static inline size_t etx_panel_lanes(etx_wide wide) {
  return wide == ETX_WIDE_F32 ? ETX_PANEL_LANES : ETX_PANEL_LANES / 2;
}

// Sums that a block keeps on the stack, ETX_PANEL_LANE_BYTES a row.
typedef union etx_panel_sums {
  float f32[ETX_PANEL_OWN_ROWS][ETX_PANEL_LANES];
  double f64[ETX_PANEL_OWN_ROWS][ETX_PANEL_LANES / 2];
  int64_t i64[ETX_PANEL_OWN_ROWS][ETX_PANEL_LANES / 2];
} etx_panel_sums;

typedef struct etx_panel {
  const struct etx_panel_loops* loops;
  etx_wide wide;
  size_t rows, lanes;  // at most ETX_PANEL_ROWS and etx_panel_lanes(wide)
  int64_t taps;

  // Where the panel's rows lie in memory, of the wide type and with lanes side
  // by side; or NULL, and `fill` writes `count` rows from tap `first` on,
  // ETX_PANEL_LANE_BYTES apart. A direct panel has full rows of lanes.
  const char* direct;
  ptrdiff_t direct_row;  // in elements, as all strides here
  void (*fill)(const void* context, int64_t first, size_t count, char* panel);

  // Where the weights lie, of the wide type and with taps side by side; or
  // NULL, and `load` writes those of a row.
  const char* weights;
  ptrdiff_t weight_row;
  void (*load)(const void* context, size_t row, int64_t first, size_t count,
               char* weights);

  // Where the sums go: rows with whole groups of lanes (panel_loops.h).
  char* sums;
  ptrdiff_t sum_row;

  const void* context;
} etx_panel;

// Computes all sums.
void etx_panel_run(const etx_panel* panel);

// Elements of any type, `stride` apart, in the wide type.
void etx_panel_load(etx_wide wide, etx_dtype dtype, const char* from,
                    ptrdiff_t stride, size_t count, char* to);

#endif
