// Elements from one set of strides to another: the one loop nest under every
// operator that moves data.
//
// A description is simplified first, so that few cases remain: dimensions of
// size 1 go, the others are put in the order in which the target lies in
// memory, neighbours that continue each other become one, and a dimension that
// is dense on both sides becomes part of the element.

#ifndef ETX_RUNTIME_KERNELS_VIEWS_STRIDED_COPY_H
#define ETX_RUNTIME_KERNELS_VIEWS_STRIDED_COPY_H

#include <stdbool.h>
#include <stddef.h>

#include "format/base/size_limits.h"
#include "runtime/kernels/views/copy_dim.h"

// Dimensions of a description: a repeated tensor has two for each of its own.
enum { ETX_COPY_RANK = 2 * ETX_MAX_RANK };

typedef struct etx_copy {
  size_t bytes;  // of an element
  size_t rank;
  etx_copy_dim dims[ETX_COPY_RANK];
} etx_copy;

// Simplifies a description; false if there is no element. What is left has
// dimensions of at least two elements, outermost of the target first.
bool etx_copy_simplify(etx_copy* copy);

// Copies what a simplified description says. No byte of the target is a byte of
// the source, and no two elements of the target overlap. Any alignment.
void etx_copy_run(const etx_copy* copy, char* to, const char* from);

// Writes an element of `bytes` bytes `count` times, at least once.
void etx_fill_dense(char* to, const char* element, size_t bytes, size_t count);

// Simplifies and copies; pointers are not used if there is no element.
void etx_copy_strided(etx_copy* copy, char* to, const char* from);

#endif
