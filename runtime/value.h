// A slot of a method: what an instruction's argument index names.

#ifndef ETX_RUNTIME_VALUE_H
#define ETX_RUNTIME_VALUE_H

#include "format/pte/pte_types.h"
#include "runtime/tensor.h"

// The kinds of a file, counted from 0.
typedef enum etx_value_kind {
  ETX_VALUE_NONE = ETX_PTE_NULL - 1,
  ETX_VALUE_INT = ETX_PTE_INT - 1,
  ETX_VALUE_BOOL = ETX_PTE_BOOL - 1,
  ETX_VALUE_DOUBLE = ETX_PTE_DOUBLE - 1,
  ETX_VALUE_TENSOR = ETX_PTE_TENSOR - 1,
  ETX_VALUE_STRING = ETX_PTE_STRING - 1,
  // IntList: each item is another slot, so it may change
  ETX_VALUE_INTS = ETX_PTE_INT_LIST - 1,
  ETX_VALUE_DOUBLES = ETX_PTE_DOUBLE_LIST - 1,
  ETX_VALUE_BOOLS = ETX_PTE_BOOL_LIST - 1,
  // both tensor lists; an item may be NULL (None)
  ETX_VALUE_TENSORS = ETX_PTE_TENSOR_LIST - 1,
} etx_value_kind;

typedef struct etx_value {
  etx_value_kind kind;
  uint32_t position;  // of a method's TENSOR among its tensors, of another
                      // among its values, which is nobody else's business
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
