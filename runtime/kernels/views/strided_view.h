// A view of a tensor: its elements with other sizes and strides. Every operator
// that only moves elements is a copy between two views:
//
//   permute   the same data, strides in another order
//   slice     data moved by start * stride, one stride multiplied by step
//   expand    a stride of 0
//   repeat    an additional dimension of stride 0 for each dimension

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

// Makes `view` a view with the sizes and strides of the tensor. Sizes beyond
// its rank are not written.
void etx_strided_view_init(etx_strided_view* view, const etx_tensor* tensor);
// The same as a result, which costs a copy of all sizes.
etx_strided_view etx_strided_view_of(const etx_tensor* tensor);

// Moves the start by `elements`.
void etx_strided_view_shift(etx_strided_view* view, ptrdiff_t elements);

// Keeps `count` elements of `dimension` from `start` on, `step` apart.
void etx_strided_view_slice(etx_strided_view* view, size_t dimension,
                            int64_t start, int64_t count, int64_t step);

// Keeps element `index` of `dimension` and removes the dimension.
void etx_strided_view_select(etx_strided_view* view, size_t dimension,
                             int64_t index);

// Appends a dimension; it may repeat elements.
void etx_strided_view_append(etx_strided_view* view, int64_t size,
                             ptrdiff_t stride);

// Splits `dimension` into two of `outer` and `inner` elements, whose product is
// its size. Neighbours along the inner one are neighbours along `dimension`.
void etx_strided_view_divide(etx_strided_view* view, size_t dimension,
                             int64_t outer, int64_t inner);

// Moves a dimension to another position.
void etx_strided_view_move(etx_strided_view* view, size_t from, size_t to);

// Copies `from`, broadcast to the sizes of `to` (right-aligned; leading sizes
// of 1 beyond the rank of `to` are dropped), and converts types as etx_convert
// does. If both have the same address, they must have the same layout; then
// nothing is done.
void etx_strided_view_copy(const etx_strided_view* to,
                           const etx_strided_view* from);

// The description of that copy, for views of one type.
void etx_strided_view_describe(const etx_strided_view* to,
                               const etx_strided_view* from, etx_copy* out);

// Copies the element at `value`, of the view's type, to every element.
void etx_strided_view_fill(const etx_strided_view* to, const void* value);

#endif
