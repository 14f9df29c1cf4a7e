#include "runtime/kernels/indexing/gather_iterator.h"

static void fill_row(const etx_strided_iterator* it, etx_gather_row* row) {
  row->count = it->count;
  row->self = it->data[0];
  row->index = it->data[1];
  row->other = it->data[2];
  row->self_step = it->stride[0] * it->bytes[0];
  row->index_step = it->stride[1] * it->bytes[1];
  row->other_step = it->stride[2] * it->bytes[2];
}

// Adds a tensor with its strides over the sizes of the index; the stride of
// dimension `still` (SIZE_MAX: none) is 0.
static void add(etx_strided_iterator* it, const etx_tensor* index,
                const etx_tensor* tensor, size_t still) {
  ptrdiff_t strides[ETX_MAX_RANK];
  for (size_t i = 0; i < index->rank; ++i) {
    const bool moves = i != still && i < tensor->rank;
    strides[i] = moves ? tensor->strides[i] : 0;
  }
  etx_strided_iterator_add_strided(it, tensor->data,
                                   etx_dtype_bytes(tensor->dtype), strides);
}

bool etx_gather_iterator_start(etx_strided_iterator* it, etx_gather_row* row,
                               const etx_tensor* self, size_t dimension,
                               const etx_tensor* index,
                               const etx_tensor* other) {
  etx_strided_iterator_init(it, index->sizes, index->rank);
  add(it, index, self, dimension);
  add(it, index, index, SIZE_MAX);
  add(it, index, other, SIZE_MAX);
  row->index_dtype = index->dtype;
  row->stride = self->rank == 0 ? 0
                                : self->strides[dimension] *
                                      (ptrdiff_t)etx_dtype_bytes(self->dtype);
  if (!etx_strided_iterator_start(it)) return false;
  fill_row(it, row);
  return true;
}

bool etx_gather_iterator_next(etx_strided_iterator* it, etx_gather_row* row) {
  if (!etx_strided_iterator_next(it)) return false;
  fill_row(it, row);
  return true;
}
