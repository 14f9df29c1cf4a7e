#include "runtime/kernels/simd/elementwise/binary_loops.h"

#include "runtime/kernels/math/math_functions.h"

#define F(f) etx_##f##_f64
#define NUMERIC(name, traits, floating, ...) \
  ETX_BINARY_LOOP(name##_f64, double, double, f64, floating)
#define FLOATING(name, traits, floating, ...) \
  ETX_BINARY_LOOP(name##_f64, double, double, f64, floating)
#define FLOAT32(name, ...)
#define COMPARISON(name, expression, ...) \
  ETX_BINARY_LOOP(name##_f64, double, uint8_t, f64, expression)
#define INTEGRAL(name, ...)
#include "runtime/kernels/simd/elementwise/binary_ops.def"
#undef F

const etx_binary_loop etx_binary_loops_f64[ETX_BINARY_COUNT] = {
#define NUMERIC(name, ...) \
  ETX_IF_LOOP(ETX_LOOP_binary_##name, ETX_LOOP_F64, name##_f64),
#define FLOATING(name, ...) \
  ETX_IF_LOOP(ETX_LOOP_binary_##name, ETX_LOOP_F64, name##_f64),
#define FLOAT32(name, ...) NULL,
#define COMPARISON(name, ...) \
  ETX_IF_LOOP(ETX_LOOP_binary_##name, ETX_LOOP_F64, name##_f64),
#define INTEGRAL(name, ...) NULL,
#include "runtime/kernels/simd/elementwise/binary_ops.def"
};

// Operators on bool in memory, where any byte but 0 is true.
ETX_BINARY_LOOP(bool_and, uint8_t, uint8_t, i64, (x != 0) & (y != 0))
ETX_BINARY_LOOP(bool_or, uint8_t, uint8_t, i64, (x != 0) | (y != 0))
ETX_BINARY_LOOP(bool_xor, uint8_t, uint8_t, i64, (x != 0) ^ (y != 0))

etx_binary_loop etx_binary_loop_of_bool(size_t function) {
  if (function == ETX_BINARY_logical_and) return bool_and;
  if (function == ETX_BINARY_logical_or) return bool_or;
  return function == ETX_BINARY_logical_xor ? bool_xor : NULL;
}
