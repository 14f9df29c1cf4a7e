// The loops over integers narrower than int64, computed in their own type, as
// one table. Included by binary_loops_narrow.c once for each type.
//
//   T        required  the C type of the elements
//   NAME(x)  required  x with the suffix of the type
//   TYPE     required  the bit of the type in a set of types

#if !defined(T) || !defined(NAME) || !defined(TYPE)
#error "this header needs the macros of its table"
#endif

#define NUMERIC(name, ...)
#define NUMERIC_NARROW(name, traits, floating, integral, ...) \
  ETX_BINARY_LOOP(NAME(name), T, T, i64, integral)
#define FLOATING(name, ...)
#define FLOAT32(name, ...)
#define COMPARISON(name, expression, ...) \
  ETX_BINARY_LOOP(NAME(name), T, uint8_t, i64, expression)
#define INTEGRAL(name, integral, ...) \
  ETX_BINARY_LOOP(NAME(name), T, T, i64, integral)
#include "runtime/kernels/simd/elementwise/binary_ops.def"

static const etx_binary_loop NAME(loops)[ETX_BINARY_COUNT] = {
#define NUMERIC(name, ...) NULL,
#define NUMERIC_NARROW(name, ...) \
  ETX_IF_LOOP(ETX_LOOP_binary_##name, TYPE, NAME(name)),
#define FLOATING(name, ...) NULL,
#define FLOAT32(name, ...) NULL,
#define COMPARISON(name, ...) \
  ETX_IF_LOOP(ETX_LOOP_binary_##name, TYPE, NAME(name)),
#define INTEGRAL(name, ...) \
  ETX_IF_LOOP(ETX_LOOP_binary_##name, TYPE, NAME(name)),
#include "runtime/kernels/simd/elementwise/binary_ops.def"
};

#undef T
#undef NAME
#undef TYPE
