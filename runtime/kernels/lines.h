// Visits every line of a tensor along one dimension, together with the same
// line of the result: what softmax and running sums need.

#ifndef ETX_RUNTIME_KERNELS_LINES_H
#define ETX_RUNTIME_KERNELS_LINES_H

#include "runtime/kernels/walk.h"

typedef struct etx_line {
  char* out;
  const char* in;
  ptrdiff_t out_stride;  // in elements
  ptrdiff_t in_stride;
  size_t count;
  etx_dtype out_dtype;
  etx_dtype in_dtype;
} etx_line;

// Calls `visit` for each line along `dimension` (rank 0: the one element).
// Both tensors have the same sizes.
void etx_lines_visit(const etx_tensor* out, const etx_tensor* in,
                     size_t dimension, void (*visit)(const etx_line* line));

#endif
