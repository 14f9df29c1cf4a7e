// The last step of all normalisations: (x - mean) * scale * weight + bias, and
// the types that their arguments may have.

#ifndef ETX_RUNTIME_KERNELS_NORMALIZATION_NORM_AFFINE_H
#define ETX_RUNTIME_KERNELS_NORMALIZATION_NORM_AFFINE_H

#include "runtime/kernels/core/operand.h"

// 1 / sqrt(variance + eps).
double etx_inverse_deviation(double variance, double eps);

// A row of elements of a float type.
typedef struct etx_norm_row {
  const void* in;
  void* out;                        // may be `in`, if the strides are equal
  ptrdiff_t in_stride, out_stride;  // in elements
  size_t count;
} etx_norm_row;

// The numbers of an affine step: (x - mean) * scale + bias.
typedef struct etx_norm_factors {
  double mean, scale, bias;
} etx_norm_factors;

// out = (in - mean) * scale + bias, computed in the compute type of `dtype`.
void etx_norm_affine_row(etx_dtype dtype, const etx_norm_row* row,
                         const etx_norm_factors* factors);

// An optional weight or bias. data NULL: there is none.
typedef struct etx_norm_parameter {
  const char* data;
  ptrdiff_t stride;  // in elements
  etx_dtype dtype;
} etx_norm_parameter;

// Argument `index`: None, a tensor of one dimension, or a contiguous tensor.
etx_norm_parameter etx_norm_parameter_of(const etx_call* call, size_t index);

// Element `at` of a parameter that is not float32.
double etx_norm_parameter_convert(const etx_norm_parameter* parameter,
                                  size_t at);

// Element `at`, or `otherwise` if there is no parameter.
static inline double etx_norm_parameter_at(const etx_norm_parameter* parameter,
                                           size_t at, double otherwise) {
  if (parameter->data == NULL) return otherwise;
  if (parameter->dtype != ETX_DTYPE_FLOAT32) {
    return etx_norm_parameter_convert(parameter, at);
  }
  const float* floats = (const float*)(const void*)parameter->data;
  return (double)floats[(ptrdiff_t)at * parameter->stride];
}

// `count` elements from `start` on, in the compute type: in place, or converted
// to `block`. There must be a parameter.
const void* etx_norm_parameter_load(const etx_norm_parameter* parameter,
                                    size_t start, size_t count,
                                    etx_compute_type compute, etx_block* block);

// Checks that argument 0 has a float type, that argument `out` has it too, and
// that the `count` arguments listed in `parameters`, except None, all have the
// type of the input, or all have float32 beside a float16 or bfloat16 input.
// The statistics, arguments out + 1 and out + 2, have the type of the
// parameters.
etx_status etx_call_check_norm_types(const etx_call* call, size_t out,
                                     const size_t* parameters, size_t count);

#endif
