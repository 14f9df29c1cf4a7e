// Reduces the elements of any set of dimensions to one result each.
//
//   reduce the last dimension        reduce the first dimension
//
//   x x x x x x -> reducer.row       x x x x x x   reducer.columns: each row
//   x x x x x x -> reducer.row       x x x x x x   is added to all results
//   x x x x x x -> reducer.row       | | | | | |
//
// A reducer gets elements in blocks of the compute type (convert.h), in
// row-major order of the reduced dimensions. Elements that are contiguous and
// have the compute type are not copied. The choice between rows and columns
// depends on sizes and strides only, so results do not depend on the machine.

#ifndef ETX_RUNTIME_KERNELS_REDUCTION_REDUCE_H
#define ETX_RUNTIME_KERNELS_REDUCTION_REDUCE_H

#include "runtime/kernels/core/operand.h"

typedef struct etx_reduction etx_reduction;

// Accumulators of ETX_BLOCK results, in types that the reducer chooses.
typedef struct etx_accumulators {
  etx_block value;
  etx_block other;  // the second result: an index, or a sum of squares
} etx_accumulators;

// The functions that reduce elements of one compute type.
typedef struct etx_reducer {
  // Sets the first `count` accumulators to the result of no elements.
  void (*start)(etx_accumulators* acc, size_t count);
  // Adds `count` elements to accumulator `at`, which has `before` elements.
  void (*row)(etx_accumulators* acc, size_t at, const void* elements,
              size_t count, int64_t before);
  // Adds element i of each of `rows` rows, which are `step` elements apart, to
  // accumulator i. All have `before` elements.
  void (*columns)(etx_accumulators* acc, const void* elements, size_t count,
                  int64_t before, size_t rows, ptrdiff_t step);
  // Converts accumulators to results of the types below; NULL: nothing to do.
  void (*finish)(const etx_reduction* reduction, etx_accumulators* acc,
                 size_t count);
  etx_compute_type value_type;
  etx_compute_type other_type;
} etx_reducer;

struct etx_reduction {
  const etx_reducer* reducer;
  etx_compute_type compute;  // compute type of the elements
  // Elements of this type need no conversion: etx_compute_type_dtype(compute),
  // or another type that the reducer reads instead.
  etx_dtype native;
  const etx_tensor* self;
  const etx_tensor* value;  // receives the values; NULL: not wanted
  const etx_tensor* other;  // receives the second results; NULL: not wanted
  double divisor;           // the number of elements, which `finish` divides by
  etx_dtype cast;  // elements are cast to this type first (etx_operand_load_as)
  uint32_t dims;   // bits of the reduced dimensions
};

// The bits of all dimensions, whatever the rank.
#define ETX_ALL_DIMS UINT32_MAX

void etx_reduce(const etx_reduction* reduction);

// The dimensions of argument 0 that argument `index` names, as a bit set. It is
// a list, an integer, or None for all; if empty_is_all, an empty list means
// all.
uint32_t etx_reduced_dims(const etx_call* call, size_t index,
                          bool empty_is_all);

// The number of elements of each result.
size_t etx_reduced_count(const etx_tensor* self, uint32_t dims);

// True if the reduced dimensions of `self` are its last ones (ignoring sizes of
// 1), both tensors are contiguous, and rows have 4 to 1024 elements. For such
// rows the general reduction's setup costs more than the sums. It reduces them
// row by row, too, so a kernel that does so directly gives the same bits.
bool etx_has_short_rows(const etx_tensor* self, const etx_tensor* out,
                        uint32_t dims, size_t* out_rows, size_t* out_count);

// The same for float32 tensors.
bool etx_has_short_f32_rows(const etx_tensor* self, const etx_tensor* out,
                            uint32_t dims, size_t* out_rows, size_t* out_count);

#endif
