// The operands of a product with quantised weights (quantized_linear.h).

#ifndef ETX_RUNTIME_KERNELS_QUANTIZED_QUANTIZED_LINEAR_ARGS_H
#define ETX_RUNTIME_KERNELS_QUANTIZED_QUANTIZED_LINEAR_ARGS_H

#include "runtime/kernels/packed_rows.h"
#include "runtime/kernels/row_best.h"

typedef struct etx_quantized_linear {
  etx_packed_rows weight;
  size_t columns;           // rows of the weight
  const etx_tensor* input;  // [.., inner]
  const etx_tensor* bias;   // [columns], dense, floats; NULL: none
  const etx_tensor* out;    // [.., columns], dense; NULL: results are compared
  etx_row_best* best;       // then: [ETX_BEST_PIECES][rows], written
  bool is_integer;          // quantises the input
  const int32_t* sums;      // [columns] of weights in panels; else NULL
} etx_quantized_linear;

#endif
