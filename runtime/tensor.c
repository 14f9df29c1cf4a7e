#include "runtime/tensor.h"

#include "format/tensor/layout.h"

size_t etx_tensor_numel(const etx_tensor* tensor) {
  size_t numel = 1;
  for (size_t i = 0; i < tensor->rank; ++i) {
    numel *= (size_t)tensor->sizes[i];
  }
  return numel;
}

size_t etx_tensor_bytes(const etx_tensor* tensor) {
  return etx_tensor_numel(tensor) * etx_dtype_bytes(tensor->dtype);
}

bool etx_tensor_is_contiguous(const etx_tensor* tensor) {
  return tensor->strides == NULL ||
         etx_layout_is_contiguous(tensor->sizes, tensor->strides, tensor->rank);
}
