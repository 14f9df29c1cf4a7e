// Complex tensors as their real and imaginary parts, and back.
//
// The parts are read with view_as_real, which ExecuTorch has. A complex tensor
// is made with view_as_complex, which only etx's runtime has.

#include "exporter/lower/builder/lowering_functions.h"

static bool is_complex(const etx_builder* builder, uint32_t value) {
  return etx_dtype_category_of(etx_builder_shape(builder, value)->dtype) ==
         ETX_CATEGORY_COMPLEX;
}

// Part 0, real, or 1, imaginary.
static etx_status part_of(etx_builder* builder, uint32_t complex, size_t part,
                          uint32_t* out_value) {
  const size_t rank = etx_builder_shape(builder, complex)->rank;
  uint32_t parts = 0;
  ETX_TRY(
      etx_build_unary(builder, ETX_OP_view_as_real_copy_out, complex, &parts));
  const etx_ir_arg args[] = {etx_ir_value_arg(parts), etx_ir_int((etx_dim)rank),
                             etx_ir_int((etx_dim)part)};
  return etx_build_op(builder, ETX_OP_select_copy_int_out, args, 3, out_value);
}

// real(self): a real tensor is returned as it is.
etx_status etx_lowering_real(etx_builder* builder) {
  const uint32_t self = builder->args[0].as.value;
  if (is_complex(builder, self)) {
    return part_of(builder, self, 0, &builder->results[0]);
  }
  builder->results[0] = self;
  return ETX_OK;
}

etx_status etx_lowering_imag(etx_builder* builder) {
  return part_of(builder, builder->args[0].as.value, 1, &builder->results[0]);
}

// conj(self), lazy or not.
etx_status etx_lowering_conj(etx_builder* builder) {
  const uint32_t self = builder->args[0].as.value;
  if (is_complex(builder, self)) {
    return etx_build_unary(builder, ETX_OP_conj_physical_out, self,
                           &builder->results[0]);
  }
  builder->results[0] = self;
  return ETX_OK;
}

// Both operands, broadcast to one shape and cast to their common dtype.
static etx_status read_pair(etx_builder* builder, uint32_t pair[2]) {
  etx_dtype dtype;
  etx_shape wide;
  ETX_TRY(etx_builder_result_type(builder, builder->args, 2, &dtype));
  for (size_t i = 0; i < 2; ++i) {
    ETX_TRY(etx_build_operand(builder, &builder->args[i], dtype, &pair[i]));
  }
  ETX_TRY(etx_builder_broadcast(builder, etx_builder_shape(builder, pair[0]),
                                etx_builder_shape(builder, pair[1]), &wide));
  for (size_t i = 0; i < 2; ++i) {
    ETX_TRY(etx_build_expand(builder, pair[i], wide.dims, wide.rank, &pair[i]));
  }
  return ETX_OK;
}

// complex(real, imag)
etx_status etx_lowering_complex(etx_builder* builder) {
  uint32_t pair[2];
  ETX_TRY(read_pair(builder, pair));
  return etx_build_complex(builder, pair[0], pair[1], &builder->results[0]);
}

// polar(abs, angle)
etx_status etx_lowering_polar(etx_builder* builder) {
  uint32_t pair[2];
  uint32_t parts[2];
  ETX_TRY(read_pair(builder, pair));
  ETX_TRY(etx_build_unary(builder, ETX_OP_cos_out, pair[1], &parts[0]));
  ETX_TRY(etx_build_unary(builder, ETX_OP_sin_out, pair[1], &parts[1]));
  for (size_t i = 0; i < 2; ++i) {
    ETX_TRY(etx_build_binary(builder, ETX_OP_mul_out, pair[0], parts[i],
                             &parts[i]));
  }
  return etx_build_complex(builder, parts[0], parts[1], &builder->results[0]);
}

// angle(self) of a real tensor: pi for negative numbers, 0 for others, NaN for
// NaN.
static etx_status real_angle(etx_builder* builder, uint32_t self) {
  uint32_t test = 0;
  uint32_t pi = 0;
  uint32_t zero = 0;
  if (etx_dtype_category_of(etx_builder_shape(builder, self)->dtype) <
      ETX_CATEGORY_FLOATING) {
    ETX_TRY(etx_build_cast(builder, self, ETX_DTYPE_FLOAT32, &self));
  }
  const etx_dtype dtype = etx_builder_shape(builder, self)->dtype;
  const etx_ir_arg numbers[] = {etx_ir_double(3.14159265358979323846),
                                etx_ir_double(0.0)};
  ETX_TRY(etx_build_scalar(builder, &numbers[0], dtype, &pi));
  ETX_TRY(etx_build_scalar(builder, &numbers[1], dtype, &zero));
  ETX_TRY(
      etx_build_binary_number(builder, ETX_OP_lt_scalar_out, self, 0.0, &test));
  ETX_TRY(etx_build_where(builder, test, pi, zero, &pi));
  ETX_TRY(etx_build_unary(builder, ETX_OP_isnan_out, self, &test));
  return etx_build_where(builder, test, self, pi, &builder->results[0]);
}

etx_status etx_lowering_angle(etx_builder* builder) {
  const uint32_t self = builder->args[0].as.value;
  uint32_t parts[2];
  if (!is_complex(builder, self)) return real_angle(builder, self);
  for (size_t i = 0; i < 2; ++i) {
    ETX_TRY(part_of(builder, self, i, &parts[i]));
  }
  return etx_build_binary(builder, ETX_OP_atan2_out, parts[1], parts[0],
                          &builder->results[0]);
}

// hypot(self, other): the absolute value of self + i other. Smaller dtypes than
// float64 are computed in float32.
etx_status etx_lowering_hypot(etx_builder* builder) {
  uint32_t pair[2];
  uint32_t value = 0;
  ETX_TRY(read_pair(builder, pair));
  const etx_dtype dtype = etx_builder_shape(builder, pair[0])->dtype;
  const bool is_double = dtype == ETX_DTYPE_FLOAT64;
  for (size_t i = 0; i < 2 && !is_double; ++i) {
    ETX_TRY(etx_build_cast(builder, pair[i], ETX_DTYPE_FLOAT32, &pair[i]));
  }
  ETX_TRY(etx_build_complex(builder, pair[0], pair[1], &value));
  ETX_TRY(etx_build_unary(builder, ETX_OP_abs_out, value, &value));
  return etx_build_cast(builder, value, dtype, &builder->results[0]);
}
