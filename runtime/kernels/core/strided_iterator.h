// Iterates over several tensors together, one row of the innermost dimension at
// a time, without divisions (what TensorIterator does in PyTorch).
//
//   etx_strided_iterator it;
//   etx_strided_iterator_init(&it, out->sizes, out->rank);
//   etx_strided_iterator_add(&it, out);          // operand 0
//   etx_strided_iterator_add(&it, self);         // operand 1, broadcast
//   for (bool more = etx_strided_iterator_start(&it); more;
//        more = etx_strided_iterator_next(&it)) {
//     ... it.count elements at it.data[k], it.stride[k] elements apart
//   }
//
// Neighbouring dimensions that are contiguous in all operands are merged first,
// so that contiguous tensors of one shape are a single row. Rows come in
// row-major order of the sizes.

#ifndef ETX_RUNTIME_KERNELS_CORE_STRIDED_ITERATOR_H
#define ETX_RUNTIME_KERNELS_CORE_STRIDED_ITERATOR_H

#include "runtime/tensor.h"

enum { ETX_STRIDED_ITERATOR_OPERANDS = 4 };

typedef struct etx_strided_iterator {
  // The present row.
  size_t count;                               // elements of each row
  char* data[ETX_STRIDED_ITERATOR_OPERANDS];  // first element of the row
  ptrdiff_t
      stride[ETX_STRIDED_ITERATOR_OPERANDS];  // in elements; 0 if broadcast
  // Private.
  size_t operands;
  size_t rank;
  ptrdiff_t sizes[ETX_MAX_RANK];
  ptrdiff_t position[ETX_MAX_RANK];
  ptrdiff_t steps[ETX_STRIDED_ITERATOR_OPERANDS][ETX_MAX_RANK];  // bytes
  ptrdiff_t bytes[ETX_STRIDED_ITERATOR_OPERANDS];  // bytes of an element
} etx_strided_iterator;

// Starts an iteration over `sizes` without operands.
void etx_strided_iterator_init(etx_strided_iterator* it, const int32_t* sizes,
                               size_t rank);

// Adds a tensor whose sizes, right-aligned, equal those of the iteration or
// are 1.
void etx_strided_iterator_add(etx_strided_iterator* it,
                              const etx_tensor* tensor);

// Adds memory with one stride (in elements, maybe 0 or negative) for each
// dimension.
void etx_strided_iterator_add_strided(etx_strided_iterator* it,
                                      const void* data, size_t bytes,
                                      const ptrdiff_t* strides);

// Merges dimensions and goes to the first row; false if there is none.
bool etx_strided_iterator_start(etx_strided_iterator* it);

// The same with dimensions ordered by the strides of the first operand, so that
// its contiguous dimension becomes the innermost one.
bool etx_strided_iterator_start_any_order(etx_strided_iterator* it);

// True if the rows of operand `k` are contiguous and follow each other in
// memory. To be called at the first row.
bool etx_strided_iterator_is_dense(const etx_strided_iterator* it, size_t k);

// Goes to the next row; false after the last.
bool etx_strided_iterator_next(etx_strided_iterator* it);

// The same, inlined except at the end of a dimension: for short rows.
static inline bool etx_strided_iterator_step(etx_strided_iterator* it) {
  if (it->rank == 0) return false;
  const size_t last = it->rank - 1;
  if (it->position[last] + 1 == it->sizes[last])
    return etx_strided_iterator_next(it);
  ++it->position[last];
  for (size_t k = 0; k < it->operands; ++k) {
    it->data[k] += it->steps[k][last];
  }
  return true;
}

#endif
