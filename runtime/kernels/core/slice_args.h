// Dimensions and slice bounds as PyTorch reads them. The shape rules have
// already refused values that are out of range.

#ifndef ETX_RUNTIME_KERNELS_CORE_SLICE_ARGS_H
#define ETX_RUNTIME_KERNELS_CORE_SLICE_ARGS_H

#include "runtime/kernel.h"

// A dimension in -rank..rank-1; rank 0 counts as 1.
static inline size_t etx_wrap_dimension(int64_t dimension, size_t rank) {
  const int64_t limit = rank == 0 ? 1 : (int64_t)rank;
  return (size_t)(dimension < 0 ? dimension + limit : dimension);
}

typedef struct etx_slice_args {
  int64_t start;
  int64_t count;
  int64_t step;
} etx_slice_args;

// Arguments `first`, +1 and +2 as start, end and step of a slice of a
// dimension of `size`.
static inline etx_slice_args etx_slice_args_read(const etx_call* call,
                                                 size_t first, int64_t size) {
  etx_slice_args range = {0, 0, etx_call_integer(call, first + 2)};
  int64_t bounds[2] = {0, size};
  for (size_t i = 0; i < 2; ++i) {
    if (etx_call_is_none(call, first + i)) continue;
    int64_t value = etx_call_integer(call, first + i);
    if (value < 0) value = value < -size ? 0 : value + size;
    bounds[i] = value > size ? size : value;
  }
  range.start = bounds[0];
  if (bounds[1] > bounds[0]) {
    // (a - b + step - 1) / step, without overflow for a large step.
    range.count = (bounds[1] - bounds[0] - 1) / range.step + 1;
  }
  return range;
}

#endif
