#include "runtime/kernels/views/flat_order.h"

#include "runtime/kernels/core/short_copy.h"

etx_flat_cursor etx_flat_start(const etx_tensor* tensor, size_t index) {
  etx_flat_cursor cursor = {.tensor = tensor, .at = tensor->data};
  const ptrdiff_t bytes = (ptrdiff_t)etx_dtype_bytes(tensor->dtype);
  for (size_t i = tensor->rank; i-- > 0;) {
    const size_t size = (size_t)tensor->sizes[i];
    cursor.position[i] = (int32_t)(index % size);
    cursor.at += cursor.position[i] * tensor->strides[i] * bytes;
    index /= size;
  }
  return cursor;
}

void etx_flat_next(etx_flat_cursor* cursor) {
  const etx_tensor* tensor = cursor->tensor;
  const ptrdiff_t bytes = (ptrdiff_t)etx_dtype_bytes(tensor->dtype);
  for (size_t i = tensor->rank; i-- > 0;) {
    const ptrdiff_t step = tensor->strides[i] * bytes;
    if (++cursor->position[i] < tensor->sizes[i]) {
      cursor->at += step;
      return;
    }
    cursor->at -= step * (tensor->sizes[i] - 1);
    cursor->position[i] = 0;
  }
}

void etx_flat_copy(etx_flat_cursor* to, etx_flat_cursor* from, size_t count) {
  const size_t bytes = etx_dtype_bytes(to->tensor->dtype);
  for (; count > 0; --count) {
    etx_copy_short(to->at, from->at, bytes);
    etx_flat_next(to);
    etx_flat_next(from);
  }
}
