// The loops over int64 with two operands (binary_ops.def) as one table,
// `whole_loops`. No parameters: each instruction set includes it, and the
// compiler vectorises it.

#include "runtime/kernels/simd/elementwise/binary_loops.h"
#include "runtime/kernels/math/math_functions.h"
#include "runtime/kernels/simd/elementwise/fast_or_general.h"
#include "runtime/kernels/math/f64_exact_division.h"
#include "runtime/kernels/math/wrapping_math.h"

static bool are_fast_i64(const void* a, const void* b, size_t count) {
  const int64_t *x = a, *y = b;
  uint64_t all = 0;
  for (size_t i = 0; i < count; ++i) all |= etx_f64_range_bits(x[i], y[i]);
  return all >> 52 == 0;
}

#define DIVISION_LOOPS_I64(name, f, integral)                                \
  ETX_BINARY_LOOP(name##_fast_i64, int64_t, int64_t, i64,                    \
                  etx_f64_exact_##f(x, y))                                   \
  ETX_BINARY_LOOP(name##_general_i64, int64_t, int64_t, i64, integral)       \
  static void name##_i64(void* out, const void* a, const void* b,            \
                         size_t count, etx_scalar parameter) {               \
    static const etx_fast_or_general loops = {                               \
        sizeof(int64_t), are_fast_i64, name##_fast_i64, name##_general_i64}; \
    etx_fast_or_general_run(&loops, out, a, b, count, parameter);            \
  }

#define NUMERIC(name, traits, floating, integral, ...) \
  ETX_BINARY_LOOP(name##_i64, int64_t, int64_t, i64, integral)
#define NUMERIC_FAST_OR_GENERAL(name, traits, function, integral, ...) \
  DIVISION_LOOPS_I64(name, function, integral)
#define FLOATING(name, ...)
#define FLOAT32(name, ...)
#define COMPARISON(name, expression, ...) \
  ETX_BINARY_LOOP(name##_i64, int64_t, uint8_t, i64, expression)
#define INTEGRAL(name, integral, ...) \
  ETX_BINARY_LOOP(name##_i64, int64_t, int64_t, i64, integral)
#include "runtime/kernels/simd/elementwise/binary_ops.def"

//   @whole  int64 | operators with two operands (binary_ops.def) |
//     {VECTOR_BYTES / 8} elements
static const etx_binary_loop whole_loops[ETX_BINARY_COUNT] = {
#define NUMERIC(name, ...) \
  ETX_IF_LOOP(ETX_LOOP_binary_##name, ETX_LOOP_I64, name##_i64),
#define FLOATING(name, ...) NULL,
#define FLOAT32(name, ...) NULL,
#define COMPARISON(name, ...) \
  ETX_IF_LOOP(ETX_LOOP_binary_##name, ETX_LOOP_I64, name##_i64),
#define INTEGRAL(name, ...) \
  ETX_IF_LOOP(ETX_LOOP_binary_##name, ETX_LOOP_I64, name##_i64),
#include "runtime/kernels/simd/elementwise/binary_ops.def"
};
