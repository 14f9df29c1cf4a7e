// The passes of softmax over a line of floats side by side. Compiled for each
// instruction set, as those of float_loops.h are.

#ifndef ETX_RUNTIME_KERNELS_LINE_LOOPS_H
#define ETX_RUNTIME_KERNELS_LINE_LOOPS_H

#include <stddef.h>

// `out` may be `in`.
typedef struct etx_line_loops {
  // out = in * factor. Returns the largest of the results and `least`; NaN does
  // not count.
  float (*scale)(float* out, const float* in, size_t count, float factor,
                 float least);
  // out = e^(in - shift). Returns the sum of the results, in the order of
  // etx_sum_f32 (lanes.h).
  float (*raise)(float* out, const float* in, size_t count, float shift);
  // x = e^(x - shift) of `count` elements, a multiple of 16, of each of some
  // rows that are `row` elements apart. None is above its row's shift, and less
  // than e^-87.3 is 0. The sums of the results are in the order of etx_sum_f32.
  void (*raise_rows)(float* elements, ptrdiff_t row, size_t rows, size_t count,
                     const float* shifts, float* sums);
} etx_line_loops;

#endif
