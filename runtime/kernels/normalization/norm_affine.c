#include "runtime/kernels/normalization/norm_affine.h"

#include "runtime/kernels/simd/elementwise/float_loops.h"
#include "runtime/kernels/core/loop_apply.h"
#include "runtime/kernels/math/math_functions.h"
#include "runtime/kernels/registry/op_arguments.h"

double etx_inverse_deviation(double variance, double eps) {
  return 1.0 / etx_sqrt_f64(variance + eps);
}

static void rescale_block(etx_compute_type wide, etx_block* block, size_t count,
                          double mean, double scale, double bias) {
  if (!etx_is_f64(wide)) {
    const float m = (float)mean, s = (float)scale, b = (float)bias;
    for (size_t i = 0; i < count; ++i) {
      block->f32[i] = (block->f32[i] - m) * s + b;
    }
  } else {
    for (size_t i = 0; i < count; ++i) {
      block->f64[i] = (block->f64[i] - mean) * scale + bias;
    }
  }
}

void etx_norm_affine_row(etx_dtype dtype, void* out, ptrdiff_t out_stride,
                         const void* in, ptrdiff_t in_stride, size_t count,
                         double mean, double scale, double bias) {
  const ptrdiff_t bytes = (ptrdiff_t)etx_dtype_bytes(dtype);
  const etx_compute_type wide = etx_compute_type_of(dtype);
  if (dtype == ETX_DTYPE_FLOAT32 && out_stride == 1 && in_stride == 1) {
    const etx_scalar parameters[ETX_UNARY_PARAMETERS] = {
        {.f32 = (float)mean}, {.f32 = (float)scale}, {.f32 = (float)bias}};
    const size_t row =
        parameters[0].f32 == 0 ? ETX_UNARY_scale : ETX_UNARY_rescale;
    etx_unary_apply(etx_float_loops_best()->unary[row],
                    etx_loop_bytes_of(wide, false), out, in, count, parameters);
    return;
  }
  for (size_t done = 0; done < count; done += ETX_BLOCK) {
    const size_t part = count - done < ETX_BLOCK ? count - done : ETX_BLOCK;
    const ptrdiff_t at = (ptrdiff_t)done * bytes;
    etx_block block;
    etx_block_load(&block, wide, dtype, (const char*)in + at * in_stride,
                   in_stride, part);
    rescale_block(wide, &block, part, mean, scale, bias);
    etx_block_store(&block, wide, dtype, (char*)out + at * out_stride,
                    out_stride, part);
  }
}

etx_norm_parameter etx_norm_parameter_of(const etx_call* call, size_t index) {
  etx_norm_parameter parameter = {NULL, 1, ETX_DTYPE_FLOAT32};
  if (etx_call_is_none(call, index)) return parameter;
  const etx_tensor* tensor = etx_call_tensor(call, index);
  parameter.data = tensor->data;
  parameter.dtype = tensor->dtype;
  if (tensor->rank == 1) parameter.stride = tensor->strides[0];
  return parameter;
}

static const char* address_of(const etx_norm_parameter* parameter, size_t at) {
  return parameter->data + (ptrdiff_t)at * parameter->stride *
                               (ptrdiff_t)etx_dtype_bytes(parameter->dtype);
}

double etx_norm_parameter_convert(const etx_norm_parameter* parameter,
                                  size_t at) {
  double value;
  etx_convert(ETX_DTYPE_FLOAT64, &value, 1, parameter->dtype,
              address_of(parameter, at), 1, 1);
  return value;
}

const void* etx_norm_parameter_load(const etx_norm_parameter* parameter,
                                    size_t start, size_t count,
                                    etx_compute_type wide, etx_block* block) {
  const void* from = address_of(parameter, start);
  if (parameter->stride == 1 &&
      parameter->dtype == etx_compute_type_dtype(wide)) {
    return from;
  }
  etx_block_load(block, wide, parameter->dtype, from, parameter->stride, count);
  return block;
}

etx_status etx_call_check_norm_types(const etx_call* call, size_t out,
                                     const size_t* parameters, size_t count) {
  const etx_dtype input =
      etx_call_tensor(call, ETX_ARG_native_layer_norm_input)->dtype;
  const etx_compute_type wide = etx_compute_type_of(input);
  etx_dtype found = ETX_DTYPE_COUNT;
  if (wide != ETX_COMPUTE_F32 && wide != ETX_COMPUTE_F64) {
    return etx_call_refuse_dtype(call, ETX_ARG_native_layer_norm_input,
                                 "a float type");
  }
  for (size_t i = 0; i < count; ++i) {
    if (etx_call_is_none(call, parameters[i])) continue;
    const etx_dtype dtype = etx_call_tensor(call, parameters[i])->dtype;
    if (found == ETX_DTYPE_COUNT) found = dtype;
    const bool fits =
        dtype == input || (dtype == ETX_DTYPE_FLOAT32 &&
                           etx_compute_type_of(input) == ETX_COMPUTE_F32);
    if (fits && dtype == found) continue;
    return etx_call_refuse_dtype(
        call, parameters[i],
        "the type of the input, or float32 beside halves, alike for all");
  }
  // Statistics come out in the type of the parameters.
  if (found == ETX_DTYPE_COUNT) found = input;
  ETX_TRY(
      etx_call_check_same_dtype(call, ETX_ARG_native_layer_norm_input, out));
  ETX_TRY(etx_call_check_dtype(call, out + 1, found));
  return etx_call_check_dtype(call, out + 2, found);
}
