#include "runtime/kernels/lines.h"

#include "runtime/kernels/strided_view.h"

void etx_lines_visit(const etx_tensor* out, const etx_tensor* in,
                     size_t dimension, void (*visit)(const etx_line* line)) {
  etx_view to = etx_view_of(out), from = etx_view_of(in);
  etx_line line = {.count = 1, .out_dtype = out->dtype, .in_dtype = in->dtype};
  if (out->rank > 0) {
    line.count = (size_t)to.sizes[dimension];
    line.out_stride = to.strides[dimension];
    line.in_stride = from.strides[dimension];
    etx_view_select(&to, dimension, 0);
    etx_view_select(&from, dimension, 0);
  }
  if (line.count == 0) return;
  etx_walk walk;
  etx_walk_init(&walk, to.sizes, to.rank);
  etx_walk_add_strided(&walk, to.data, etx_dtype_bytes(to.dtype), to.strides);
  etx_walk_add_strided(&walk, from.data, etx_dtype_bytes(from.dtype),
                       from.strides);
  for (bool more = etx_walk_start(&walk); more; more = etx_walk_next(&walk)) {
    line.out = walk.data[0];
    line.in = walk.data[1];
    for (size_t i = 0; i < walk.count; ++i) {
      visit(&line);
      line.out += walk.stride[0] * walk.bytes[0];
      line.in += walk.stride[1] * walk.bytes[1];
    }
  }
}
