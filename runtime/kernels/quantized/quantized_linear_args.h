// The operands of a product with quantised weights (quantized_linear.h).

#ifndef ETX_RUNTIME_KERNELS_QUANTIZED_QUANTIZED_LINEAR_ARGS_H
#define ETX_RUNTIME_KERNELS_QUANTIZED_QUANTIZED_LINEAR_ARGS_H

#include "runtime/kernels/quantized/packed_weights.h"
#include "runtime/kernels/simd/int8/row_argmax.h"

typedef struct etx_quantized_linear {
  etx_packed_weights weight;
  size_t columns;           // rows of the weight
  const etx_tensor* input;  // [.., inner]
  const etx_tensor* bias;   // [columns], dense, floats; NULL: none
  const etx_tensor* out;    // [.., columns], dense; NULL: results are compared
  etx_row_argmax* best;     // then: [ETX_ARGMAX_PIECES][rows], written
  bool is_integer;          // quantises the input
  const int32_t* sums;      // [columns] of weights in panels; else NULL
} etx_quantized_linear;

#endif
