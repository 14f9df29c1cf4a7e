// Folding the elements of any set of dimensions into one result each.
//
//   reduce the last dimension        reduce the first dimension
//
//   x x x x x x -> fold.row          x x x x x x   fold.columns: each row
//   x x x x x x -> fold.row          x x x x x x   into all results at once
//   x x x x x x -> fold.row          | | | | | |
//
// Elements reach a fold in blocks of a wide type (convert.h), in row-major
// order of the reduced dimensions; memory that holds the wide type densely is
// passed as it is. Which way is taken depends on sizes and strides alone, so
// results do not depend on the machine.

#ifndef ETX_RUNTIME_KERNELS_REDUCTION_REDUCE_H
#define ETX_RUNTIME_KERNELS_REDUCTION_REDUCE_H

#include "runtime/kernels/core/operand.h"

typedef struct etx_reduction etx_reduction;

// ETX_BLOCK results on their way, in types of the fold's choice.
typedef struct etx_accumulators {
  etx_block value;
  etx_block other;  // index, sum of squares: whatever goes with the value
} etx_accumulators;

// How elements of one wide type are folded.
typedef struct etx_fold {
  // Sets the first `count` results to what no elements give.
  void (*start)(etx_accumulators* folded, size_t count);
  // Folds `count` elements into result `at`, which has `before` already.
  void (*row)(etx_accumulators* folded, size_t at, const void* elements,
              size_t count, int64_t before);
  // Folds element i of each of `rows` rows, which lie `step` elements apart,
  // into result i; all have `before` already.
  void (*columns)(etx_accumulators* folded, const void* elements, size_t count,
                  int64_t before, size_t rows, ptrdiff_t step);
  // Leaves results of the wide types below; NULL: they are there already.
  void (*finish)(const etx_reduction* reduction, etx_accumulators* folded,
                 size_t count);
  etx_compute_type value_type;
  etx_compute_type other_type;
} etx_fold;

struct etx_reduction {
  const etx_fold* fold;
  etx_compute_type wide;  // that elements are folded in
  // Elements of this type are folded as they lie: etx_compute_type_dtype(wide),
  // or another that the fold takes instead.
  etx_dtype native;
  const etx_tensor* self;
  const etx_tensor* value;  // where values go; NULL: nowhere
  const etx_tensor* other;  // where what goes with them goes; NULL: nowhere
  double divisor;           // for `finish`: the count of a mean and the like
  etx_dtype cast;  // elements become this type first (etx_operand_load_as)
  uint32_t dims;   // bits of the reduced dimensions
};

// All dimensions, whatever the rank.
#define ETX_ALL_DIMS UINT32_MAX

void etx_reduce(const etx_reduction* reduction);

// The dimensions of argument 0 that argument `index` names, as bits: a list,
// an integer, or all for None and, if `empty_is_all`, for an empty list.
uint32_t etx_reduced_dims(const etx_call* call, size_t index,
                          bool empty_is_all);

// Elements folded into each result.
size_t etx_reduced_count(const etx_tensor* self, uint32_t dims);

// Whether the reduced dimensions of `self` are its last ones (sizes of 1
// aside), both tensors dense, and rows so short that what a reduction
// does for everything else would cost more than folding them. Gives their
// number and their count of elements, at least 4 and at most 1024: a reduction
// takes those row by row too, so a kernel that does only that gives the same
// bits.
bool etx_has_short_rows(const etx_tensor* self, const etx_tensor* out,
                        uint32_t dims, size_t* out_rows, size_t* out_count);

// The same of float32.
bool etx_reduces_short_rows(const etx_tensor* self, const etx_tensor* out,
                            uint32_t dims, size_t* out_rows, size_t* out_count);

#endif
