// Visits the lines along one dimension of an input together with those of two
// results, for operators that return values and their indices.

#ifndef ETX_RUNTIME_KERNELS_REDUCTION_LINE_VISITOR_H
#define ETX_RUNTIME_KERNELS_REDUCTION_LINE_VISITOR_H

#include "runtime/kernels/core/short_copy.h"
#include "runtime/tensor.h"

// A line of the input, of the values and of the indices.
typedef struct etx_index_line {
  etx_dtype dtype;     // of the input and the values
  size_t bytes;        // of such an element
  char* at[3];         // the first elements
  ptrdiff_t steps[3];  // along the line, in bytes
} etx_index_line;

// Stores element `position` of the input, and `position`, as result `i`.
static inline void etx_index_line_store(const etx_index_line* line, size_t i,
                                        size_t position) {
  etx_copy_short(line->at[1] + (ptrdiff_t)i * line->steps[1],
                 line->at[0] + (ptrdiff_t)position * line->steps[0],
                 line->bytes);
  *(int64_t*)(void*)(line->at[2] + (ptrdiff_t)i * line->steps[2]) =
      (int64_t)position;
}

// Calls `visit` for each line; for none if one of the tensors has no elements
// along `dimension`. The other sizes of the tensors are equal.
void etx_index_lines_visit(const etx_tensor* const tensors[3], size_t dimension,
                           void (*visit)(const etx_index_line* line,
                                         void* context),
                           void* context);

#endif
