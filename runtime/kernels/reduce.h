// Folding the elements of any set of dimensions into one result each.
//
// For each result, the reduced elements are visited in row-major order, in
// blocks of a wide type (convert.h), and folded into a state. Rows that lie
// densely in the wide type are folded in place, as a whole.

#ifndef ETX_RUNTIME_KERNELS_REDUCE_H
#define ETX_RUNTIME_KERNELS_REDUCE_H

#include "runtime/kernels/operand.h"

// What has been folded so far.
typedef struct etx_fold {
  etx_number value;  // sum, product or extreme
  int64_t index;     // where the extreme stands
  int64_t count;     // elements folded, if the function counts them
} etx_fold;

// Folds `count` elements of the wide type.
typedef void (*etx_fold_function)(etx_wide wide, etx_fold* fold,
                                  const void* elements, size_t count);

typedef struct etx_reduction {
  etx_fold_function fold;
  etx_wide wide;     // type of the elements while folding
  etx_number start;  // value before the first element
  const etx_tensor* self;
  const etx_tensor* out;      // values; NULL: none wanted
  const etx_tensor* indices;  // int64; NULL: none wanted
  double divisor;             // of a float value: the count for a mean, else 1
  bool is_truth;              // the value is a truth value in i64
  uint32_t dims;              // bits of the reduced dimensions
} etx_reduction;

// All dimensions, whatever the rank.
#define ETX_ALL_DIMS UINT32_MAX

void etx_reduce(const etx_reduction* reduction);

// The dimensions of argument 0 that argument `index` names, as bits: a list,
// an integer, or all for None and, if `empty_is_all`, for an empty list.
uint32_t etx_reduced_dims(const etx_call* call, size_t index,
                          bool empty_is_all);

// Elements folded into each result.
size_t etx_reduced_count(const etx_tensor* self, uint32_t dims);

#endif
