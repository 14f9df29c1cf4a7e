// Adds elements to others in memory, for scatter_add and index_put.
//
// Sums of half types would be rounded at every step. They are accumulated in a
// float32 copy of the target, which is rounded once at the end.

#ifndef ETX_RUNTIME_KERNELS_INDEXING_ACCUMULATE_H
#define ETX_RUNTIME_KERNELS_INDEXING_ACCUMULATE_H

#include "runtime/kernel.h"

// Adds `count` contiguous elements to others. Types are equal, or `from` has a
// half type and `to` is float32. Integers wrap; bool is a logical or.
void etx_accumulate(etx_dtype to_dtype, char* to, etx_dtype from_dtype,
                    const char* from, size_t count);

// True if sums of the type need a float32 copy of the target.
static inline bool etx_adds_in_copy(etx_dtype dtype) {
  return etx_dtype_is_half(dtype);
}

// Bytes of that copy of `target`; 0 if none is needed.
etx_status etx_sum_copy_bytes(const etx_call* call, const etx_tensor* target,
                              size_t* out_bytes);

// That copy, not yet filled, in the call's temporary memory; it is contiguous.
// `strides` has room for its strides.
etx_tensor etx_sum_copy(const etx_call* call, const etx_tensor* target,
                        int32_t* strides);

#endif
