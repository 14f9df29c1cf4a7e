// Mean and sum of squared differences from it, of elements that come in parts.
//
// Never the difference of two sums, which cancels. A run of elements gets its
// own pair, and two pairs are joined in double:
//
//   mean    = a.mean + d n_b / n                     d = b.mean - a.mean
//   squares = a.squares + b.squares + d^2 n_a n_b / n

#ifndef ETX_RUNTIME_KERNELS_REDUCTION_MOMENTS_H
#define ETX_RUNTIME_KERNELS_REDUCTION_MOMENTS_H

#include "runtime/kernels/reduction/reduce.h"

typedef struct etx_moments {
  double mean;
  double squares;  // divided by the count: the variance
  int64_t count;   // elements so far; 0: the others are nothing yet
} etx_moments;

// Adds elements that lie densely, of wide type float or double.
void etx_moments_add(etx_moments* moments, etx_compute_type wide,
                     const void* elements, size_t count);

// Adds elements of any float type, `stride` elements apart.
void etx_moments_add_strided(etx_moments* moments, etx_dtype dtype,
                             const void* elements, ptrdiff_t stride,
                             size_t count);

// Both as a fold (reduce.h) over float and double, by wide type: value is
// the mean, other the squares, both in double. NaN for no elements.
extern const etx_fold etx_fold_moments[];

#endif
