// Which element types the kernels of this build know, and the one way in which
// code of the others is left out.
//
// The option ETX_DTYPES of the build becomes a set of bits, one for each code
// of dtype.def; without it all are there. bool, int64 and float32 always are:
// operators make them of whatever they are given (comparisons, indices and
// sums, quotients of integers).
//
// No call with a tensor of another type reaches a kernel: it is refused when
// the method is loaded (argument_check.c), or by etx_call_check_types. So a
// kernel needs no check of its own; where it chooses code by type, it names
// the type through one of these, and the compiler drops what cannot be chosen:
//
//   ETX_HAS_DTYPE(FLOAT64) && wide == ETX_COMPUTE_F64     in a condition
//   ETX_IF_DTYPE(FLOAT64, add_products_f64)            in a table of functions
//   ETX_SWITCH_INTEGRAL                                   dtype_switch.h
//
// This does not concern types inside a kernel, such as a double accumulator.

#ifndef ETX_RUNTIME_BUILT_TYPES_H
#define ETX_RUNTIME_BUILT_TYPES_H

#include "format/tensor/dtype.h"

// The types: a bit for each code of dtype.def.
#ifndef ETX_BUILT_DTYPES
#define ETX_BUILT_DTYPES UINT32_MAX
#endif

// True if kernels of this build know the type: a constant.
#define ETX_HAS_DTYPE(NAME) \
  (((uint32_t)ETX_BUILT_DTYPES >> ETX_DTYPE_##NAME & 1) != 0)

// True if they know complex numbers.
#define ETX_HAS_COMPLEX (ETX_HAS_DTYPE(COMPLEX64) || ETX_HAS_DTYPE(COMPLEX128))

// A function that only tensors of the type lead to, or NULL.
#define ETX_IF_DTYPE(NAME, function) (ETX_HAS_DTYPE(NAME) ? (function) : NULL)

// True if kernels of this build know `dtype`.
static inline bool etx_dtype_is_built(etx_dtype dtype) {
  return ((uint32_t)ETX_BUILT_DTYPES >> dtype & 1) != 0;
}

#endif
