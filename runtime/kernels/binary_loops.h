// The inner loops of operators with two operands: one for each row of
// binary_list.def and wide type (convert.h).
//
// Loops over floats are compiled for speed, those over doubles and integers,
// which no model waits for, for size: two files.

#ifndef ETX_RUNTIME_KERNELS_BINARY_LOOPS_H
#define ETX_RUNTIME_KERNELS_BINARY_LOOPS_H

#include <stdbool.h>
#include <stddef.h>

// Computes `count` elements; `a` and `b` advance by one element or stay, as
// the flags say. Element i is read before it is written, so `out` may be `a`
// or `b`.
typedef void (*etx_binary_loop)(void* out, const void* a, const void* b,
                                size_t count, bool a_moves, bool b_moves,
                                const void* parameter);

typedef enum etx_binary_row {
#define REAL_AND_WHOLE(name, real, whole) ETX_BINARY_##name,
#define QUOTIENT(name, f, whole) ETX_BINARY_##name,
#define REAL(name, real) ETX_BINARY_##name,
#define COMPARISON(name, expression) ETX_BINARY_##name,
#define WHOLE(name, whole) ETX_BINARY_##name,
#include "runtime/kernels/binary_list.def"
#undef REAL_AND_WHOLE
#undef REAL
#undef QUOTIENT
#undef COMPARISON
#undef WHOLE
  ETX_BINARY_COUNT
} etx_binary_row;

// By row; NULL: not for this type. Those over floats are in float_loops.h.
extern const etx_binary_loop etx_binary_loops_f64[ETX_BINARY_COUNT];
extern const etx_binary_loop etx_binary_loops_i64[ETX_BINARY_COUNT];

// One loop over operands of type T and results of type R; the expression is of
// x, y and the parameter p.
#define ETX_BINARY_LOOP(name, T, R, expression)                            \
  static void name(void* out_data, const void* a_data, const void* b_data, \
                   size_t count, bool a_moves, bool b_moves,               \
                   const void* parameter) {                                \
    R* out = out_data;                                                     \
    const T* a = a_data;                                                   \
    const T* b = b_data;                                                   \
    const T p = *(const T*)parameter;                                      \
    (void)p;                                                               \
    if (a_moves && b_moves) {                                              \
      for (size_t i = 0; i < count; ++i) {                                 \
        const T x = a[i], y = b[i];                                        \
        out[i] = (R)(expression);                                          \
      }                                                                    \
    } else if (a_moves) {                                                  \
      const T y = *b;                                                      \
      for (size_t i = 0; i < count; ++i) {                                 \
        const T x = a[i];                                                  \
        out[i] = (R)(expression);                                          \
      }                                                                    \
    } else {                                                               \
      const T x = *a;                                                      \
      for (size_t i = 0; i < count; ++i) {                                 \
        const T y = b[b_moves ? i : 0];                                    \
        out[i] = (R)(expression);                                          \
      }                                                                    \
    }                                                                      \
  }

#endif
