// Which loops of the tables of loops this build has, and how the tables leave
// out the others.
//
// A table of loops (float_loops.h, f32_microkernels.h, recurrent_loops.h) is
// one object, so a kernel that calls one of its loops would link all of them. A
// selected build states which loops its kernels call: the macro
// ETX_SELECTED_LOOPS names a header, written by `etx select`, with one macro
// for each loop, the types of the calls that want it:
//
//   #define ETX_LOOP_unary_tanh UINT32_C(0x40)
//
// kernels/registry/kernel_loops.def says which kernel calls which loops. Tables
// have NULL in place of loops that are left out, and the compiler drops the
// code. Without the macro, all loops of the build's types are in.
//
//   ETX_IF_LOOP(ETX_LOOP_unary_tanh, ETX_LOOP_F32, tanh_f32)

#ifndef ETX_RUNTIME_BUILT_LOOPS_H
#define ETX_RUNTIME_BUILT_LOOPS_H

#include "runtime/built_types.h"

#ifdef ETX_SELECTED_LOOPS
#include ETX_SELECTED_LOOPS
#endif
// The header's guard. The sources of 'etx select --amalgamate' have its macros.
#ifdef ETX_SELECTED_LOOPS_H
#if !ETX_CELLS
#error "selected loops need the check of ETX_CELLS (format/base/build_parts.h)"
#endif
#define ETX_LOOPS_ARE_SELECTED 1
#else
#define ETX_LOOPS_ARE_SELECTED 0
#endif

// The types that are computed in int64, in float and in double
// (compute_type.h).
#define ETX_LOOP_I64                                                  \
  (ETX_DTYPE_BIT(BOOL) | ETX_DTYPE_BIT(UINT8) | ETX_DTYPE_BIT(INT8) | \
   ETX_DTYPE_BIT(INT16) | ETX_DTYPE_BIT(INT32) | ETX_DTYPE_BIT(INT64))
#define ETX_LOOP_F32 \
  (ETX_DTYPE_BIT(FLOAT16) | ETX_DTYPE_BIT(BFLOAT16) | ETX_DTYPE_BIT(FLOAT32))
#define ETX_LOOP_F64 ETX_DTYPE_BIT(FLOAT64)
// Complex numbers are computed as pairs of floats or doubles.
#define ETX_LOOP_COMPLEX (ETX_DTYPE_BIT(COMPLEX64) | ETX_DTYPE_BIT(COMPLEX128))

// The types of calls and the types that these compute in: integers and bool
// meet in int64, and become float32 beside a number that is no integer.
#define ETX_LOOP_TYPES(calls)                             \
  ((calls) |                                              \
   (((calls)&ETX_LOOP_I64) != 0                           \
        ? ETX_DTYPE_BIT(INT64) | ETX_DTYPE_BIT(FLOAT32)   \
        : 0u) |                                           \
   (((calls)&ETX_LOOP_COMPLEX) != 0                       \
        ? ETX_DTYPE_BIT(FLOAT32) | ETX_DTYPE_BIT(FLOAT64) \
        : 0u))

// True if a call of a kernel of this build may want a loop, whose macro is
// `calls`, with one of the types. A constant expression.
#if ETX_LOOPS_ARE_SELECTED
#define ETX_HAS_LOOP(calls, types) ((ETX_LOOP_TYPES(calls) & (types)) != 0)
#else
#define ETX_HAS_LOOP(calls, types) ((types) != 0)
#endif

// The loop, or NULL in a build that leaves it out.
#define ETX_IF_LOOP(calls, types, loop) \
  (ETX_HAS_LOOP(calls, types) ? (loop) : NULL)

// The same for loops that serve all types.
#define ETX_IF_ANY_LOOP(calls, loop) ETX_IF_LOOP(calls, UINT32_MAX, loop)

#endif
