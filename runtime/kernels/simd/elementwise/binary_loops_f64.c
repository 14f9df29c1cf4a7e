#include "runtime/kernels/simd/elementwise/binary_loops.h"

#include "runtime/kernels/math/math_functions.h"

#define F(f) etx_##f##_f64
#define REAL_AND_INTEGER(name, real, whole) \
  ETX_BINARY_LOOP(name##_f64, double, double, f64, real)
#define REAL(name, real) ETX_BINARY_LOOP(name##_f64, double, double, f64, real)
#define SINGLE(name, real)
#define COMPARISON(name, expression) \
  ETX_BINARY_LOOP(name##_f64, double, uint8_t, f64, expression)
#define WHOLE(name, whole)
#include "runtime/kernels/simd/elementwise/binary_list.def"
#undef F

const etx_binary_loop etx_binary_loops_f64[ETX_BINARY_COUNT] = {
#define REAL_AND_INTEGER(name, real, whole) name##_f64,
#define REAL(name, real) name##_f64,
#define SINGLE(name, real) NULL,
#define COMPARISON(name, expression) name##_f64,
#define WHOLE(name, whole) NULL,
#include "runtime/kernels/simd/elementwise/binary_list.def"
};

// Any byte but 0 is true.
ETX_BINARY_LOOP(truths_and, uint8_t, uint8_t, i64, (x != 0) & (y != 0))
ETX_BINARY_LOOP(truths_or, uint8_t, uint8_t, i64, (x != 0) | (y != 0))
ETX_BINARY_LOOP(truths_xor, uint8_t, uint8_t, i64, (x != 0) ^ (y != 0))

etx_binary_loop etx_binary_loop_of_bool(size_t row) {
  if (row == ETX_BINARY_logical_and) return truths_and;
  if (row == ETX_BINARY_logical_or) return truths_or;
  return row == ETX_BINARY_logical_xor ? truths_xor : NULL;
}
