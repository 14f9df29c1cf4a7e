// Tensors that hold indices: read as int64 and checked before they are used.

#ifndef ETX_RUNTIME_KERNELS_CORE_INDEX_TENSOR_H
#define ETX_RUNTIME_KERNELS_CORE_INDEX_TENSOR_H

#include "runtime/kernel.h"

// The index at byte address `at` of an int64 or int32 tensor; a negative index
// counts from `size`.
static inline int64_t etx_index_at(etx_dtype dtype, const char* at,
                                   int64_t size) {
  const int64_t index = dtype == ETX_DTYPE_INT32
                            ? *(const int32_t*)(const void*)at
                            : *(const int64_t*)(const void*)at;
  return index < 0 ? index + size : index;
}

// Refuses a tensor that is neither int64 nor int32.
etx_status etx_index_check_dtype(const etx_call* call,
                                 const etx_tensor* indices);

// Refuses an index outside -size..size-1, or outside 0..size-1 unless `wraps`.
// The message has the index.
etx_status etx_index_check(const etx_call* call, const etx_tensor* indices,
                           int64_t size, bool wraps);

#endif
