#include "runtime/kernels/math/math_functions.h"
#include "runtime/kernels/simd/elementwise/unary_loops.h"
#include "runtime/kernels/math/wrapping_math.h"

// The functions F(f) of unary_ops.def that are not in math_functions.h, for
// double; unary_f32_template.h has them for float.

static inline double etx_largest_f64(void) { return 1.7976931348623157e308; }

static inline double etx_clamp_f64(double x, double low, double high) {
  const double raised = x < low ? low : x;
  const double held = raised > high ? high : raised;
  const double bounded = low != low ? low : held;
  return high != high ? high : bounded;
}

static inline double etx_nan_to_num_f64(double x, double nan, double high,
                                        double low) {
  if (x != x) return nan;
  if (etx_abs_f64(x) <= etx_largest_f64()) return x;
  return x > 0 ? high : low;
}

static inline double etx_leaky_f64(double x, double slope, double rest) {
  (void)rest;
  return x > 0 ? x : x * slope;
}

static inline double etx_softshrink_f64(double x, double width) {
  if (x >= -width && x <= width) return 0;
  return x > 0 ? x - width : x + width;
}

static inline double etx_logit_f64(double x, double low, double high) {
  const double raised = x < low ? low : x;
  const double z = raised > high ? high : raised;
  return etx_log_f64(z / (1.0 - z));
}

static inline double etx_mish_f64(double x) {
  if (x > 40.0) return x;
  const double e = etx_exp_f64(x);
  const double n = e * (e + 2.0);
  return x * (n / (n + 2.0));
}

#define F(f) etx_##f##_f64
#define NUMERIC(name, floating, ...) \
  ETX_UNARY_LOOP(name##_f64, double, double, f64, floating)
#define FLOATING(name, floating, ...) \
  ETX_UNARY_LOOP(name##_f64, double, double, f64, floating)
#define PREDICATE(name, floating, ...) \
  ETX_UNARY_LOOP(name##_f64, double, uint8_t, f64, floating)
#include "runtime/kernels/simd/elementwise/unary_ops.def"
#undef F

#define NUMERIC(name, floating, integral, ...) \
  ETX_UNARY_LOOP(name##_i64, int64_t, int64_t, i64, integral)
#define FLOATING(name, ...)
#define PREDICATE(name, floating, integral, ...) \
  ETX_UNARY_LOOP(name##_i64, int64_t, uint8_t, i64, integral)
#include "runtime/kernels/simd/elementwise/unary_ops.def"

const etx_unary_loop etx_unary_loops_f64[ETX_UNARY_COUNT] = {
#define NUMERIC(name, ...) \
  ETX_IF_LOOP(ETX_LOOP_unary_##name, ETX_LOOP_F64, name##_f64),
#define FLOATING(name, ...) \
  ETX_IF_LOOP(ETX_LOOP_unary_##name, ETX_LOOP_F64, name##_f64),
#define PREDICATE(name, ...) \
  ETX_IF_LOOP(ETX_LOOP_unary_##name, ETX_LOOP_F64, name##_f64),
#include "runtime/kernels/simd/elementwise/unary_ops.def"
};

const etx_unary_loop etx_unary_loops_i64[ETX_UNARY_COUNT] = {
#define NUMERIC(name, ...) \
  ETX_IF_LOOP(ETX_LOOP_unary_##name, ETX_LOOP_I64, name##_i64),
#define FLOATING(name, ...) NULL,
#define PREDICATE(name, ...) \
  ETX_IF_LOOP(ETX_LOOP_unary_##name, ETX_LOOP_I64, name##_i64),
#include "runtime/kernels/simd/elementwise/unary_ops.def"
};

// logical_not of bool without conversion: any byte but 0 is true.
static void bool_not(void* out_data, const void* in_data, size_t count,
                     const etx_scalar* parameters) {
  uint8_t* out = out_data;
  const uint8_t* in = in_data;
  const size_t whole = count / ETX_LANES * ETX_LANES;
  (void)parameters;
  ETX_INDEPENDENT
  for (size_t i = 0; i < whole; ++i) out[i] = in[i] == 0;
}

etx_unary_loop etx_unary_loop_of_bool(size_t function) {
  return function == ETX_UNARY_logical_not ? bool_not : NULL;
}
