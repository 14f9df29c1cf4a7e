// A tensor's elements seen through other sizes and strides: what every
// operator that only moves elements boils down to.
//
//   permute   the same data, strides in another order
//   slice     the data moved by start * stride, one stride times step
//   expand    a stride of 0
//
// so that one copy serves them all.

#ifndef ETX_RUNTIME_KERNELS_STRIDED_VIEW_H
#define ETX_RUNTIME_KERNELS_STRIDED_VIEW_H

#include "runtime/tensor.h"

typedef struct etx_view {
  char* data;
  etx_dtype dtype;
  size_t rank;
  int32_t sizes[ETX_MAX_RANK];
  ptrdiff_t strides[ETX_MAX_RANK];  // in elements, may be 0 or negative
} etx_view;

// The tensor as it is.
etx_view etx_view_of(const etx_tensor* tensor);

// Keeps `count` elements of `dimension` from `start` on, `step` apart.
void etx_view_slice(etx_view* view, size_t dimension, int64_t start,
                    int64_t count, int64_t step);

// Keeps element `index` of `dimension`, which vanishes.
void etx_view_select(etx_view* view, size_t dimension, int64_t index);

// Copies `from`, broadcast to `to`'s sizes (right-aligned; leading sizes of 1
// beyond `to`'s rank are dropped), converting types as etx_convert does. The
// two may be the same memory only in the same layout; then nothing is done.
void etx_view_copy(const etx_view* to, const etx_view* from);

// Copies the element at `value`, of the view's type, to every place.
void etx_view_fill(const etx_view* to, const void* value);

#endif
