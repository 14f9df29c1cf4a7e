// The passes of softmax over a line of floats side by side, and rows of floats
// that are normalised. Compiled for each instruction set, as those of
// float_loops.h are.

#ifndef ETX_RUNTIME_KERNELS_SIMD_ELEMENTWISE_SOFTMAX_LOOPS_H
#define ETX_RUNTIME_KERNELS_SIMD_ELEMENTWISE_SOFTMAX_LOOPS_H

#include <stddef.h>

// Rows one behind the other, short enough for sums in float: out = (in - mean)
// / deviation * weight + bias, where the mean and the squares of differences
// from it are summed in the order of etx_striped_sum_f32 (striped_sum.h).
typedef struct etx_layer_norm_rows {
  const float* in;
  float* out;           // may be `in`, or what the parameters of one row are
  const float* weight;  // of each element of a row
  const float* bias;
  float* means;   // of each row: written
  float* scales;  // of each row, 1/deviation: written
  size_t rows, count;
  float eps;  // is added to the mean of the squares
} etx_layer_norm_rows;

// `out` may be `in`.
typedef struct etx_softmax_loops {
  // out = in * factor. Returns the largest of the results and `least`; NaN does
  // not count.
  float (*scale)(float* out, const float* in, size_t count, float factor,
                 float least);
  // out = e^(in - shift). Returns the sum of the results, in the order of
  // etx_striped_sum_f32 (striped_sum.h).
  float (*raise)(float* out, const float* in, size_t count, float shift);
  void (*normalize)(const etx_layer_norm_rows* norm);
} etx_softmax_loops;

#endif
