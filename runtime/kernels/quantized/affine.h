// Scales and zero points of quantised tensors, iterated together with the
// elements that they belong to.
//
//   per tensor    one scale and zero point: every stride is 0
//   per channel   one pair for each index of a dimension
//   per token     one pair for each row; sizes broadcast, aligned at the last
//                 dimension
//
// Scales and zero points are used in the type that PyTorch's promotion gives
// them: float32, or float64 if the scales are (per tensor: if the dequantised
// result is).

#ifndef ETX_RUNTIME_KERNELS_QUANTIZED_AFFINE_H
#define ETX_RUNTIME_KERNELS_QUANTIZED_AFFINE_H

#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/core/strided_iterator.h"

// The scales or the zero points, with a stride for each dimension of the input.
typedef struct etx_affine_operand {
  const void* data;
  etx_dtype dtype;
  ptrdiff_t strides[ETX_MAX_RANK];  // in elements
} etx_affine_operand;

typedef struct etx_affine {
  etx_affine_operand scale;
  etx_affine_operand zero;
  double scale_value;        // the scale, if it is a number and not a tensor
  int64_t zero_point_value;  // the zero point, if it is a number; 0 for None
} etx_affine;

// The granularity of quantisation, which decides how the arguments are read.
typedef enum etx_affine_kind {
  ETX_AFFINE_PER_TENSOR,   // numbers, or tensors of one element
  ETX_AFFINE_PER_CHANNEL,  // argument 3 is the dimension
  ETX_AFFINE_PER_TOKEN,
} etx_affine_kind;

// Refuses scales (argument 1) that are not floats, and zero points (argument 2)
// that are not real numbers.
etx_status etx_affine_check(const etx_call* call);

// True if the scales are double.
bool etx_affine_is_double(const etx_call* call);

// Reads arguments 1 and 2 for the elements of argument 0. `affine` must not
// move while its operands are used: they may point into it.
void etx_affine_read(const etx_call* call, etx_affine_kind kind,
                     etx_affine* affine);

// Starts an iterator over out, argument 0, scales and zero points, in this
// order. Returns false if there are no elements.
bool etx_affine_start_iterator(etx_strided_iterator* iterator,
                               const etx_tensor* out, const etx_tensor* input,
                               const etx_affine* affine);

#endif
