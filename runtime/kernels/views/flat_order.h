// A tensor's elements one after the other in row-major order of its sizes,
// however they lie: for the few operators that see tensors of different sizes
// as one row of elements, where one of them does not lie densely.

#ifndef ETX_RUNTIME_KERNELS_VIEWS_FLAT_ORDER_H
#define ETX_RUNTIME_KERNELS_VIEWS_FLAT_ORDER_H

#include "runtime/tensor.h"

typedef struct etx_flat_cursor {
  const etx_tensor* tensor;
  char* at;                        // the present element
  int32_t position[ETX_MAX_RANK];  // of it
} etx_flat_cursor;

// Stands at element `index` of a tensor that has it.
etx_flat_cursor etx_flat_start(const etx_tensor* tensor, size_t index);

// Goes to the next element, after the last to the first.
void etx_flat_next(etx_flat_cursor* cursor);

// Copies `count` elements of one type from one cursor to the other; both move
// on.
void etx_flat_copy(etx_flat_cursor* to, etx_flat_cursor* from, size_t count);

#endif
