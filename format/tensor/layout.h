// Strides of dense tensors.
//
//   sizes [2, 3, 4], order [0, 1, 2]   strides [12, 4, 1]   default
//   sizes [2, 3, 4], order [0, 2, 1]   strides [12, 1, 3]   channels last
//
// A .pte stores the order of dimensions, outermost first; strides follow from
// it and count elements. Everything here is a pure function of its arguments.

#ifndef ETX_FORMAT_TENSOR_LAYOUT_H
#define ETX_FORMAT_TENSOR_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// True if `order` (rank entries) names each dimension once.
bool etx_layout_is_order(const uint8_t* order, size_t rank);

// True if `order` is 0, 1, 2, ...
bool etx_layout_is_default(const uint8_t* order, size_t rank);

// Product of the sizes; false if one is negative or size_t cannot hold it.
bool etx_layout_numel(const int32_t* sizes, size_t rank, size_t* out_numel);

// Strides of a dense tensor, in elements. `order` is a permutation or NULL for
// the default one. A size of 0 counts as 1, as in PyTorch. False if a stride
// does not fit; `out_strides` is then unspecified.
bool etx_layout_strides(const int32_t* sizes, const uint8_t* order,
                        size_t rank, int32_t* out_strides);

// True if the elements are dense and in default order. The strides of
// dimensions of size 1 are ignored, and a tensor without elements is always
// contiguous.
bool etx_layout_is_contiguous(const int32_t* sizes, const int32_t* strides,
                              size_t rank);

#endif
