// The inner loops of operators with two operands: one for each row of
// binary_ops.def and compute type (convert.h).
//
// Those over floats and int64 are compiled for each instruction set
// (float_loops.h), those over doubles, which models rarely use, once.

#ifndef ETX_RUNTIME_KERNELS_SIMD_ELEMENTWISE_BINARY_LOOPS_H
#define ETX_RUNTIME_KERNELS_SIMD_ELEMENTWISE_BINARY_LOOPS_H

#include "format/tensor/dtype.h"
#include "runtime/built_loops.h"
#include "runtime/kernels/simd/vector/loop_independent.h"
#include "runtime/kernels/simd/vector/compute_type.h"

// Computes `count` elements, a multiple of ETX_LANES; `out` may be `a` or `b`.
// See loop_apply.h.
typedef void (*etx_binary_loop)(void* out, const void* a, const void* b,
                                size_t count, etx_scalar parameter);

typedef enum etx_binary_function {
#define NUMERIC(name, ...) ETX_BINARY_##name,
#define FLOATING(name, ...) ETX_BINARY_##name,
#define FLOAT32(name, ...) ETX_BINARY_##name,
#define COMPARISON(name, ...) ETX_BINARY_##name,
#define INTEGRAL(name, ...) ETX_BINARY_##name,
#include "runtime/kernels/simd/elementwise/binary_ops.def"
  ETX_BINARY_COUNT
} etx_binary_function;

// Loops by function; NULL: the function has none for this type.
extern const etx_binary_loop etx_binary_loops_f64[ETX_BINARY_COUNT];

// The loops of logical_and, logical_or and logical_xor over bool as it lies in
// memory; NULL for others.
etx_binary_loop etx_binary_loop_of_bool(size_t function);

// The loop over integers narrower than int64 as they lie in memory; NULL: not
// for this function or type.
etx_binary_loop etx_binary_loop_of_narrow(size_t function, etx_dtype dtype);

// Defines a loop over operands of type T, which is the member `member` of an
// etx_scalar, with results of type R. The expression may use x, y and the
// parameter p.
#define ETX_BINARY_LOOP(name, T, R, member, expression)                    \
  static void name(void* out_data, const void* a_data, const void* b_data, \
                   size_t count, etx_scalar parameter) {                   \
    R* out = out_data;                                                     \
    const T* a = a_data;                                                   \
    const T* b = b_data;                                                   \
    const T p = (T)parameter.member;                                       \
    const size_t whole = count / ETX_LANES * ETX_LANES;                    \
    (void)p;                                                               \
    ETX_INDEPENDENT                                                        \
    for (size_t i = 0; i < whole; ++i) {                                   \
      const T x = a[i], y = b[i];                                          \
      (void)y;                                                             \
      out[i] = (R)(expression);                                            \
    }                                                                      \
  }

#endif
