#include "runtime/kernels/normalization/norm_affine.h"

#include "runtime/kernels/simd/elementwise/float_loops.h"
#include "runtime/kernels/core/loop_apply.h"
#include "runtime/kernels/math/math_functions.h"
#include "runtime/kernels/registry/op_arguments.h"

double etx_inverse_deviation(double variance, double eps) {
  return 1.0 / etx_sqrt_f64(variance + eps);
}

static void scale_block(etx_compute_type compute, etx_block* block,
                        size_t count, const etx_norm_factors* f) {
  if (!etx_is_f64(compute)) {
    const float m = (float)f->mean, s = (float)f->scale, b = (float)f->bias;
    for (size_t i = 0; i < count; ++i) {
      block->f32[i] = (block->f32[i] - m) * s + b;
    }
  } else {
    for (size_t i = 0; i < count; ++i) {
      block->f64[i] = (block->f64[i] - f->mean) * f->scale + f->bias;
    }
  }
}

void etx_norm_affine_row(etx_dtype dtype, const etx_norm_row* row,
                         const etx_norm_factors* f) {
  const ptrdiff_t bytes = (ptrdiff_t)etx_dtype_bytes(dtype);
  const etx_compute_type compute = etx_compute_type_of(dtype);
  const size_t count = row->count;
  if (dtype == ETX_DTYPE_FLOAT32 && row->out_stride == 1 &&
      row->in_stride == 1) {
    const etx_scalar parameters[ETX_UNARY_PARAMETERS] = {
        {.f32 = (float)f->mean},
        {.f32 = (float)f->scale},
        {.f32 = (float)f->bias}};
    const size_t loop =
        parameters[0].f32 == 0 ? ETX_UNARY_scale : ETX_UNARY_rescale;
    etx_unary_apply(etx_float_loops_best()->unary[loop],
                    etx_loop_bytes_of(compute, false), row->out, row->in, count,
                    parameters);
    return;
  }
  for (size_t done = 0; done < count; done += ETX_BLOCK) {
    const size_t part = count - done < ETX_BLOCK ? count - done : ETX_BLOCK;
    const ptrdiff_t at = (ptrdiff_t)done * bytes;
    etx_block block;
    etx_block_load(&block, compute, dtype,
                   (const char*)row->in + at * row->in_stride, row->in_stride,
                   part);
    scale_block(compute, &block, part, f);
    etx_block_store(&block, compute, dtype,
                    (char*)row->out + at * row->out_stride, row->out_stride,
                    part);
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
                                    etx_compute_type compute,
                                    etx_block* block) {
  const void* from = address_of(parameter, start);
  if (parameter->stride == 1 &&
      parameter->dtype == etx_compute_type_dtype(compute)) {
    return from;
  }
  etx_block_load(block, compute, parameter->dtype, from, parameter->stride,
                 count);
  return block;
}

etx_status etx_call_check_norm_types(const etx_call* call, size_t out,
                                     const size_t* parameters, size_t count) {
  const etx_dtype input =
      etx_call_tensor(call, ETX_ARG_native_layer_norm_input)->dtype;
  const etx_compute_type compute = etx_compute_type_of(input);
  etx_dtype found = ETX_DTYPE_COUNT;
  if (compute != ETX_COMPUTE_F32 && compute != ETX_COMPUTE_F64) {
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
        "the input's type, or float32 with float16/bfloat16, the same for all");
  }
  // Statistics have the type of the parameters.
  if (found == ETX_DTYPE_COUNT) found = input;
  ETX_TRY(
      etx_call_check_same_dtype(call, ETX_ARG_native_layer_norm_input, out));
  ETX_TRY(etx_call_check_dtype(call, out + 1, found));
  return etx_call_check_dtype(call, out + 2, found);
}
