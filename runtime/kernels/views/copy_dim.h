// One dimension of a strided copy.

#ifndef ETX_RUNTIME_KERNELS_VIEWS_COPY_DIM_H
#define ETX_RUNTIME_KERNELS_VIEWS_COPY_DIM_H

#include <stddef.h>

typedef struct etx_copy_dim {
  ptrdiff_t size;  // at least 0
  ptrdiff_t to;    // bytes to the next element of the target
  ptrdiff_t from;  // the same of the source; 0 repeats, negative goes back
} etx_copy_dim;

#endif
