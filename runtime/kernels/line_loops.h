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
} etx_line_loops;

#endif
