// A tensor as the runtime and its callers see it: a header over memory that
// it does not own.

#ifndef ETX_RUNTIME_TENSOR_H
#define ETX_RUNTIME_TENSOR_H

#include "format/base/size_limits.h"
#include "format/tensor/dtype.h"

// Type and sizes of a tensor, and where its elements are. It owns nothing.
typedef struct etx_tensor {
  void* data;              // first element; may be NULL if there is none
  const int32_t* sizes;    // rank entries
  const int32_t* strides;  // rank entries, in elements. From a caller NULL
                           // means contiguous; kernels never see NULL
  uint8_t rank;            // at most ETX_MAX_RANK
  etx_dtype dtype;         // of the elements
} etx_tensor;

// Elements of `tensor`; 1 for rank 0.
size_t etx_tensor_numel(const etx_tensor* tensor);

// Bytes of the elements in dense memory.
size_t etx_tensor_bytes(const etx_tensor* tensor);

// True if elements lie densely in default order (dimensions of size 1 do not
// count). NULL strides are contiguous.
bool etx_tensor_is_contiguous(const etx_tensor* tensor);

#endif
