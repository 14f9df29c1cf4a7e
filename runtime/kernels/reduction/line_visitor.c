#include "runtime/kernels/reduction/line_visitor.h"

#include "runtime/kernels/core/strided_iterator.h"
#include "runtime/kernels/views/strided_view.h"

static bool start(etx_strided_iterator* it, const etx_tensor* const tensors[3],
                  size_t dimension, etx_index_line* line) {
  line->dtype = tensors[0]->dtype;
  line->bytes = etx_dtype_bytes(line->dtype);
  for (size_t k = 0; k < 3; ++k) {
    etx_strided_view view = etx_strided_view_of(tensors[k]);
    const size_t bytes = etx_dtype_bytes(view.dtype);
    line->steps[k] = 0;
    if (view.rank > 0) {
      if (view.sizes[dimension] == 0) return false;
      line->steps[k] = view.strides[dimension] * (ptrdiff_t)bytes;
      etx_strided_view_select(&view, dimension, 0);
    }
    if (k == 0) etx_strided_iterator_init(it, view.sizes, view.rank);
    etx_strided_iterator_add_strided(it, view.data, bytes, view.strides);
  }
  return etx_strided_iterator_start(it);
}

void etx_index_lines_visit(const etx_tensor* const tensors[3], size_t dimension,
                           void (*visit)(const etx_index_line* line,
                                         void* context),
                           void* context) {
  etx_strided_iterator it;
  etx_index_line line;
  bool more = start(&it, tensors, dimension, &line);
  for (; more; more = etx_strided_iterator_next(&it)) {
    for (size_t k = 0; k < 3; ++k) line.at[k] = it.data[k];
    for (size_t i = 0; i < it.count; ++i) {
      visit(&line, context);
      for (size_t k = 0; k < 3; ++k) line.at[k] += it.stride[k] * it.bytes[k];
    }
  }
}
