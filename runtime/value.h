// A slot of a method: what an instruction's argument index names.

#ifndef ETX_RUNTIME_VALUE_H
#define ETX_RUNTIME_VALUE_H

#include "runtime/tensor.h"

typedef enum etx_value_kind {
  ETX_VALUE_NONE,
  ETX_VALUE_INT,
  ETX_VALUE_BOOL,
  ETX_VALUE_DOUBLE,
  ETX_VALUE_STRING,
  ETX_VALUE_TENSOR,
  ETX_VALUE_INTS,  // IntList: each item is another slot, so it may change
  ETX_VALUE_DOUBLES,
  ETX_VALUE_BOOLS,
  ETX_VALUE_TENSORS,  // both tensor lists; an item may be NULL (None)
} etx_value_kind;

typedef struct etx_value {
  etx_value_kind kind;
  union {
    int64_t integer;
    bool boolean;
    double real;
    etx_text string;
    etx_tensor tensor;
    struct {
      const struct etx_value* const* items;
      size_t count;
    } integers;
    struct {
      const double* items;
      size_t count;
    } reals;
    struct {
      const uint8_t* items;
      size_t count;
    } booleans;
    struct {
      const struct etx_value* const* items;  // NULL or of kind TENSOR
      size_t count;
    } tensors;
  } as;
} etx_value;

#endif
