// The loops over int64 with two operands, as one table; read once for each
// instruction set (float_loops.h).

#include "runtime/kernels/binary_loops.h"
#include "runtime/kernels/math_functions.h"
#include "runtime/kernels/whole_math.h"

#define REAL_AND_WHOLE(name, real, whole) \
  ETX_BINARY_LOOP(name##_i64, int64_t, int64_t, i64, whole)
#define REAL(name, real)
#define SINGLE(name, real)
#define COMPARISON(name, expression) \
  ETX_BINARY_LOOP(name##_i64, int64_t, uint8_t, i64, expression)
#define WHOLE(name, whole) \
  ETX_BINARY_LOOP(name##_i64, int64_t, int64_t, i64, whole)
#include "runtime/kernels/binary_list.def"

static const etx_binary_loop whole_loops[ETX_BINARY_COUNT] = {
#define REAL_AND_WHOLE(name, real, whole) name##_i64,
#define REAL(name, real) NULL,
#define SINGLE(name, real) NULL,
#define COMPARISON(name, expression) name##_i64,
#define WHOLE(name, whole) name##_i64,
#include "runtime/kernels/binary_list.def"
};
