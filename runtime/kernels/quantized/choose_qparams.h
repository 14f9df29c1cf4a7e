// The scale and the zero point that let int8 reach from the smallest to the
// largest of some numbers, 0 always among them.

#ifndef ETX_RUNTIME_KERNELS_QUANTIZED_CHOOSE_QPARAMS_H
#define ETX_RUNTIME_KERNELS_QUANTIZED_CHOOSE_QPARAMS_H

#include "runtime/kernels/core/operand.h"

typedef struct etx_qparams {
  double scale;
  int64_t zero_point;
} etx_qparams;

// quantized_decomposed::choose_qparams_per_token_asymmetric for a row of
// `count` elements of `dtype`, `stride` apart; each step is rounded to the type
// `computed`, as PyTorch computes it. NaN in the row gives a scale of NaN and
// the smallest zero point.
etx_qparams etx_qparams_of_row(etx_dtype computed, etx_dtype dtype,
                               const void* data, ptrdiff_t stride,
                               size_t count);

enum { ETX_QPARAMS_AT_ONCE = 4 };

// The same in float32 of the smallest number and the largest of each of four
// rows, both NaN if there is one, and of 0. A zero point that is no number is 0.
void etx_qparams_of_ranges(const float* low, const float* high,
                           float* out_scales, int32_t* out_zero_points);

#endif
