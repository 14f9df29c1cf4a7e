#include "runtime/kernels/views/strided_view.h"

#include "format/base/assertion.h"
#include "runtime/kernels/core/convert.h"
#include "runtime/kernels/core/strided_iterator.h"

void etx_strided_view_init(etx_strided_view* view, const etx_tensor* tensor) {
  view->data = tensor->data;
  view->offset = 0;
  view->dtype = tensor->dtype;
  view->rank = tensor->rank;
  for (size_t i = 0; i < tensor->rank; ++i) {
    view->sizes[i] = tensor->sizes[i];
    view->strides[i] = tensor->strides[i];
  }
}

etx_strided_view etx_strided_view_of(const etx_tensor* tensor) {
  etx_strided_view view;
  etx_strided_view_init(&view, tensor);
  return view;
}

void etx_strided_view_shift(etx_strided_view* view, ptrdiff_t elements) {
  const ptrdiff_t bytes = elements * (ptrdiff_t)etx_dtype_bytes(view->dtype);
  view->offset += bytes;
  if (view->data != NULL) view->data += bytes;
}

static void move_data(etx_strided_view* view, size_t dimension, int64_t count) {
  etx_strided_view_shift(view, (ptrdiff_t)count * view->strides[dimension]);
}

void etx_strided_view_slice(etx_strided_view* view, size_t dimension,
                            int64_t start, int64_t count, int64_t step) {
  // An empty slice may start behind the last element; its address is not used.
  if (count > 0) move_data(view, dimension, start);
  view->sizes[dimension] = (int32_t)count;
  // A step beyond the size is not used.
  view->strides[dimension] *= count > 1 ? (ptrdiff_t)step : 1;
}

void etx_strided_view_select(etx_strided_view* view, size_t dimension,
                             int64_t index) {
  move_data(view, dimension, index);
  --view->rank;
  for (size_t i = dimension; i < view->rank; ++i) {
    view->sizes[i] = view->sizes[i + 1];
    view->strides[i] = view->strides[i + 1];
  }
}

void etx_strided_view_append(etx_strided_view* view, int64_t size,
                             ptrdiff_t stride) {
  ETX_ASSERT(view->rank < ETX_COPY_RANK);
  view->sizes[view->rank] = (int32_t)size;
  view->strides[view->rank++] = stride;
}

void etx_strided_view_divide(etx_strided_view* view, size_t dimension,
                             int64_t outer, int64_t inner) {
  etx_strided_view_append(view, inner, view->strides[dimension]);
  view->sizes[dimension] = (int32_t)outer;
  view->strides[dimension] *= (ptrdiff_t)inner;
  etx_strided_view_move(view, view->rank - 1, dimension + 1);
}

void etx_strided_view_move(etx_strided_view* view, size_t from, size_t to) {
  const int32_t size = view->sizes[from];
  const ptrdiff_t stride = view->strides[from];
  for (; from > to; --from) {
    view->sizes[from] = view->sizes[from - 1];
    view->strides[from] = view->strides[from - 1];
  }
  for (; from < to; ++from) {
    view->sizes[from] = view->sizes[from + 1];
    view->strides[from] = view->strides[from + 1];
  }
  view->sizes[to] = size;
  view->strides[to] = stride;
}

// Strides of `from` for each dimension of `to`.
static void broadcast_strides(const etx_strided_view* to,
                              const etx_strided_view* from, ptrdiff_t* out) {
  for (size_t i = 0; i < to->rank; ++i) out[i] = 0;
  for (size_t i = 0; i < to->rank && i < from->rank; ++i) {
    const size_t source = from->rank - 1 - i;
    if (from->sizes[source] != 1) {
      out[to->rank - 1 - i] = from->strides[source];
    }
  }
}

// True if both are the same memory, so that there is nothing to copy.
static bool is_same(const etx_strided_view* to, const etx_strided_view* from,
                    const ptrdiff_t* strides) {
  if (to->data != from->data || to->dtype != from->dtype) return false;
  for (size_t i = 0; i < to->rank; ++i) {
    if (to->sizes[i] != 1 && to->strides[i] != strides[i]) return false;
  }
  return true;
}

// The description of a copy of elements of one type.
static void describe(const etx_strided_view* to, const ptrdiff_t* from_strides,
                     etx_copy* out) {
  const ptrdiff_t bytes = (ptrdiff_t)etx_dtype_bytes(to->dtype);
  out->bytes = (size_t)bytes;
  out->rank = to->rank;
  for (size_t i = 0; i < to->rank; ++i) {
    out->dims[i].size = to->sizes[i];
    out->dims[i].to = to->strides[i] * bytes;
    out->dims[i].from = from_strides[i] * bytes;
  }
}

static void convert(const etx_strided_view* to, const etx_strided_view* from,
                    const ptrdiff_t* from_strides) {
  etx_strided_iterator it;
  etx_strided_iterator_init(&it, to->sizes, to->rank);
  etx_strided_iterator_add_strided(&it, to->data, etx_dtype_bytes(to->dtype),
                                   to->strides);
  etx_strided_iterator_add_strided(&it, from->data,
                                   etx_dtype_bytes(from->dtype), from_strides);
  for (bool more = etx_strided_iterator_start(&it); more;
       more = etx_strided_iterator_next(&it)) {
    etx_convert(to->dtype, it.data[0], it.stride[0], from->dtype, it.data[1],
                it.stride[1], it.count);
  }
}

void etx_strided_view_describe(const etx_strided_view* to,
                               const etx_strided_view* from, etx_copy* out) {
  ptrdiff_t strides[ETX_COPY_RANK];
  broadcast_strides(to, from, strides);
  describe(to, strides, out);
}

void etx_strided_view_copy(const etx_strided_view* to,
                           const etx_strided_view* from) {
  ptrdiff_t strides[ETX_COPY_RANK];
  etx_copy copy;
  broadcast_strides(to, from, strides);
  if (is_same(to, from, strides)) return;
  if (to->dtype != from->dtype) {
    convert(to, from, strides);
    return;
  }
  describe(to, strides, &copy);
  etx_copy_strided(&copy, to->data, from->data);
}

void etx_strided_view_fill(const etx_strided_view* to, const void* value) {
  static const ptrdiff_t still[ETX_COPY_RANK] = {0};
  etx_copy copy;
  describe(to, still, &copy);
  etx_copy_strided(&copy, to->data, value);
}
