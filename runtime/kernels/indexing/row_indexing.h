// Rows of a dense tensor by one index tensor, itself dense, along a dimension:
// what most calls of embedding, index_select, index and index_put are.
//
//   tensor [outer, size, inner], index [n]   rows [outer, n, inner]

#ifndef ETX_RUNTIME_KERNELS_INDEXING_ROW_INDEXING_H
#define ETX_RUNTIME_KERNELS_INDEXING_ROW_INDEXING_H

#include "runtime/kernel.h"

// Leaves the sizes in `prepared`; false if something does not lie densely, has
// no elements or if `rows` has other sizes than the index selects.
bool etx_row_indexing_plan(etx_call* call, const etx_tensor* tensor,
                           size_t dimension, const etx_tensor* index,
                           const etx_tensor* rows);

// Refuses an index that the tensor does not have; negative ones count from the
// end if `wraps`. For planned calls.
etx_status etx_row_indexing_check(const etx_call* call, const etx_tensor* index,
                                  bool wraps);

// Copies the rows from the tensor, or to it: the last one if two go to the same
// place. For planned calls whose indices were checked.
void etx_row_indexing_read(const etx_call* call, const etx_tensor* tensor,
                           const etx_tensor* index, const etx_tensor* rows);
void etx_row_indexing_write(const etx_call* call, const etx_tensor* tensor,
                            const etx_tensor* index, const etx_tensor* rows);

#endif
