// A slot of a method: what an instruction's argument index names.

#ifndef ETX_RUNTIME_VALUE_H
#define ETX_RUNTIME_VALUE_H

#include "format/pte/pte_types.h"
#include "runtime/tensor.h"

// What a value holds: the kinds of a file (etx_pte_kind), counted from 0.
typedef enum etx_value_kind {
  ETX_VALUE_NONE = ETX_PTE_NULL - 1,      // Python's None
  ETX_VALUE_INT = ETX_PTE_INT - 1,        // as.integer
  ETX_VALUE_BOOL = ETX_PTE_BOOL - 1,      // as.boolean
  ETX_VALUE_DOUBLE = ETX_PTE_DOUBLE - 1,  // as.real
  ETX_VALUE_TENSOR = ETX_PTE_TENSOR - 1,  // as.tensor
  ETX_VALUE_STRING = ETX_PTE_STRING - 1,  // as.string
  // as.integers: each item is another slot, so it may change
  ETX_VALUE_INTS = ETX_PTE_INT_LIST - 1,
  ETX_VALUE_DOUBLES = ETX_PTE_DOUBLE_LIST - 1,  // as.reals
  ETX_VALUE_BOOLS = ETX_PTE_BOOL_LIST - 1,      // as.booleans
  // as.tensors: both tensor lists; an item may be NULL (None)
  ETX_VALUE_TENSORS = ETX_PTE_TENSOR_LIST - 1,
} etx_value_kind;

// One value of a method: an input, an output, or between instructions. Lists
// and strings of a loaded method are borrowed from it or from the file.
typedef struct etx_value {
  etx_value_kind kind;  // which member of `as` holds the value
  uint32_t position;    // of a method's TENSOR among its tensors, of another
                        // among its values; private to the runtime
  // The value, by kind.
  union {
    int64_t integer;    // of an INT
    bool boolean;       // of a BOOL
    double real;        // of a DOUBLE
    etx_text string;    // of a STRING
    etx_tensor tensor;  // of a TENSOR
    // For INTS.
    struct {
      const struct etx_value* const* items;  // each of kind INT
      size_t count;                          // of items
    } integers;
    // For DOUBLES.
    struct {
      const double* items;  // the numbers themselves
      size_t count;         // of items
    } reals;
    // For BOOLS.
    struct {
      const uint8_t* items;  // 0 or 1 each
      size_t count;          // of items
    } booleans;
    // For TENSORS.
    struct {
      const struct etx_value* const* items;  // NULL or of kind TENSOR
      size_t count;                          // of items
    } tensors;
  } as;
} etx_value;

#endif
