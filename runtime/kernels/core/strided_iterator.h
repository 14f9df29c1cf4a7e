// Walks several tensors together, one row of the innermost dimension at a
// time, without a division and without asking for an index.
//
//   etx_strided_iterator walk;
//   etx_strided_iterator_init(&walk, out->sizes, out->rank);
//   etx_strided_iterator_add(&walk, out);          // operand 0
//   etx_strided_iterator_add(&walk, self);         // operand 1, broadcast to
//   the sizes for (bool more = etx_strided_iterator_start(&walk); more; more =
//   etx_strided_iterator_next(&walk))
//     ... walk.count elements at walk.data[k], walk.stride[k] elements apart
//
// Dimensions that lie behind each other in all operands are joined first, so
// that contiguous tensors of one shape are a single row. Rows come in
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
  // What follows is the walk's own.
  size_t operands;
  size_t rank;
  ptrdiff_t sizes[ETX_MAX_RANK];
  ptrdiff_t position[ETX_MAX_RANK];
  ptrdiff_t steps[ETX_STRIDED_ITERATOR_OPERANDS][ETX_MAX_RANK];  // bytes
  ptrdiff_t bytes[ETX_STRIDED_ITERATOR_OPERANDS];  // of an element
} etx_strided_iterator;

// Starts a walk over `sizes` without operands.
void etx_strided_iterator_init(etx_strided_iterator* walk, const int32_t* sizes,
                               size_t rank);

// Adds a tensor whose sizes, right-aligned, equal the walk's or are 1.
void etx_strided_iterator_add(etx_strided_iterator* walk,
                              const etx_tensor* tensor);

// Adds memory with one stride (in elements, maybe 0 or negative) for each
// dimension of the walk.
void etx_strided_iterator_add_strided(etx_strided_iterator* walk,
                                      const void* data, size_t bytes,
                                      const ptrdiff_t* strides);

// Joins dimensions and stands at the first row; false if there is none.
bool etx_strided_iterator_start(etx_strided_iterator* walk);

// The same with the rows in any order that suits the first operand's memory:
// the one whose elements follow each other becomes the innermost dimension.
bool etx_strided_iterator_start_any_order(etx_strided_iterator* walk);

// True if the rows of operand `k` lie densely and follow each other in memory;
// asked of a walk that stands at its first row.
bool etx_strided_iterator_is_dense(const etx_strided_iterator* walk, size_t k);

// Goes to the next row; false after the last.
bool etx_strided_iterator_next(etx_strided_iterator* walk);

// The same without a call but at the end of a dimension: for short rows.
static inline bool etx_strided_iterator_step(etx_strided_iterator* walk) {
  if (walk->rank == 0) return false;
  const size_t last = walk->rank - 1;
  if (walk->position[last] + 1 == walk->sizes[last])
    return etx_strided_iterator_next(walk);
  ++walk->position[last];
  for (size_t k = 0; k < walk->operands; ++k) {
    walk->data[k] += walk->steps[k][last];
  }
  return true;
}

#endif
