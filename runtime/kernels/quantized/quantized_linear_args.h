// The operands of a linear operator with quantised weights
// (quantized_linear.h).

#ifndef ETX_RUNTIME_KERNELS_QUANTIZED_QUANTIZED_LINEAR_ARGS_H
#define ETX_RUNTIME_KERNELS_QUANTIZED_QUANTIZED_LINEAR_ARGS_H

#include "runtime/kernels/quantized/packed_weights.h"
#include "runtime/kernels/simd/int8/row_argmax.h"

typedef struct etx_quantized_linear {
  etx_packed_weights weight;
  size_t columns;  // columns of the result, which are the rows of the weight
  const etx_tensor* input;  // [.., inner]
  const etx_tensor* bias;   // [columns], contiguous, floats; NULL: none
  const etx_tensor* out;    // [.., columns], contiguous; NULL: argmax
  etx_row_argmax* best;     // for argmax: [ETX_ARGMAX_PIECES][rows], written
  bool is_integer;          // the input is quantised dynamically
  const int32_t* sums;  // [columns]: sums of weight rows, for panels; or NULL
} etx_quantized_linear;

#endif
