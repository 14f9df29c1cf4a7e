// Scores of attention become weights. Compiled for each instruction set as the
// loops of f32_microkernels.h are; all sets give the same bits.

#ifndef ETX_RUNTIME_KERNELS_SIMD_F32_ATTENTION_SCORES_H
#define ETX_RUNTIME_KERNELS_SIMD_F32_ATTENTION_SCORES_H

#include <stddef.h>

enum { ETX_ATTENTION_SCORE_LANES = 16 };

#define ETX_ATTENTION_SCORE_GROWTH 8.0f  // a logarithm to the base 2
#define ETX_ATTENTION_SCORE_FAR 0x1p20f  // the same

// Some rows of scores, each of which becomes its weight, 2^(score s - shift),
// where s is scale times log2 e as a float and `shift` is s times `largest`:
// the largest score of the row so far, or one that is nearly as large. Weights
// are then at most 2^ETX_ATTENTION_SCORE_GROWTH, but for the shift's rounding,
// and rows need not be scaled for each larger score: what was summed with
// earlier weights, the sums of the weights themselves among them, is to be
// multiplied by `factor`, which mostly is 1.
//
// A weight is off by 1.8e-7 of itself and by what its exponent, a float, is
// rounded by; it is 0 below 2^-126.5. Where a shift is beyond
// ETX_ATTENTION_SCORE_FAR, so that its rounding would be felt, `largest` is
// taken off the scores before they are scaled: the difference is rounded
// instead, and a weight is finite however large scores are. Of the arrays
// `largest`, `factor` and `shift` whole ETX_ATTENTION_SCORE_LANES are read and
// written.
typedef struct etx_attention_score_rows {
  float* scores;       // rows that are `row` apart
  ptrdiff_t row;       // in elements
  size_t rows, count;  // `count` is a multiple of ETX_ATTENTION_SCORE_LANES
  float scale;         // above 0
  float* largest;      // of each row: -infinity at first; NaN is none
  float* factor;       // of each row: written
  float* shift;        // of each row: written
  // Of each row, partial sums of the weights: element i of scores is in sum i
  // mod ETX_ATTENTION_SCORE_LANES.
  float (*totals)[ETX_ATTENTION_SCORE_LANES];
} etx_attention_score_rows;

typedef void (*etx_attention_weights_loop)(
    const etx_attention_score_rows* rows);

#endif
