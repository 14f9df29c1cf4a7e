// A complex tensor as a real one with one more dimension of size 2: real and
// imaginary parts. Operators that treat both alike, such as sums and copies,
// need no code for complex types.

#ifndef ETX_RUNTIME_KERNELS_CORE_COMPLEX_AS_REAL_H
#define ETX_RUNTIME_KERNELS_CORE_COMPLEX_AS_REAL_H

#include "runtime/kernel.h"

typedef struct etx_complex_as_real {
  etx_tensor tensor;  // it uses the sizes and strides below
  int32_t sizes[ETX_MAX_RANK];
  int32_t strides[ETX_MAX_RANK];
} etx_complex_as_real;

// The type of the parts of complex64 and complex128; other types are returned.
static inline etx_dtype etx_complex_part_dtype(etx_dtype dtype) {
  if (dtype == ETX_DTYPE_COMPLEX64) return ETX_DTYPE_FLOAT32;
  return dtype == ETX_DTYPE_COMPLEX128 ? ETX_DTYPE_FLOAT64 : dtype;
}

static inline bool etx_dtype_is_complex(etx_dtype dtype) {
  return ETX_HAS_COMPLEX && etx_complex_part_dtype(dtype) != dtype;
}

// Refuses a complex tensor that has no such form: it has too many dimensions,
// or its doubled strides do not fit int32.
etx_status etx_call_check_complex_as_real(const etx_call* call, size_t index);

// Sets `parts` to the parts of `complex`, which was checked as above, and
// returns their tensor.
const etx_tensor* etx_complex_as_real_of(const etx_tensor* complex,
                                         etx_complex_as_real* parts);

#endif
