#include "runtime/kernels/views/axis_iterator.h"

#include "runtime/kernels/views/strided_view.h"

static ptrdiff_t magnitude(ptrdiff_t x) { return x < 0 ? -x : x; }

bool etx_axis_lines_are_interleaved(const etx_axis_lines* lines) {
  return lines->width > 1 &&
         magnitude(lines->in.step) < magnitude(lines->in.stride);
}

static char* element_at(const etx_axis_elements* elements, size_t line,
                        size_t at) {
  const ptrdiff_t bytes = (ptrdiff_t)etx_dtype_bytes(elements->dtype);
  return elements->data +
         ((ptrdiff_t)line * elements->step + (ptrdiff_t)at * elements->stride) *
             bytes;
}

// True if elements `stride` apart can be read or written in the tensor.
static bool is_in_place(const etx_axis_elements* elements, ptrdiff_t stride,
                        etx_compute_type compute) {
  return stride == 1 && elements->dtype == etx_compute_type_dtype(compute);
}

static const void* read(const etx_axis_elements* from, const void* data,
                        ptrdiff_t stride, size_t count,
                        etx_compute_type compute, etx_block* block) {
  if (is_in_place(from, stride, compute)) return data;
  const etx_operand_source source = {data, stride, from->dtype, from->cast};
  etx_operand_load_as(block, compute, &source, count);
  return block;
}

const void* etx_axis_line_read(const etx_axis_elements* from, size_t line,
                               size_t start, size_t count,
                               etx_compute_type compute, etx_block* block) {
  return read(from, element_at(from, line, start), from->stride, count, compute,
              block);
}
const void* etx_axis_across_read(const etx_axis_elements* from, size_t b,
                                 size_t at, size_t count,
                                 etx_compute_type compute, etx_block* block) {
  return read(from, element_at(from, b * ETX_BLOCK, at), from->step, count,
              compute, block);
}

void* etx_axis_line_target(const etx_axis_elements* to, size_t line,
                           size_t start, etx_compute_type compute,
                           etx_block* block) {
  const bool in_place = is_in_place(to, to->stride, compute);
  return in_place ? (void*)element_at(to, line, start) : block;
}
void* etx_axis_across_target(const etx_axis_elements* to, size_t b, size_t at,
                             etx_compute_type compute, etx_block* block) {
  const bool in_place = is_in_place(to, to->step, compute);
  return in_place ? (void*)element_at(to, b * ETX_BLOCK, at) : block;
}

void etx_axis_line_store(const etx_axis_elements* to, size_t line, size_t start,
                         size_t count, etx_compute_type compute,
                         const etx_block* block) {
  if (is_in_place(to, to->stride, compute)) return;
  etx_block_store(block, compute, to->dtype, element_at(to, line, start),
                  to->stride, count);
}
void etx_axis_across_store(const etx_axis_elements* to, size_t b, size_t at,
                           size_t count, etx_compute_type compute,
                           const etx_block* block) {
  if (is_in_place(to, to->step, compute)) return;
  etx_block_store(block, compute, to->dtype, element_at(to, b * ETX_BLOCK, at),
                  to->step, count);
}

// Visits the lines of one row of the iterator over the other dimensions.
static void visit_row(etx_axis_lines* lines, size_t width,
                      void (*visit)(const etx_axis_lines* lines, void* context),
                      void* context) {
  lines->width = width;
  const bool is_bounded = etx_axis_lines_are_interleaved(lines);
  while (width > 0) {
    lines->width =
        is_bounded && width > ETX_AXIS_LINES ? ETX_AXIS_LINES : width;
    visit(lines, context);
    lines->out.data = element_at(&lines->out, lines->width, 0);
    lines->in.data = element_at(&lines->in, lines->width, 0);
    width -= lines->width;
  }
}

void etx_axis_iterator_visit(
    const etx_tensor* out, const etx_tensor* in, size_t dimension,
    void (*visit)(const etx_axis_lines* lines, void* context), void* context) {
  etx_strided_view to = etx_strided_view_of(out),
                   from = etx_strided_view_of(in);
  etx_axis_lines lines = {.count = 1};
  lines.out.dtype = lines.out.cast = lines.in.cast = out->dtype;
  lines.in.dtype = in->dtype;
  if (out->rank > 0) {
    lines.count = (size_t)to.sizes[dimension];
    lines.out.stride = to.strides[dimension];
    lines.in.stride = from.strides[dimension];
    etx_strided_view_select(&to, dimension, 0);
    etx_strided_view_select(&from, dimension, 0);
  }
  if (lines.count == 0) return;
  etx_strided_iterator it;
  etx_strided_iterator_init(&it, to.sizes, to.rank);
  etx_strided_iterator_add_strided(&it, to.data, etx_dtype_bytes(to.dtype),
                                   to.strides);
  etx_strided_iterator_add_strided(&it, from.data, etx_dtype_bytes(from.dtype),
                                   from.strides);
  for (bool more = etx_strided_iterator_start(&it); more;
       more = etx_strided_iterator_next(&it)) {
    lines.out.data = it.data[0];
    lines.in.data = it.data[1];
    lines.out.step = it.stride[0];
    lines.in.step = it.stride[1];
    visit_row(&lines, it.count, visit, context);
  }
}
