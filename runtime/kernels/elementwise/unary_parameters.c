#include "runtime/kernels/elementwise/unary_parameters.h"

#include "format/tensor/dtype_limits.h"

// A number of the wide type of `common`, not cut to `common`. One for integers
// is small.
static etx_scalar wide_number(double value, etx_dtype common) {
  etx_scalar number = {.f64 = value};
  if (etx_compute_type_of(common) == ETX_COMPUTE_F32) number.f32 = (float)value;
  if (etx_compute_type_of(common) == ETX_COMPUTE_I64)
    number.i64 = (int64_t)value;
  return number;
}

static etx_scalar lowest(etx_dtype common) {
  etx_scalar number = {.i64 = INT64_MIN};
  if (etx_compute_type_of(common) == ETX_COMPUTE_F32)
    number.f32 = -__builtin_inff();
  if (etx_compute_type_of(common) == ETX_COMPUTE_F64)
    number.f64 = -__builtin_inf();
  return number;
}

static etx_scalar highest(etx_dtype common) {
  etx_scalar number = {.i64 = INT64_MAX};
  if (etx_compute_type_of(common) == ETX_COMPUTE_F32)
    number.f32 = __builtin_inff();
  if (etx_compute_type_of(common) == ETX_COMPUTE_F64)
    number.f64 = __builtin_inf();
  return number;
}

static void read_nothing(const etx_call* call, etx_dtype common,
                         etx_scalar out[ETX_UNARY_PARAMETERS]) {
  (void)call;
  (void)common;
  for (size_t i = 0; i < ETX_UNARY_PARAMETERS; ++i) {
    out[i] = (etx_scalar){.i64 = 0};
  }
}

static void read_bounds(const etx_call* call, etx_dtype common,
                        etx_scalar out[ETX_UNARY_PARAMETERS]) {
  out[0] = etx_call_is_none(call, 1)
               ? lowest(common)
               : etx_scalar_read(etx_call_value(call, 1), common);
  out[1] = etx_call_is_none(call, 2)
               ? highest(common)
               : etx_scalar_read(etx_call_value(call, 2), common);
  out[2] = (etx_scalar){.i64 = 0};
}

static void read_zero_six(const etx_call* call, etx_dtype common,
                          etx_scalar out[ETX_UNARY_PARAMETERS]) {
  read_nothing(call, common, out);
  out[1] = wide_number(6, common);
}

static void read_slope(const etx_call* call, etx_dtype common,
                       etx_scalar out[ETX_UNARY_PARAMETERS]) {
  const double slope = etx_call_real(call, 1);
  read_nothing(call, common, out);
  out[0] = wide_number(slope, common);
  // What float32 has no room for.
  if (etx_compute_type_of(common) == ETX_COMPUTE_F32) {
    const double rest = slope - (double)out[0].f32;
    out[1].f32 = rest - rest == 0 ? (float)rest : 0;
  }
}

static void read_pair(const etx_call* call, etx_dtype common,
                      etx_scalar out[ETX_UNARY_PARAMETERS]) {
  read_slope(call, common, out);
  out[1] = wide_number(etx_call_real(call, 2), common);
}

static void read_elu(const etx_call* call, etx_dtype common,
                     etx_scalar out[ETX_UNARY_PARAMETERS]) {
  const double alpha = etx_call_real(call, 1), scale = etx_call_real(call, 2);
  out[0] = wide_number(scale, common);
  out[1] = wide_number(alpha * scale, common);
  out[2] = wide_number(etx_call_real(call, 3), common);
}

// Integers are none of the three.
static void read_replacements(const etx_call* call, etx_dtype common,
                              etx_scalar out[ETX_UNARY_PARAMETERS]) {
  const double most = etx_dtype_max(common);
  const double absent[] = {0, most, -most};
  read_nothing(call, common, out);
  if (etx_compute_type_of(common) == ETX_COMPUTE_I64) return;
  for (size_t i = 0; i < ETX_UNARY_PARAMETERS; ++i) {
    const double value =
        etx_call_is_none(call, i + 1) ? absent[i] : etx_call_real(call, i + 1);
    out[i] = wide_number(value, common);
  }
}

static void read_margin(const etx_call* call, etx_dtype common,
                        etx_scalar out[ETX_UNARY_PARAMETERS]) {
  out[0] = lowest(common);
  out[1] = highest(common);
  out[2] = (etx_scalar){.i64 = 0};
  if (etx_call_is_none(call, 1)) return;
  out[0] = wide_number(etx_call_real(call, 1), common);
  out[1] = wide_number(1.0 - etx_call_real(call, 1), common);
}

const etx_unary_read etx_unary_readers[ETX_UNARY_READER_COUNT] = {
    [ETX_UNARY_READS_NOTHING] = read_nothing,
    [ETX_UNARY_READS_BOUNDS] = read_bounds,
    [ETX_UNARY_READS_ZERO_SIX] = read_zero_six,
    [ETX_UNARY_READS_SLOPE] = read_slope,
    [ETX_UNARY_READS_PAIR] = read_pair,
    [ETX_UNARY_READS_ELU] = read_elu,
    [ETX_UNARY_READS_REPLACEMENTS] = read_replacements,
    [ETX_UNARY_READS_MARGIN] = read_margin,
};
