// Copies elements from one set of strides to another. All operators that move
// data use this loop nest.
//
// A description is simplified first, so that few cases remain: dimensions of
// size 1 are dropped, the others are sorted by the strides of the target,
// contiguous neighbours are merged, and a dimension that is contiguous on both
// sides becomes part of the element.

#ifndef ETX_RUNTIME_KERNELS_VIEWS_STRIDED_COPY_H
#define ETX_RUNTIME_KERNELS_VIEWS_STRIDED_COPY_H

#include <stdbool.h>
#include <stddef.h>

#include "format/base/size_limits.h"
#include "runtime/kernels/views/copy_dim.h"

// Dimensions of a description: repeat needs two for each dimension of a tensor.
enum { ETX_COPY_RANK = 2 * ETX_MAX_RANK };

typedef struct etx_copy {
  size_t bytes;  // bytes of an element
  size_t rank;
  etx_copy_dim dims[ETX_COPY_RANK];
} etx_copy;

// Simplifies a description; false if there is no element. The remaining
// dimensions have at least two elements, outermost of the target first.
bool etx_copy_simplify(etx_copy* copy);

// Runs a simplified description. Target and source do not overlap, nor do
// elements of the target. Any alignment.
void etx_copy_run(const etx_copy* copy, char* to, const char* from);

// Writes an element of `bytes` bytes `count` times, at least once.
void etx_fill_dense(char* to, const char* element, size_t bytes, size_t count);

// Simplifies and copies; pointers are not used if there is no element.
void etx_copy_strided(etx_copy* copy, char* to, const char* from);

#endif
