#include "runtime/kernels/elementwise/unary_parameters.h"

#include "format/tensor/dtype_limits.h"
#include "runtime/kernels/registry/op_arguments.h"

// A number in the compute type of `common`, not rounded to `common`. Numbers
// for integers are small.
static etx_scalar number_of(double value, etx_dtype common) {
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
  out[0] =
      etx_call_is_none(call, ETX_ARG_clamp_min)
          ? lowest(common)
          : etx_scalar_read(etx_call_value(call, ETX_ARG_clamp_min), common);
  out[1] =
      etx_call_is_none(call, ETX_ARG_clamp_max)
          ? highest(common)
          : etx_scalar_read(etx_call_value(call, ETX_ARG_clamp_max), common);
  out[2] = (etx_scalar){.i64 = 0};
}

static void read_zero_six(const etx_call* call, etx_dtype common,
                          etx_scalar out[ETX_UNARY_PARAMETERS]) {
  read_nothing(call, common, out);
  out[1] = number_of(6, common);
}

static void read_slope(const etx_call* call, etx_dtype common,
                       etx_scalar out[ETX_UNARY_PARAMETERS]) {
  const double slope = etx_call_real(call, ETX_ARG_leaky_relu_negative_slope);
  read_nothing(call, common, out);
  out[0] = number_of(slope, common);
  // The rounding error of the slope in float32.
  if (etx_compute_type_of(common) == ETX_COMPUTE_F32) {
    const double rest = slope - (double)out[0].f32;
    out[1].f32 = rest - rest == 0 ? (float)rest : 0;
  }
}

static void read_slope_and_threshold(const etx_call* call, etx_dtype common,
                                     etx_scalar out[ETX_UNARY_PARAMETERS]) {
  read_slope(call, common, out);
  out[1] = number_of(etx_call_real(call, ETX_ARG_softplus_threshold), common);
}

static void read_elu(const etx_call* call, etx_dtype common,
                     etx_scalar out[ETX_UNARY_PARAMETERS]) {
  const double alpha = etx_call_real(call, ETX_ARG_elu_alpha);
  const double scale = etx_call_real(call, ETX_ARG_elu_scale);
  out[0] = number_of(scale, common);
  out[1] = number_of(alpha * scale, common);
  out[2] = number_of(etx_call_real(call, ETX_ARG_elu_input_scale), common);
}

// Integers are neither NaN nor infinite.
static void read_replacements(const etx_call* call, etx_dtype common,
                              etx_scalar out[ETX_UNARY_PARAMETERS]) {
  const double most = etx_dtype_max(common);
  const double absent[] = {0, most, -most};
  read_nothing(call, common, out);
  if (etx_compute_type_of(common) == ETX_COMPUTE_I64) return;
  for (size_t i = 0; i < ETX_UNARY_PARAMETERS; ++i) {
    const size_t argument = ETX_ARG_nan_to_num_nan + i;
    const double value = etx_call_is_none(call, argument)
                             ? absent[i]
                             : etx_call_real(call, argument);
    out[i] = number_of(value, common);
  }
}

static void read_margin(const etx_call* call, etx_dtype common,
                        etx_scalar out[ETX_UNARY_PARAMETERS]) {
  out[0] = lowest(common);
  out[1] = highest(common);
  out[2] = (etx_scalar){.i64 = 0};
  if (etx_call_is_none(call, ETX_ARG_logit_eps)) return;
  out[0] = number_of(etx_call_real(call, ETX_ARG_logit_eps), common);
  out[1] = number_of(1.0 - etx_call_real(call, ETX_ARG_logit_eps), common);
}

// A switch and not a table of functions, which would need relocations.
void etx_unary_read_parameters(etx_unary_reader reader, const etx_call* call,
                               etx_dtype common,
                               etx_scalar out[ETX_UNARY_PARAMETERS]) {
  switch (reader) {
    case ETX_UNARY_READS_NOTHING:
      read_nothing(call, common, out);
      break;
    case ETX_UNARY_READS_BOUNDS:
      read_bounds(call, common, out);
      break;
    case ETX_UNARY_READS_ZERO_SIX:
      read_zero_six(call, common, out);
      break;
    case ETX_UNARY_READS_SLOPE:
      read_slope(call, common, out);
      break;
    case ETX_UNARY_READS_SOFTPLUS:
      read_slope_and_threshold(call, common, out);
      break;
    case ETX_UNARY_READS_ELU:
      read_elu(call, common, out);
      break;
    case ETX_UNARY_READS_REPLACEMENTS:
      read_replacements(call, common, out);
      break;
    case ETX_UNARY_READS_MARGIN:
      read_margin(call, common, out);
      break;
  }
}
