// Loops over integers narrower than int64, without conversion: those that
// give the same there as in int64 and cut.

#include "runtime/built_loops.h"
#include "runtime/kernels/simd/elementwise/binary_loops.h"
#include "runtime/kernels/math/wrapping_math.h"

#define T int32_t
#define NAME(x) x##_i32
#define TYPE ETX_DTYPE_BIT(INT32)
#include "runtime/kernels/simd/elementwise/binary_narrow_template.h"

#define T int16_t
#define NAME(x) x##_i16
#define TYPE ETX_DTYPE_BIT(INT16)
#include "runtime/kernels/simd/elementwise/binary_narrow_template.h"

#define T int8_t
#define NAME(x) x##_i8
#define TYPE ETX_DTYPE_BIT(INT8)
#include "runtime/kernels/simd/elementwise/binary_narrow_template.h"

#define T uint8_t
#define NAME(x) x##_u8
#define TYPE ETX_DTYPE_BIT(UINT8)
#include "runtime/kernels/simd/elementwise/binary_narrow_template.h"

etx_binary_loop etx_binary_loop_of_narrow(size_t function, etx_dtype dtype) {
  if (ETX_HAS_DTYPE(INT32) && dtype == ETX_DTYPE_INT32)
    return loops_i32[function];
  if (ETX_HAS_DTYPE(INT16) && dtype == ETX_DTYPE_INT16)
    return loops_i16[function];
  if (ETX_HAS_DTYPE(INT8) && dtype == ETX_DTYPE_INT8) return loops_i8[function];
  if (ETX_HAS_DTYPE(UINT8) && dtype == ETX_DTYPE_UINT8)
    return loops_u8[function];
  return NULL;
}
