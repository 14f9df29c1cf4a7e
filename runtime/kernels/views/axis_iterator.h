// Visits the lines of a tensor along one dimension, together with the same
// lines of the result, for softmax and cumulative operators.
//
//   step ->
//   a b c d     four lines of three elements each, `stride` apart in a line
//   a b c d     and `step` apart from line to line
//   a b c d
//
// Where step is smaller than stride (any dimension but the last one), a kernel
// should process many lines together, one element of each at a time, because
// neighbours in memory belong to different lines. Such lines are interleaved.

#ifndef ETX_RUNTIME_KERNELS_VIEWS_AXIS_ITERATOR_H
#define ETX_RUNTIME_KERNELS_VIEWS_AXIS_ITERATOR_H

#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/core/strided_iterator.h"

// Interleaved lines of a group, and blocks of them: enough for long reads of
// memory, few enough for an accumulator of each on the stack.
enum {
  ETX_AXIS_LINE_BLOCKS = 6,
  ETX_AXIS_LINES = ETX_AXIS_LINE_BLOCKS * ETX_BLOCK
};

typedef struct etx_axis_elements {
  char* data;
  ptrdiff_t stride;  // along a line, in elements
  ptrdiff_t step;    // from line to line, in elements
  etx_dtype dtype;
  etx_dtype cast;  // elements are converted to it first (etx_operand_load_as)
} etx_axis_elements;

typedef struct etx_axis_lines {
  etx_axis_elements out;
  etx_axis_elements in;  // may be the same memory
  size_t count;          // elements of each line, at least 1
  size_t width;          // lines, at least 1
} etx_axis_lines;

// Calls `visit` for all lines along `dimension` (rank 0: the one element), in
// groups; a group of interleaved lines has at most ETX_AXIS_LINES. Both tensors
// have the same sizes, but along `dimension` the size of `out` is used.
// Elements are converted to the type of `out` when they are loaded.
void etx_axis_iterator_visit(
    const etx_tensor* out, const etx_tensor* in, size_t dimension,
    void (*visit)(const etx_axis_lines* lines, void* context), void* context);

// True if the lines of a group are interleaved.
bool etx_axis_lines_are_interleaved(const etx_axis_lines* lines);

// Lines of block `b` of a group of interleaved lines.
static inline size_t etx_axis_lines_in_block(const etx_axis_lines* lines,
                                             size_t b) {
  const size_t left = lines->width - b * ETX_BLOCK;
  return left < ETX_BLOCK ? left : ETX_BLOCK;
}

// Elements [start, start + count) of line `line`, or element `at` of the
// `count` lines of block `b`; count is at most ETX_BLOCK. The result points
// into the tensor if the elements are contiguous and have the compute type,
// else to `block`.
const void* etx_axis_line_read(const etx_axis_elements* from, size_t line,
                               size_t start, size_t count,
                               etx_compute_type compute, etx_block* block);
const void* etx_axis_across_read(const etx_axis_elements* from, size_t b,
                                 size_t at, size_t count,
                                 etx_compute_type compute, etx_block* block);

// The address to write such elements to: the tensor under the same condition,
// else `block`, which must then be stored.
void* etx_axis_line_target(const etx_axis_elements* to, size_t line,
                           size_t start, etx_compute_type compute,
                           etx_block* block);
void* etx_axis_across_target(const etx_axis_elements* to, size_t b, size_t at,
                             etx_compute_type compute, etx_block* block);
// Stores `block` if the target was `block`, else does nothing.
void etx_axis_line_store(const etx_axis_elements* to, size_t line, size_t start,
                         size_t count, etx_compute_type compute,
                         const etx_block* block);
void etx_axis_across_store(const etx_axis_elements* to, size_t b, size_t at,
                           size_t count, etx_compute_type compute,
                           const etx_block* block);

#endif
