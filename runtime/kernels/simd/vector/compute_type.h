// The types in which kernels compute, and a scalar of one of them.
// convert.h says which element types are computed in which.

#ifndef ETX_RUNTIME_KERNELS_SIMD_VECTOR_COMPUTE_TYPE_H
#define ETX_RUNTIME_KERNELS_SIMD_VECTOR_COMPUTE_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/built_types.h"

typedef enum etx_compute_type {
  ETX_COMPUTE_I64,
  ETX_COMPUTE_F32,
  ETX_COMPUTE_F64,
  ETX_COMPUTE_NONE,  // complex, opaque, unsigned of 16 to 64 bits
} etx_compute_type;

// Bytes of an element.
static inline size_t etx_compute_type_bytes(etx_compute_type wide) {
  return wide == ETX_COMPUTE_F32 ? 4 : 8;
}

// True if the compute type is double. Constant false in a build without float64
// (built_types.h), so that the code behind it is left out.
static inline bool etx_is_f64(etx_compute_type wide) {
  return ETX_HAS_DTYPE(FLOAT64) && wide == ETX_COMPUTE_F64;
}

// A number of one of the compute types.
typedef union etx_scalar {
  int64_t i64;
  float f32;
  double f64;
} etx_scalar;

#endif
