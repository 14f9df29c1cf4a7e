#include "runtime/kernels/strided_view.h"

#include <string.h>

#include "runtime/kernels/convert.h"
#include "runtime/kernels/dtype_switch.h"
#include "runtime/kernels/walk.h"

etx_view etx_view_of(const etx_tensor* tensor) {
  etx_view view = {
      .data = tensor->data, .dtype = tensor->dtype, .rank = tensor->rank};
  for (size_t i = 0; i < tensor->rank; ++i) {
    view.sizes[i] = tensor->sizes[i];
    view.strides[i] = tensor->strides[i];
  }
  return view;
}

static void move_data(etx_view* view, size_t dimension, int64_t count) {
  if (view->data == NULL) return;  // no elements
  view->data += (ptrdiff_t)count * view->strides[dimension] *
                (ptrdiff_t)etx_dtype_bytes(view->dtype);
}

void etx_view_slice(etx_view* view, size_t dimension, int64_t start,
                    int64_t count, int64_t step) {
  // An empty slice may start behind the last element; its address is unused.
  if (count > 0) move_data(view, dimension, start);
  view->sizes[dimension] = (int32_t)count;
  // A step beyond the size is never taken.
  view->strides[dimension] *= count > 1 ? (ptrdiff_t)step : 1;
}

void etx_view_select(etx_view* view, size_t dimension, int64_t index) {
  move_data(view, dimension, index);
  --view->rank;
  for (size_t i = dimension; i < view->rank; ++i) {
    view->sizes[i] = view->sizes[i + 1];
    view->strides[i] = view->strides[i + 1];
  }
}

// One row of elements of one type, strides in elements.
static void copy_row(size_t bytes, char* out, ptrdiff_t out_stride,
                     const char* in, ptrdiff_t in_stride, size_t count) {
  if (out_stride == 1 && in_stride == 1) {
    memcpy(out, in, count * bytes);
    return;
  }
  if (bytes > 8) {
    for (size_t i = 0; i < count; ++i) {
      const ptrdiff_t at = (ptrdiff_t)(i * bytes);
      memcpy(out + at * out_stride, in + at * in_stride, bytes);
    }
    return;
  }
  ETX_SWITCH_BYTES(bytes, T, {
    T* to = (T*)(void*)out;
    const T* from = (const T*)(const void*)in;
    for (size_t i = 0; i < count; ++i) {
      const ptrdiff_t at = (ptrdiff_t)i;
      to[at * out_stride] = from[at * in_stride];
    }
  })
}

// Strides of `from` for each dimension of `to`.
static void broadcast_strides(const etx_view* to, const etx_view* from,
                              ptrdiff_t* out) {
  for (size_t i = 0; i < to->rank; ++i) out[i] = 0;
  for (size_t i = 0; i < to->rank && i < from->rank; ++i) {
    const size_t source = from->rank - 1 - i;
    if (from->sizes[source] != 1) {
      out[to->rank - 1 - i] = from->strides[source];
    }
  }
}

static bool is_same(const etx_view* to, const etx_view* from,
                    const ptrdiff_t* strides) {
  if (to->data != from->data || to->dtype != from->dtype) return false;
  for (size_t i = 0; i < to->rank; ++i) {
    if (to->sizes[i] != 1 && to->strides[i] != strides[i]) return false;
  }
  return true;
}

void etx_view_copy(const etx_view* to, const etx_view* from) {
  ptrdiff_t strides[ETX_MAX_RANK];
  broadcast_strides(to, from, strides);
  if (is_same(to, from, strides)) return;
  const size_t bytes = etx_dtype_bytes(to->dtype);
  etx_walk walk;
  etx_walk_init(&walk, to->sizes, to->rank);
  etx_walk_add_strided(&walk, to->data, bytes, to->strides);
  etx_walk_add_strided(&walk, from->data, etx_dtype_bytes(from->dtype),
                       strides);
  for (bool more = etx_walk_start(&walk); more; more = etx_walk_next(&walk)) {
    if (to->dtype == from->dtype) {
      copy_row(bytes, walk.data[0], walk.stride[0], walk.data[1],
               walk.stride[1], walk.count);
    } else {
      etx_convert(to->dtype, walk.data[0], walk.stride[0], from->dtype,
                  walk.data[1], walk.stride[1], walk.count);
    }
  }
}

void etx_view_fill(const etx_view* to, const void* value) {
  const size_t bytes = etx_dtype_bytes(to->dtype);
  etx_walk walk;
  etx_walk_init(&walk, to->sizes, to->rank);
  etx_walk_add_strided(&walk, to->data, bytes, to->strides);
  for (bool more = etx_walk_start(&walk); more; more = etx_walk_next(&walk)) {
    copy_row(bytes, walk.data[0], walk.stride[0], value, 0, walk.count);
  }
}
