#include "runtime/kernels/core/index_tensor.h"

#include "runtime/kernels/core/strided_iterator.h"

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

// An index that is out of range sets the high bit of `outside`. A test without
// branches can be vectorised.
#define ALL_WITHIN(T)                                                \
  for (size_t i = 0; i < count; ++i) {                               \
    const uint64_t index = (uint64_t)((const T*)indices)[i];         \
    outside |= (index - (uint64_t)least) | ((uint64_t)last - index); \
  }

// True if `count` contiguous indices are in least..size - 1, where least is 0
// or less and size 0 or more.
static bool are_within(etx_dtype dtype, const void* indices, size_t count,
                       int64_t least, int64_t size) {
  const int64_t last = size - 1;
  uint64_t outside = 0;
  if (dtype == ETX_DTYPE_INT32) {
    ALL_WITHIN(int32_t)
  } else {
#pragma GCC unroll 4
    ALL_WITHIN(int64_t)
  }
  return outside >> 63 == 0;
}

etx_status etx_index_check(const etx_call* call, const etx_tensor* indices,
                           int64_t size, bool wraps) {
  const int64_t least = wraps ? -size : 0;
  if (etx_tensor_is_contiguous(indices) &&
      are_within(indices->dtype, indices->data, etx_tensor_numel(indices),
                 least, size)) {
    return ETX_OK;
  }
  etx_strided_iterator it;
  etx_strided_iterator_init(&it, indices->sizes, indices->rank);
  etx_strided_iterator_add(&it, indices);
  for (bool more = etx_strided_iterator_start(&it); more;
       more = etx_strided_iterator_next(&it)) {
    const char* at = it.data[0];
    for (size_t i = 0; i < it.count; ++i) {
      const int64_t index = etx_index_at(indices->dtype, at, 0);
      if (index < least || index >= size) {
        return etx_call_refuse(call, ETX_BAD_ARGUMENT,
                               "index %i is not in %i..%i", index, least,
                               size - 1);
      }
      at += it.stride[0] * it.bytes[0];
    }
  }
  return ETX_OK;
}
