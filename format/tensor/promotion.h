// The type that operands of an operator meet in (torch.result_type).
//
// Operands have three weights: tensors with dimensions, tensors without, and
// numbers. Those of one weight promote as etx_dtype_promote says; a lighter
// weight counts only where its category (bool, integer, floating, complex) is
// higher than that of the heavier ones.
//
//   etx_promotion promotion = etx_promotion_start();
//   ok = etx_promotion_add(&promotion, dtype, rank) && ...
//   ok = ok && etx_promotion_result(&promotion, &common);

#ifndef ETX_FORMAT_TENSOR_PROMOTION_H
#define ETX_FORMAT_TENSOR_PROMOTION_H

#include "format/tensor/dtype.h"

// The common type of the operands so far, by weight; ETX_DTYPE_COUNT: none yet.
typedef struct etx_promotion {
  etx_dtype with_dimensions;
  etx_dtype without;
  etx_dtype numbers;
} etx_promotion;

// No operand yet.
etx_promotion etx_promotion_start(void);

// Adds a tensor; false if it has no common type with another of its weight.
bool etx_promotion_add(etx_promotion* promotion, etx_dtype dtype, size_t rank);

// Adds a number of category BOOLEAN, INTEGER or FLOATING.
void etx_promotion_add_number(etx_promotion* promotion,
                              etx_dtype_category category);

// The common type; false if there is none or no operand was added.
bool etx_promotion_result(const etx_promotion* promotion, etx_dtype* out_dtype);

#endif
