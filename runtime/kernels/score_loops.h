// Scores of attention become weights. Compiled for each instruction set as the
// loops of panel_loops.h are; all sets give the same bits.

#ifndef ETX_RUNTIME_KERNELS_SCORE_LOOPS_H
#define ETX_RUNTIME_KERNELS_SCORE_LOOPS_H

#include <stddef.h>

enum { ETX_SCORE_LANES = 16 };

// Some rows of scores, each of which becomes its weight, e^((score - largest)
// scale), where `largest` is that of the row so far. What was summed
// with earlier weights, the sums of the weights themselves among them, is
// multiplied by `factor`: the largest score may have grown.
//
// The difference is rounded, and its product. A weight is off by 1.6e-7 at most, 1 being the largest, and 0 if the exponent
// is below -88.1. Of the arrays `largest` and `factor` whole ETX_SCORE_LANES
// are read and written.
typedef struct etx_score_rows {
  float* scores;       // rows that are `row` apart
  ptrdiff_t row;       // in elements
  size_t rows, count;  // `count` is a multiple of ETX_SCORE_LANES
  float scale;         // above 0
  float* largest;      // of each row: -infinity at first; NaN is none
  float* factor;       // of each row: written
  // Of each row, partial sums of the weights: element i of scores is in sum i
  // mod ETX_SCORE_LANES.
  float (*totals)[ETX_SCORE_LANES];
} etx_score_rows;

typedef void (*etx_score_loop)(const etx_score_rows* rows);

#endif
