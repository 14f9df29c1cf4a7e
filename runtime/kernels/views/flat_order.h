// Iterates over a tensor's elements in row-major order of its sizes, whatever
// its strides are: for operators that read tensors of different sizes as one
// row of elements, where one of them is not contiguous.

#ifndef ETX_RUNTIME_KERNELS_VIEWS_FLAT_ORDER_H
#define ETX_RUNTIME_KERNELS_VIEWS_FLAT_ORDER_H

#include "runtime/tensor.h"

typedef struct etx_flat_cursor {
  const etx_tensor* tensor;
  char* at;                        // the present element
  int32_t position[ETX_MAX_RANK];  // of it
} etx_flat_cursor;

// A cursor at element `index`, which must exist.
etx_flat_cursor etx_flat_start(const etx_tensor* tensor, size_t index);

// Goes to the next element; after the last one, to the first.
void etx_flat_next(etx_flat_cursor* cursor);

// Copies `count` elements of one type and advances both cursors.
void etx_flat_copy(etx_flat_cursor* to, etx_flat_cursor* from, size_t count);

#endif
