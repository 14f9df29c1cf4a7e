// Mean and sum of squared differences from the mean, in one pass over chunks
// (Welford, Chan et al.).
//
// A variance as the difference of two sums would cancel. Instead each chunk of
// elements gets its own moments, and two moments are merged in double:
//
//   mean    = a.mean + d n_b / n                     d = b.mean - a.mean
//   squares = a.squares + b.squares + d^2 n_a n_b / n

#ifndef ETX_RUNTIME_KERNELS_REDUCTION_MOMENTS_H
#define ETX_RUNTIME_KERNELS_REDUCTION_MOMENTS_H

#include "runtime/kernels/reduction/reduce.h"

typedef struct etx_moments {
  double mean;
  double squares;  // sum of squared differences: variance * count
  int64_t count;   // elements so far; if 0, the others are unset
} etx_moments;

// Adds contiguous elements of compute type float or double.
void etx_moments_add(etx_moments* moments, etx_compute_type compute,
                     const void* elements, size_t count);

// Adds elements of any float type, `stride` elements apart.
void etx_moments_add_strided(etx_moments* moments, etx_dtype dtype,
                             const void* elements, ptrdiff_t stride,
                             size_t count);

// Reducers (reduce.h) for float and double, indexed by compute type: `value` is
// the mean, `other` the squares, both in double. NaN for no elements.
extern const etx_reducer etx_moments_reducers[];

#endif
