// Scales and zero points of quantised tensors, walked together with the
// elements they belong to.
//
//   per tensor    one pair: every stride is 0
//   per channel   one pair for each index of a dimension
//   per token     one pair for each row: right-aligned sizes, as broadcasting
//
// A pair is used in the type that PyTorch's promotion gives it: float32, or
// double if the scales (or the result of dequantising a whole tensor) are.

#ifndef ETX_RUNTIME_KERNELS_QUANTIZED_AFFINE_H
#define ETX_RUNTIME_KERNELS_QUANTIZED_AFFINE_H

#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/core/strided_iterator.h"

// One of the two, as the walk's strides see it.
typedef struct etx_affine_part {
  const void* data;
  etx_dtype dtype;
  ptrdiff_t strides[ETX_MAX_RANK];  // in elements, for each dimension walked
} etx_affine_part;

typedef struct etx_affine {
  etx_affine_part scale;
  etx_affine_part zero;
  double scale_number;  // where per tensor pairs are given as numbers
  int64_t zero_number;  // also what stands for zero points that are None
} etx_affine;

// How the pairs lie, which is how their arguments are read.
typedef enum etx_affine_kind {
  ETX_AFFINE_PER_TENSOR,   // numbers, or tensors of one element
  ETX_AFFINE_PER_CHANNEL,  // argument 3 is the dimension
  ETX_AFFINE_PER_TOKEN,
} etx_affine_kind;

// Refuses scales (argument 1) and zero points (argument 2) of types that are
// not computed with.
etx_status etx_affine_check(const etx_call* call);

// True if the scales are double.
bool etx_affine_is_double(const etx_call* call);

// Reads arguments 1 and 2 for the elements of argument 0. `affine` must stay
// where it is while the parts are used.
void etx_affine_read(const etx_call* call, etx_affine_kind kind,
                     etx_affine* affine);

// Starts a walk over out, argument 0, scales and zero points, in this order;
// false if there is no element.
bool etx_affine_walk(etx_strided_iterator* walk, const etx_tensor* out,
                     const etx_tensor* input, const etx_affine* affine);

#endif
