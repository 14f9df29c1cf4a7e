// What all normalisations end in: (x - mean) * scale * weight + bias, and the
// types their arguments may have.

#ifndef ETX_RUNTIME_KERNELS_NORMALIZATION_NORM_AFFINE_H
#define ETX_RUNTIME_KERNELS_NORMALIZATION_NORM_AFFINE_H

#include "runtime/kernels/core/operand.h"

// 1 / sqrt(variance + eps).
double etx_inverse_deviation(double variance, double eps);

// (x - mean) * scale + bias for `count` elements of a float type, computed in
// its wide type. `out` may be `in`, at equal strides.
void etx_norm_affine_row(etx_dtype dtype, void* out, ptrdiff_t out_stride,
                         const void* in, ptrdiff_t in_stride, size_t count,
                         double mean, double scale, double bias);

// An optional weight or bias as a kernel reads it: NULL is none.
typedef struct etx_norm_parameter {
  const char* data;
  ptrdiff_t stride;  // in elements
  etx_dtype dtype;
} etx_norm_parameter;

// Argument `index`, a tensor of one dimension or one that lies densely, or
// None.
etx_norm_parameter etx_norm_parameter_of(const etx_call* call, size_t index);

// Element `at` of what is no float32.
double etx_norm_parameter_convert(const etx_norm_parameter* parameter,
                                  size_t at);

// Element `at`, or `otherwise` for none.
static inline double etx_norm_parameter_at(const etx_norm_parameter* parameter,
                                           size_t at, double otherwise) {
  if (parameter->data == NULL) return otherwise;
  if (parameter->dtype != ETX_DTYPE_FLOAT32) {
    return etx_norm_parameter_convert(parameter, at);
  }
  const float* floats = (const float*)(const void*)parameter->data;
  return (double)floats[(ptrdiff_t)at * parameter->stride];
}

// `count` elements from `start` on in a wide type, which is also that of
// `dtype`'s; `block` may be what is answered. Not for none.
const void* etx_norm_parameter_load(const etx_norm_parameter* parameter,
                                    size_t start, size_t count,
                                    etx_compute_type wide, etx_block* block);

// Checks that argument `input` has a float type, that outputs in [first, last]
// have it too, and that each of `count` arguments listed in `parameters`, None
// aside, has one and the same type: the input's, or float32 beside halves.
etx_status etx_call_check_norm_types(const etx_call* call, size_t out,
                                     const size_t* parameters, size_t count);

#endif
