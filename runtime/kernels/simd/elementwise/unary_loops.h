// The inner loops of operators with one operand: one for each row of
// unary_ops.def and compute type (convert.h). Those over floats are compiled
// for each instruction set (float_loops.h), the others once.

#ifndef ETX_RUNTIME_KERNELS_SIMD_ELEMENTWISE_UNARY_LOOPS_H
#define ETX_RUNTIME_KERNELS_SIMD_ELEMENTWISE_UNARY_LOOPS_H

#include "runtime/built_loops.h"
#include "runtime/kernels/simd/vector/loop_independent.h"
#include "runtime/kernels/simd/vector/compute_type.h"

enum { ETX_UNARY_PARAMETERS = 3 };

// Computes `count` elements, a multiple of ETX_LANES; `out` may be `in`. See
// loop_apply.h.
typedef void (*etx_unary_loop)(
    void* out, const void* in, size_t count,
    const etx_scalar parameters[ETX_UNARY_PARAMETERS]);

typedef enum etx_unary_function {
#define NUMERIC(name, ...) ETX_UNARY_##name,
#define FLOATING(name, ...) ETX_UNARY_##name,
#define PREDICATE(name, ...) ETX_UNARY_##name,
#include "runtime/kernels/simd/elementwise/unary_ops.def"
  ETX_UNARY_COUNT
} etx_unary_function;

// Loops by function; NULL: the function has none for this type. float_loops.h
// has the loops over floats.
extern const etx_unary_loop etx_unary_loops_f64[ETX_UNARY_COUNT];
extern const etx_unary_loop etx_unary_loops_i64[ETX_UNARY_COUNT];

// The loop of logical_not over bool without conversion; NULL for others.
etx_unary_loop etx_unary_loop_of_bool(size_t function);

// Defines a loop over operands of type T, which is the member `member` of an
// etx_scalar, with results of type R. The expression may use x and the
// parameters p, q and r.
#define ETX_UNARY_LOOP(name, T, R, member, expression)                \
  static void name(void* out_data, const void* in_data, size_t count, \
                   const etx_scalar* parameters) {                    \
    R* out = out_data;                                                \
    const T* in = in_data;                                            \
    const T p = parameters[0].member, q = parameters[1].member;       \
    const T r = parameters[2].member;                                 \
    const size_t whole = count / ETX_LANES * ETX_LANES;               \
    (void)p;                                                          \
    (void)q;                                                          \
    (void)r;                                                          \
    ETX_INDEPENDENT                                                   \
    for (size_t i = 0; i < whole; ++i) {                              \
      const T x = in[i];                                              \
      (void)x;                                                        \
      out[i] = (R)(expression);                                       \
    }                                                                 \
  }

#endif
