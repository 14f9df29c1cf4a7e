// Online softmax of attention: scores become weights. Compiled for each
// instruction set as f32_microkernels.h describes; all sets give the same bits.

#ifndef ETX_RUNTIME_KERNELS_SIMD_F32_ATTENTION_SCORES_H
#define ETX_RUNTIME_KERNELS_SIMD_F32_ATTENTION_SCORES_H

#include <stddef.h>

enum { ETX_ATTENTION_SCORE_LANES = 16 };

#define ETX_ATTENTION_SCORE_GROWTH 8.0f  // a logarithm to the base 2
#define ETX_ATTENTION_SCORE_FAR 0x1p20f  // a shift, also to the base 2

// A tile of scores, which are replaced by softmax weights 2^(score s - shift).
// Here s is scale * log2(e) as a float, and `shift` is s times `largest`, the
// largest score of the row so far or one nearly as large. `largest` is only
// raised when a weight would exceed 2^ETX_ATTENTION_SCORE_GROWTH. Everything
// that was summed with earlier weights, the totals of the weights included,
// must then be multiplied by `factor`, which is 1 in most calls.
//
// A weight has a relative error of 1.8e-7 plus the rounding of its exponent; it
// is 0 below 2^-126.5. Where a shift exceeds ETX_ATTENTION_SCORE_FAR, its
// rounding error would matter: then `largest` is subtracted from the scores
// before they are scaled, so weights are finite for any scores. The arrays
// `largest`, `factor` and `shift` are read and written in whole
// ETX_ATTENTION_SCORE_LANES.
typedef struct etx_attention_score_rows {
  float* scores;       // rows that are `row` apart
  ptrdiff_t row;       // in elements
  size_t rows, count;  // `count` is a multiple of ETX_ATTENTION_SCORE_LANES
  float scale;         // greater than 0
  float* largest;      // the maximum of each row so far, -infinity at first;
                       // ignores NaN
  float* factor;       // written: the factor of each row
  float* shift;        // written: the shift of each row
  // Partial sums of the weights of each row: the weight of element i is added
  // to sum i mod ETX_ATTENTION_SCORE_LANES.
  float (*totals)[ETX_ATTENTION_SCORE_LANES];
} etx_attention_score_rows;

typedef void (*etx_attention_weights_loop)(
    const etx_attention_score_rows* rows);

#endif
