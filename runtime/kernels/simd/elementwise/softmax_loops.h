// The passes of softmax over a contiguous row of float32, and layer
// normalisation of rows. Compiled for each instruction set (float_loops.h).

#ifndef ETX_RUNTIME_KERNELS_SIMD_ELEMENTWISE_SOFTMAX_LOOPS_H
#define ETX_RUNTIME_KERNELS_SIMD_ELEMENTWISE_SOFTMAX_LOOPS_H

#include <stddef.h>

// Layer normalisation of contiguous rows that are short enough for float sums:
// out = (in - mean) / deviation * weight + bias. The mean and the squared
// differences are summed in the order of etx_striped_sum_f32 (striped_sum.h).
typedef struct etx_layer_norm_rows {
  const float* in;
  float* out;           // may be `in`, or what the parameters of one row are
  const float* weight;  // a factor for each element of a row
  const float* bias;
  float* means;   // written: the mean of each row
  float* scales;  // written: 1/deviation of each row
  size_t rows, count;
  float eps;  // added to the variance
} etx_layer_norm_rows;

// `out` may be `in`.
typedef struct etx_row_loops {
  // out = in * factor. Returns the largest of the results and `least`; NaN does
  // not count.
  float (*scale)(float* out, const float* in, size_t count, float factor,
                 float least);
  // out = e^(in - shift). Returns the sum of the results, in the order of
  // etx_striped_sum_f32 (striped_sum.h).
  float (*raise)(float* out, const float* in, size_t count, float shift);
  void (*normalize)(const etx_layer_norm_rows* norm);
} etx_row_loops;

#endif
