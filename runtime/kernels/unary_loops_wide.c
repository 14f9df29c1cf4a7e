#include "runtime/kernels/math_functions.h"
#include "runtime/kernels/unary_loops.h"
#include "runtime/kernels/whole_math.h"

static inline double etx_largest_f64(void) { return 1.7976931348623157e308; }

// NaN in any of the three gives NaN.
static inline double etx_clamp_f64(double x, double low, double high) {
  const double raised = x >= low || x != x ? x : low;
  return raised <= high || raised != raised ? raised : high;
}

#define F(f) etx_##f##_f64
#define SAME(name, real, whole) \
  ETX_UNARY_LOOP(name##_f64, double, double, f64, real)
#define REAL(name, real) ETX_UNARY_LOOP(name##_f64, double, double, f64, real)
#define SINGLE(name, real)
#define TRUTH(name, real, whole) \
  ETX_UNARY_LOOP(name##_f64, double, uint8_t, f64, real)
#include "runtime/kernels/unary_list.def"
#undef F
#undef SAME
#undef REAL
#undef SINGLE
#undef TRUTH

#define SAME(name, real, whole) \
  ETX_UNARY_LOOP(name##_i64, int64_t, int64_t, i64, whole)
#define REAL(name, real)
#define SINGLE(name, real)
#define TRUTH(name, real, whole) \
  ETX_UNARY_LOOP(name##_i64, int64_t, uint8_t, i64, whole)
#include "runtime/kernels/unary_list.def"
#undef SAME
#undef REAL
#undef SINGLE
#undef TRUTH

const etx_unary_loop etx_unary_loops_f64[ETX_UNARY_COUNT] = {
#define SAME(name, real, whole) name##_f64,
#define REAL(name, real) name##_f64,
#define SINGLE(name, real) NULL,
#define TRUTH(name, real, whole) name##_f64,
#include "runtime/kernels/unary_list.def"
#undef SAME
#undef REAL
#undef SINGLE
#undef TRUTH
};

const etx_unary_loop etx_unary_loops_i64[ETX_UNARY_COUNT] = {
#define SAME(name, real, whole) name##_i64,
#define REAL(name, real) NULL,
#define SINGLE(name, real) NULL,
#define TRUTH(name, real, whole) name##_i64,
#include "runtime/kernels/unary_list.def"
#undef SAME
#undef REAL
#undef SINGLE
#undef TRUTH
};
