#include "runtime/kernels/indexing/gather_iterator.h"

static void show(const etx_strided_iterator* walk, etx_gather_row* row) {
  row->count = walk->count;
  row->own = walk->data[0];
  row->index = walk->data[1];
  row->other = walk->data[2];
  row->own_step = walk->stride[0] * walk->bytes[0];
  row->index_step = walk->stride[1] * walk->bytes[1];
  row->other_step = walk->stride[2] * walk->bytes[2];
}

// Strides over the sizes of the index; dimension `still` (SIZE_MAX: none)
// stands still.
static void add(etx_strided_iterator* walk, const etx_tensor* index,
                const etx_tensor* tensor, size_t still) {
  ptrdiff_t strides[ETX_MAX_RANK];
  for (size_t i = 0; i < index->rank; ++i) {
    const bool moves = i != still && i < tensor->rank;
    strides[i] = moves ? tensor->strides[i] : 0;
  }
  etx_strided_iterator_add_strided(walk, tensor->data,
                                   etx_dtype_bytes(tensor->dtype), strides);
}

bool etx_gather_iterator_start(etx_strided_iterator* walk, etx_gather_row* row,
                               const etx_tensor* own, size_t dimension,
                               const etx_tensor* index,
                               const etx_tensor* other) {
  etx_strided_iterator_init(walk, index->sizes, index->rank);
  add(walk, index, own, dimension);
  add(walk, index, index, SIZE_MAX);
  add(walk, index, other, SIZE_MAX);
  row->index_dtype = index->dtype;
  row->stride = own->rank == 0 ? 0
                               : own->strides[dimension] *
                                     (ptrdiff_t)etx_dtype_bytes(own->dtype);
  if (!etx_strided_iterator_start(walk)) return false;
  show(walk, row);
  return true;
}

bool etx_gather_iterator_next(etx_strided_iterator* walk, etx_gather_row* row) {
  if (!etx_strided_iterator_next(walk)) return false;
  show(walk, row);
  return true;
}
