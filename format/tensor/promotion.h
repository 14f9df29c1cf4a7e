// The common type of an operator's operands (torch.result_type).
//
// Operands have three priorities: tensors with dimensions, tensors of rank 0,
// and numbers. Those of one priority promote as etx_dtype_promote defines; a
// lower priority changes the type only if its category (bool, integer,
// floating, complex) is higher than that of the higher priorities.
//
//   etx_promotion promotion = etx_promotion_start();
//   ok = etx_promotion_add(&promotion, dtype, rank) && ...
//   ok = ok && etx_promotion_result(&promotion, &common);

#ifndef ETX_FORMAT_TENSOR_PROMOTION_H
#define ETX_FORMAT_TENSOR_PROMOTION_H

#include "format/tensor/dtype.h"

// The common type of the operands so far, by priority; ETX_DTYPE_COUNT: none
// yet.
typedef struct etx_promotion {
  etx_dtype with_dimensions;
  etx_dtype without;
  etx_dtype numbers;
} etx_promotion;

// No operand yet.
etx_promotion etx_promotion_start(void);

// Adds a tensor; false if it has no common type with another one of its
// priority.
bool etx_promotion_add(etx_promotion* promotion, etx_dtype dtype, size_t rank);

// Adds a number of category BOOLEAN, INTEGER or FLOATING.
void etx_promotion_add_number(etx_promotion* promotion,
                              etx_dtype_category category);

// The common type; false if there is none or no operand was added.
bool etx_promotion_result(const etx_promotion* promotion, etx_dtype* out_dtype);

#endif
