// Iterates over an index tensor that has, for each of its elements, an index
// into one dimension of another tensor: for gather and the scatters.
//
//   self[.., index[i], ..]  <->  other[i]

#ifndef ETX_RUNTIME_KERNELS_INDEXING_GATHER_ITERATOR_H
#define ETX_RUNTIME_KERNELS_INDEXING_GATHER_ITERATOR_H

#include "runtime/kernels/core/strided_iterator.h"

// One row: element i of `self` is at self + i * self_step + index[i] * stride,
// in bytes.
typedef struct etx_gather_row {
  size_t count;
  char* self;
  const char* index;
  char* other;
  ptrdiff_t self_step, index_step, other_step, stride;
  etx_dtype index_dtype;  // int64 or int32
} etx_gather_row;

// Goes to the first row; false if there is none. `other` may have more elements
// than the index; without dimensions, it is one element for all. Rows come in
// row-major order of the index.
bool etx_gather_iterator_start(etx_strided_iterator* it, etx_gather_row* row,
                               const etx_tensor* self, size_t dimension,
                               const etx_tensor* index,
                               const etx_tensor* other);

// Goes to the next row; false after the last.
bool etx_gather_iterator_next(etx_strided_iterator* it, etx_gather_row* row);

#endif
