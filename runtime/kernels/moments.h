// Mean and sum of squared differences from it, of elements that come in parts.
//
// Never the difference of two sums, which cancels. A run of elements gets its
// own pair, and two pairs are joined in double:
//
//   mean    = a.mean + d n_b / n                     d = b.mean - a.mean
//   squares = a.squares + b.squares + d^2 n_a n_b / n

#ifndef ETX_RUNTIME_KERNELS_MOMENTS_H
#define ETX_RUNTIME_KERNELS_MOMENTS_H

#include "runtime/kernels/lanes.h"
#include "runtime/kernels/reduce.h"

typedef struct etx_moments {
  double mean;
  double squares;  // divided by the count: the variance
  int64_t count;   // elements so far; 0: the others are nothing yet
} etx_moments;

// Adds elements that lie densely, of wide type float or double.
void etx_moments_add(etx_moments* moments, etx_wide wide, const void* elements,
                     size_t count);

// Adds elements of any float type, `stride` elements apart.
void etx_moments_add_strided(etx_moments* moments, etx_dtype dtype,
                             const void* elements, ptrdiff_t stride,
                             size_t count);

// Mean and sum of squares of a short row of floats, in float.
static inline void etx_moments_of_floats(const float* x, size_t count,
                                         float* out_mean, float* out_squares) {
  const float mean = etx_sum_f32(x, count) / (float)count;
  *out_mean = mean;
  *out_squares = etx_sum_of_squares_f32(x, mean, count);
}

// The same as a fold (reduce.h) over float and double, by wide type: value is
// the mean, other the squares, both in double. NaN for no elements.
extern const etx_fold etx_fold_moments[];

#endif
