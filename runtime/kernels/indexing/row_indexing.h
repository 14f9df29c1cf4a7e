// Rows of a contiguous tensor by one contiguous index tensor along a dimension.
// Most calls of embedding, index_select, index and index_put are of this form.
//
//   tensor [outer, size, inner], index [n]   rows [outer, n, inner]

#ifndef ETX_RUNTIME_KERNELS_INDEXING_ROW_INDEXING_H
#define ETX_RUNTIME_KERNELS_INDEXING_ROW_INDEXING_H

#include "runtime/kernel.h"

// Stores the sizes in `prepared`; false if a tensor is not contiguous or has no
// elements, or if `rows` does not have the sizes of the selection.
bool etx_row_indexing_plan(etx_call* call, const etx_tensor* tensor,
                           size_t dimension, const etx_tensor* index,
                           const etx_tensor* rows);

// Refuses indices that are out of range; negative ones count from the end if
// `wraps`. For planned calls.
etx_status etx_row_indexing_check(const etx_call* call, const etx_tensor* index,
                                  bool wraps);

// Copies the rows from the tensor, or to it, where the last row of an index
// wins. For planned calls whose indices were checked.
void etx_row_indexing_read(const etx_call* call, const etx_tensor* tensor,
                           const etx_tensor* index, const etx_tensor* rows);
void etx_row_indexing_write(const etx_call* call, const etx_tensor* tensor,
                            const etx_tensor* index, const etx_tensor* rows);

#endif
