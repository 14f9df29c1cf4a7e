// Which element types the kernels of this build support, and how kernels leave
// out the code of other types.
//
// The CMake option ETX_DTYPES becomes a set of bits, ETX_BUILT_DTYPES, one for
// each code of format/tensor/dtype.def; without the option the set has all
// types. A build has these types and what they bring along: bool, int64 and
// float32, because operators return them for arguments of any type
// (comparisons, indices and sums, quotients of integers); the types in which
// two others meet (promotion.c); and for complex128 the float64 of which it is
// a pair.
//
// No call with a tensor of another type reaches a kernel: it is refused when
// the method is loaded (runtime/program/argument_check.c), or by
// etx_kernel_prepare. So a kernel needs no check of its own. Where it chooses
// code by type, it tests the type with one of these macros, and the compiler
// drops the code that cannot be chosen:
//
//   ETX_HAS_DTYPE(FLOAT64) && wide == ETX_COMPUTE_F64     in a condition
//   ETX_IF_DTYPE(FLOAT64, add_products_f64)            in a table of functions
//   ETX_SWITCH_INTEGRAL                                   dtype_switch.h
//
// This does not concern types inside a kernel, such as a double accumulator.

#ifndef ETX_RUNTIME_BUILT_TYPES_H
#define ETX_RUNTIME_BUILT_TYPES_H

#include "format/tensor/dtype.h"

// The types that were asked for: a bit for each code of dtype.def.
#ifndef ETX_BUILT_DTYPES
#define ETX_BUILT_DTYPES UINT32_MAX
#endif

// True if kernels of this build support all types.
enum { ETX_KNOWS_ALL_TYPES = (uint32_t)ETX_BUILT_DTYPES == UINT32_MAX };

// The bit of a type in a set of types.
#define ETX_DTYPE_BIT(NAME) (UINT32_C(1) << ETX_DTYPE_##NAME)
// True if the set has both types.
#define ETX_DTYPE_BITS_MEET(bits, A, B) \
  (((bits)&ETX_DTYPE_BIT(A)) != 0 && ((bits)&ETX_DTYPE_BIT(B)) != 0)

// `bits` and all types that these bring along. A constant expression.
#define ETX_DTYPES_CLOSED(bits)                                           \
  ((bits) | ETX_DTYPE_BIT(BOOL) | ETX_DTYPE_BIT(INT64) |                  \
   ETX_DTYPE_BIT(FLOAT32) |                                               \
   (ETX_DTYPE_BITS_MEET(bits, INT8, UINT8) ? ETX_DTYPE_BIT(INT16) : 0u) | \
   (ETX_DTYPE_BITS_MEET(bits, COMPLEX64, FLOAT64) ||                      \
            ((bits)&ETX_DTYPE_BIT(COMPLEX128)) != 0                       \
        ? ETX_DTYPE_BIT(COMPLEX128) | ETX_DTYPE_BIT(COMPLEX64) |          \
              ETX_DTYPE_BIT(FLOAT64)                                      \
        : 0u))

// True if kernels of this build support the type. A constant expression.
#define ETX_HAS_DTYPE(NAME) \
  ((ETX_DTYPES_CLOSED((uint32_t)ETX_BUILT_DTYPES) >> ETX_DTYPE_##NAME & 1) != 0)

// True if kernels of this build support a complex type.
#define ETX_HAS_COMPLEX (ETX_HAS_DTYPE(COMPLEX64) || ETX_HAS_DTYPE(COMPLEX128))

// The function, or NULL in a build without the type. For functions that are
// called for tensors of this type only.
#define ETX_IF_DTYPE(NAME, function) (ETX_HAS_DTYPE(NAME) ? (function) : NULL)

// True if kernels of this build support `dtype`.
static inline bool etx_dtype_is_built(etx_dtype dtype) {
  return (ETX_DTYPES_CLOSED((uint32_t)ETX_BUILT_DTYPES) >> dtype & 1) != 0;
}

#endif
