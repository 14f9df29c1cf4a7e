// The matrices of a tensor: its last two dimensions. The leading ones count
// them, and broadcast to those of a result.

#ifndef ETX_RUNTIME_KERNELS_LINEAR_ALGEBRA_MATRIX_BATCH_H
#define ETX_RUNTIME_KERNELS_LINEAR_ALGEBRA_MATRIX_BATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "runtime/kernel.h"

// Matrices of `tensor`, whose rank is at least 2.
size_t etx_matrix_count(const etx_tensor* tensor);

// Where item `index` of the leading sizes of `result`, which has matrices,
// starts in `tensor`, whose items have `inner` dimensions; in elements.
ptrdiff_t etx_matrix_offset(const etx_tensor* tensor, size_t inner,
                            const etx_tensor* result, size_t index);

// True for float32, false for float64. A build without one of them has no code
// for it.
static inline bool etx_matrix_is_f32(etx_dtype dtype) {
  return !ETX_HAS_DTYPE(FLOAT64) ||
         (ETX_HAS_DTYPE(FLOAT32) && dtype == ETX_DTYPE_FLOAT32);
}

// Refuses types other than float32 and float64, and other types of argument
// `b` than of argument `a`.
etx_status etx_matrix_check_dtypes(const etx_call* call, size_t a, size_t b);

// The same for arguments `first` to `last`, which are results and must be
// contiguous.
etx_status etx_matrix_check_results(const etx_call* call, size_t a,
                                    size_t first, size_t last);

#endif
