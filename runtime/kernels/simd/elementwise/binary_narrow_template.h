// The loops over integers narrower than int64, computed in their own type, as
// one table. Included by binary_loops_narrow.c once for each type.
//
//   T        required  the C type of the elements
//   NAME(x)  required  x with the suffix of the type

#if !defined(T) || !defined(NAME)
#error "this header needs the macros of its table"
#endif

#define REAL_AND_INTEGER(name, real, whole)
#define RING(name, real, whole) ETX_BINARY_LOOP(NAME(name), T, T, i64, whole)
#define REAL(name, real)
#define SINGLE(name, real)
#define COMPARISON(name, expression) \
  ETX_BINARY_LOOP(NAME(name), T, uint8_t, i64, expression)
#define WHOLE(name, whole) ETX_BINARY_LOOP(NAME(name), T, T, i64, whole)
#include "runtime/kernels/simd/elementwise/binary_list.def"

static const etx_binary_loop NAME(loops)[ETX_BINARY_COUNT] = {
#define REAL_AND_INTEGER(name, real, whole) NULL,
#define RING(name, real, whole) NAME(name),
#define REAL(name, real) NULL,
#define SINGLE(name, real) NULL,
#define COMPARISON(name, expression) NAME(name),
#define WHOLE(name, whole) NAME(name),
#include "runtime/kernels/simd/elementwise/binary_list.def"
};

#undef T
#undef NAME
