// Numbers and dtypes: Python numbers become 0-d constants of the compute type,
// and tensors of other dtypes are cast to it, so that kernels get operands of
// one dtype.

#include <string.h>

#include "exporter/lower/builder/builder.h"
#include "format/tensor/promotion.h"

static double number_as_double(const etx_ir_arg* number) {
  if (number->kind == ETX_IR_ARG_INT) return (double)number->as.integer;
  if (number->kind == ETX_IR_ARG_BOOL) return number->as.boolean ? 1.0 : 0.0;
  return number->as.real;
}

// Integers stay exact; a double is truncated toward zero, as in PyTorch.
static bool number_as_int(const etx_ir_arg* number, int64_t* out) {
  if (number->kind == ETX_IR_ARG_INT) {
    *out = number->as.integer;
    return true;
  }
  const double real = number_as_double(number);
  if (!(real >= -9223372036854775808.0 && real < 9223372036854775808.0)) {
    return false;
  }
  *out = (int64_t)real;
  return true;
}

static size_t put_integer(int64_t value, etx_dtype dtype, uint8_t out[8]) {
  const size_t bytes = etx_dtype_bytes(dtype);
  const uint64_t bits = (uint64_t)value;
  for (size_t i = 0; i < bytes; ++i) out[i] = (uint8_t)(bits >> (8 * i));
  return bytes;
}

enum { NUMBER_BYTES = 16 };

// The bytes of `number` as `dtype`, little-endian. False for float16 and
// bfloat16, which a scalar_tensor node computes instead.
static bool number_bytes(const etx_ir_arg* number, etx_dtype dtype,
                         uint8_t out[NUMBER_BYTES], size_t* out_bytes) {
  int64_t integer = 0;
  if (etx_dtype_category_of(dtype) == ETX_CATEGORY_COMPLEX) {
    memset(out, 0, NUMBER_BYTES);  // the imaginary part
    if (!number_bytes(number, etx_dtype_real_type(dtype), out, out_bytes)) {
      return false;
    }
    *out_bytes *= 2;
    return true;
  }
  if (dtype == ETX_DTYPE_FLOAT32) {
    const float real = number->kind == ETX_IR_ARG_INT
                           ? (float)number->as.integer
                           : (float)number_as_double(number);
    memcpy(out, &real, sizeof real);
    *out_bytes = sizeof real;
    return true;
  }
  if (dtype == ETX_DTYPE_FLOAT64) {
    const double real = number_as_double(number);
    memcpy(out, &real, sizeof real);
    *out_bytes = sizeof real;
    return true;
  }
  if (dtype == ETX_DTYPE_BOOL) {
    out[0] = number_as_double(number) != 0.0;
    *out_bytes = 1;
    return true;
  }
  if (etx_dtype_category_of(dtype) != ETX_CATEGORY_INTEGER) return false;
  if (!number_as_int(number, &integer)) return false;
  *out_bytes = put_integer(integer, dtype, out);
  return true;
}

etx_status etx_build_constant(etx_builder* builder,
                              const etx_ir_constant* constant,
                              uint32_t* out_value) {
  uint32_t index = 0;
  ETX_TRY(etx_ir_add_constant(builder->module, constant, &index));
  return etx_ir_constant_value(builder->module, builder->method, index,
                               out_value);
}

etx_status etx_build_scalar(etx_builder* builder, const etx_ir_arg* number,
                            etx_dtype dtype, uint32_t* out_value) {
  const bool symbolic =
      number->kind == ETX_IR_ARG_INT && !etx_dim_is_number(number->as.integer);
  uint8_t bytes[NUMBER_BYTES];
  size_t size = 0;
  if (symbolic || !number_bytes(number, dtype, bytes, &size)) {
    return etx_build_op_outputs(builder, ETX_OP_scalar_tensor_out, number, 1,
                                &dtype, out_value);
  }
  uint8_t* const data = etx_pool_take(builder->module->pool, size);
  if (data == NULL) return ETX_OUT_OF_MEMORY;
  memcpy(data, bytes, size);
  const etx_ir_constant constant = {dtype, 0, {0}, {data, size}};
  return etx_build_constant(builder, &constant, out_value);
}

etx_status etx_build_binary_constant(etx_builder* builder, etx_op_id op,
                                     uint32_t self, double number,
                                     uint32_t* out_value) {
  const etx_ir_arg arg = etx_ir_double(number);
  uint32_t constant = 0;
  ETX_TRY(etx_build_scalar(builder, &arg,
                           etx_builder_shape(builder, self)->dtype, &constant));
  return etx_build_binary(builder, op, self, constant, out_value);
}

etx_status etx_build_full(etx_builder* builder, const etx_dim* dims,
                          size_t rank, etx_ir_arg number, etx_dtype dtype,
                          uint32_t* out_value) {
  if (rank == 0) return etx_build_scalar(builder, &number, dtype, out_value);
  etx_ir_arg args[] = {etx_ir_none(), number};
  ETX_TRY(etx_build_int_list(builder, dims, rank, &args[0]));
  return etx_build_op_outputs(builder, ETX_OP_full_out, args, 2, &dtype,
                              out_value);
}

// ------------------------------------------------ casts

etx_status etx_build_complex(etx_builder* builder, uint32_t real,
                             uint32_t imaginary, uint32_t* out_value) {
  const size_t rank = etx_builder_shape(builder, real)->rank;
  uint32_t parts[] = {real, imaginary};
  uint32_t value = 0;
  if (builder->target != ETX_TARGET_ETX)
    return etx_builder_refuse_target(builder);
  for (size_t i = 0; i < 2; ++i) {
    ETX_TRY(etx_build_unsqueeze(builder, parts[i], rank, &parts[i]));
  }
  ETX_TRY(etx_build_concat(builder, parts, 2, rank, &value));
  return etx_build_unary(builder, ETX_OP_view_as_complex_copy_out, value,
                         out_value);
}

// Casts a real tensor to a complex dtype.
static etx_status cast_to_complex(etx_builder* builder, uint32_t self,
                                  etx_dtype dtype, uint32_t* out_value) {
  const etx_shape shape = *etx_builder_shape(builder, self);
  const etx_dtype part = etx_dtype_real_type(dtype);
  uint32_t zeros = 0;
  ETX_TRY(etx_build_cast(builder, self, part, &self));
  ETX_TRY(etx_build_full(builder, shape.dims, shape.rank, etx_ir_double(0.0),
                         part, &zeros));
  return etx_build_complex(builder, self, zeros, out_value);
}

etx_status etx_build_cast(etx_builder* builder, uint32_t self, etx_dtype dtype,
                          uint32_t* out_value) {
  const etx_shape shape = *etx_builder_shape(builder, self);
  if (shape.dtype == dtype) {
    *out_value = self;
    return ETX_OK;
  }
  if (etx_dtype_category_of(dtype) == ETX_CATEGORY_COMPLEX &&
      etx_dtype_category_of(shape.dtype) != ETX_CATEGORY_COMPLEX) {
    return cast_to_complex(builder, self, dtype, out_value);
  }
  etx_dim order[ETX_MAX_RANK];
  for (size_t i = 0; i < shape.rank; ++i) order[i] = (etx_dim)i;
  etx_ir_arg args[] = {etx_ir_value_arg(self), etx_ir_bool(false),
                       etx_ir_none()};
  ETX_TRY(etx_build_int_list(builder, order, shape.rank, &args[2]));
  return etx_build_op_outputs(builder, ETX_OP_to_dim_order_copy_out, args, 3,
                              &dtype, out_value);
}

// The default type of a Python number.
static etx_dtype number_dtype(const etx_ir_arg* number) {
  if (number->kind == ETX_IR_ARG_BOOL) return ETX_DTYPE_BOOL;
  if (number->kind == ETX_IR_ARG_INT) return ETX_DTYPE_INT64;
  return ETX_DTYPE_FLOAT32;
}

static etx_dtype_category number_category(const etx_ir_arg* number) {
  if (number->kind == ETX_IR_ARG_BOOL) return ETX_CATEGORY_BOOLEAN;
  return number->kind == ETX_IR_ARG_INT ? ETX_CATEGORY_INTEGER
                                        : ETX_CATEGORY_FLOATING;
}

etx_status etx_builder_result_type(etx_builder* builder,
                                   const etx_ir_arg* operands, size_t count,
                                   etx_dtype* out_dtype) {
  etx_promotion promotion = etx_promotion_start();
  bool ok = true;
  for (size_t i = 0; i < count; ++i) {
    if (operands[i].kind == ETX_IR_ARG_NONE) continue;
    if (operands[i].kind != ETX_IR_ARG_VALUE) {
      etx_promotion_add_number(&promotion, number_category(&operands[i]));
      continue;
    }
    const etx_shape* const shape =
        etx_builder_shape(builder, operands[i].as.value);
    ok = ok && etx_promotion_add(&promotion, shape->dtype, shape->rank);
  }
  if (ok && etx_promotion_result(&promotion, out_dtype)) return ETX_OK;
  return etx_diag_fail(builder->diag, ETX_BAD_ARGUMENT,
                       "the operands have no common dtype");
}

etx_status etx_build_operand(etx_builder* builder, const etx_ir_arg* operand,
                             etx_dtype dtype, uint32_t* out_value) {
  if (operand->kind == ETX_IR_ARG_VALUE) {
    return etx_build_cast(builder, operand->as.value, dtype, out_value);
  }
  return etx_build_scalar(builder, operand, dtype, out_value);
}

etx_status etx_build_tensor(etx_builder* builder, const etx_ir_arg* arg,
                            uint32_t* out_value) {
  if (arg->kind == ETX_IR_ARG_VALUE) {
    *out_value = arg->as.value;
    return ETX_OK;
  }
  return etx_build_scalar(builder, arg, number_dtype(arg), out_value);
}

etx_status etx_build_eye(etx_builder* builder, etx_dim row_count,
                         etx_dim column_count, etx_dtype dtype,
                         uint32_t* out_value) {
  uint32_t rows = 0;
  uint32_t columns = 0;
  uint32_t equal = 0;
  ETX_TRY(etx_build_arange(builder, row_count, &rows));
  ETX_TRY(etx_build_arange(builder, column_count, &columns));
  ETX_TRY(etx_build_unsqueeze(builder, rows, 1, &rows));
  ETX_TRY(
      etx_build_binary(builder, ETX_OP_eq_tensor_out, columns, rows, &equal));
  return etx_build_cast(builder, equal, dtype, out_value);
}
