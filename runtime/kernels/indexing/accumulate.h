// Adding elements to others in memory, as scatter_add and index_put do.
//
// Sums of half types would be rounded at every step, so they are added up in a
// float32 copy of the target, which becomes the half type once at the end.

#ifndef ETX_RUNTIME_KERNELS_INDEXING_ACCUMULATE_H
#define ETX_RUNTIME_KERNELS_INDEXING_ACCUMULATE_H

#include "runtime/kernel.h"

// Adds `count` elements, one behind the other, to as many. Types are equal, or
// `from` is of a half type and `to` float32. Integers wrap; of bool any.
void etx_accumulate(etx_dtype to_dtype, char* to, etx_dtype from_dtype,
                    const char* from, size_t count);

// True if sums of the type need a float32 copy of the target.
static inline bool etx_adds_in_copy(etx_dtype dtype) {
  return dtype == ETX_DTYPE_FLOAT16 || dtype == ETX_DTYPE_BFLOAT16;
}

// Bytes of that copy of `target`; 0 if none is needed.
etx_status etx_sum_copy_bytes(const etx_call* call, const etx_tensor* target,
                              size_t* out_bytes);

// That copy, not yet filled, in the call's temporary memory; it lies densely.
// `strides` are its own.
etx_tensor etx_sum_copy(const etx_call* call, const etx_tensor* target,
                        int32_t* strides);

#endif
