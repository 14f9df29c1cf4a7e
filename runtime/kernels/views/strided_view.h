// A tensor's elements seen through other sizes and strides: what every
// operator that only moves elements boils down to.
//
//   permute   the same data, strides in another order
//   slice     the data moved by start * stride, one stride times step
//   expand    a stride of 0
//   repeat    for each dimension another one of stride 0
//
// so that one copy serves them all.

#ifndef ETX_RUNTIME_KERNELS_VIEWS_STRIDED_VIEW_H
#define ETX_RUNTIME_KERNELS_VIEWS_STRIDED_VIEW_H

#include "runtime/kernels/views/strided_copy.h"
#include "runtime/tensor.h"

typedef struct etx_strided_view {
  char* data;        // first element; NULL while a kernel is prepared
  ptrdiff_t offset;  // bytes of data from where the tensor's data starts
  etx_dtype dtype;
  size_t rank;  // at most ETX_COPY_RANK
  int32_t sizes[ETX_COPY_RANK];
  ptrdiff_t strides[ETX_COPY_RANK];  // in elements, may be 0 or negative
} etx_strided_view;

// The tensor as it is.
etx_strided_view etx_strided_view_of(const etx_tensor* tensor);

// Starts `elements` further on in memory.
void etx_strided_view_shift(etx_strided_view* view, ptrdiff_t elements);

// Keeps `count` elements of `dimension` from `start` on, `step` apart.
void etx_strided_view_slice(etx_strided_view* view, size_t dimension,
                            int64_t start, int64_t count, int64_t step);

// Keeps element `index` of `dimension`, which vanishes.
void etx_strided_view_select(etx_strided_view* view, size_t dimension,
                             int64_t index);

// Appends a dimension; it may show elements that others show too.
void etx_strided_view_append(etx_strided_view* view, int64_t size,
                             ptrdiff_t stride);

// Divides `dimension` into `outer` times `inner` elements, inner ones
// following each other. Both are the whole size together.
void etx_strided_view_divide(etx_strided_view* view, size_t dimension,
                             int64_t outer, int64_t inner);

// Moves a dimension to another place; those between make room.
void etx_strided_view_move(etx_strided_view* view, size_t from, size_t to);

// Copies `from`, broadcast to `to`'s sizes (right-aligned; leading sizes of 1
// beyond `to`'s rank are dropped), converting types as etx_convert does. The
// two may be the same memory only in the same layout; then nothing is done.
void etx_strided_view_copy(const etx_strided_view* to,
                           const etx_strided_view* from);

// The same as a description, for views of one type.
void etx_strided_view_describe(const etx_strided_view* to,
                               const etx_strided_view* from, etx_copy* out);

// Copies the element at `value`, of the view's type, to every place.
void etx_strided_view_fill(const etx_strided_view* to, const void* value);

#endif
