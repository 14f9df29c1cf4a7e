// Chooses the scale and the zero point with which int8 covers the range of some
// numbers and 0.

#ifndef ETX_RUNTIME_KERNELS_QUANTIZED_CHOOSE_QPARAMS_H
#define ETX_RUNTIME_KERNELS_QUANTIZED_CHOOSE_QPARAMS_H

#include "runtime/kernels/core/operand.h"

typedef struct etx_qparams {
  double scale;
  int64_t zero_point;
} etx_qparams;

// quantized_decomposed::choose_qparams_per_token_asymmetric for a row of
// `count` elements of `dtype`, `stride` elements apart. Each step is rounded to
// the type `computed`, as in PyTorch. NaN in the row gives a scale of NaN and
// the smallest zero point.
etx_qparams etx_qparams_of_row(etx_dtype computed, etx_dtype dtype,
                               const void* data, ptrdiff_t stride,
                               size_t count);

enum { ETX_QPARAMS_ROWS = 4 };

// The same in float32 for four rows, from the smallest and the largest number
// of each row and 0, both NaN if the row has a NaN. A zero point that is NaN
// becomes 0.
void etx_qparams_of_ranges(const float* low, const float* high,
                           float* out_scales, int32_t* out_zero_points);

#endif
