#include "runtime/kernels/index_tensor.h"

#include "runtime/kernels/walk.h"

etx_status etx_index_check_dtype(const etx_call* call,
                                 const etx_tensor* indices) {
  if (indices->dtype == ETX_DTYPE_INT64 || indices->dtype == ETX_DTYPE_INT32) {
    return ETX_OK;
  }
  return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                         "an index tensor has type '%s', expected 'int64' or "
                         "'int32'",
                         etx_dtype_name(indices->dtype));
}

#define ANY_OUTSIDE(T)                         \
  for (size_t i = 0; i < count; ++i) {         \
    const int64_t index = ((const T*)data)[i]; \
    outside |= index < least || index >= size; \
  }

// True if all of a dense tensor's are in least..size - 1.
static bool are_within(const etx_tensor* indices, int64_t least, int64_t size) {
  const size_t count = etx_tensor_numel(indices);
  const void* data = indices->data;
  bool outside = false;
  if (indices->dtype == ETX_DTYPE_INT32) {
    ANY_OUTSIDE(int32_t)
  } else {
    ANY_OUTSIDE(int64_t)
  }
  return !outside;
}

etx_status etx_index_check(const etx_call* call, const etx_tensor* indices,
                           int64_t size, bool wraps) {
  const int64_t least = wraps ? -size : 0;
  if (etx_tensor_is_contiguous(indices) && are_within(indices, least, size)) {
    return ETX_OK;
  }
  etx_walk walk;
  etx_walk_init(&walk, indices->sizes, indices->rank);
  etx_walk_add(&walk, indices);
  for (bool more = etx_walk_start(&walk); more; more = etx_walk_next(&walk)) {
    const char* at = walk.data[0];
    for (size_t i = 0; i < walk.count; ++i) {
      const int64_t index = etx_index_at(indices->dtype, at, 0);
      if (index < least || index >= size) {
        return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                               "index %i is not in %i..%i", index, least,
                               size - 1);
      }
      at += walk.stride[0] * walk.bytes[0];
    }
  }
  return ETX_OK;
}
