// Visits the lines of a tensor along one dimension, together with the same
// lines of the result: what softmax and running sums need.
//
//   step ->
//   a b c d     four lines of three elements each, `stride` apart in a line
//   a b c d     and `step` apart from line to line
//   a b c d
//
// Where step is smaller than stride (any dimension but the last one), many
// lines are to be gone along together, one element of each at a time.

#ifndef ETX_RUNTIME_KERNELS_VIEWS_AXIS_ITERATOR_H
#define ETX_RUNTIME_KERNELS_VIEWS_AXIS_ITERATOR_H

#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/core/strided_iterator.h"

// Lines that are gone along together, and blocks of them: wide enough that
// memory is read in long pieces, few enough for numbers of theirs on the stack.
enum {
  ETX_AXIS_LINE_BLOCKS = 8,
  ETX_AXIS_LINES = ETX_AXIS_LINE_BLOCKS * ETX_BLOCK
};

typedef struct etx_axis_elements {
  char* data;
  ptrdiff_t stride;  // along a line, in elements
  ptrdiff_t step;    // from line to line, in elements
  etx_dtype dtype;
  etx_dtype cast;  // that elements become when loaded (etx_operand_load_as)
} etx_axis_elements;

typedef struct etx_axis_lines {
  etx_axis_elements out;
  etx_axis_elements in;  // may be the same memory
  size_t count;          // elements of each line, at least 1
  size_t width;          // lines, at least 1
} etx_axis_lines;

// Calls `visit` for all lines along `dimension` (rank 0: the one element), in
// groups; those to be gone along together have at most ETX_AXIS_LINES lines.
// Both tensors have the same sizes, but along `dimension` only out's counts.
// Elements are loaded as of out's type.
void etx_axis_iterator_visit(
    const etx_tensor* out, const etx_tensor* in, size_t dimension,
    void (*visit)(const etx_axis_lines* lines, void* context), void* context);

// True if the lines of a group are to be gone along together.
bool etx_axis_lines_are_interleaved(const etx_axis_lines* lines);

// Lines of block `b` of a group that is gone along together.
static inline size_t etx_axis_lines_in_block(const etx_axis_lines* lines,
                                             size_t b) {
  const size_t left = lines->width - b * ETX_BLOCK;
  return left < ETX_BLOCK ? left : ETX_BLOCK;
}

// Elements [start, start + count) of line `line`, or element `at` of `count`
// lines from the first of block `b` on, at most ETX_BLOCK: where they lie if
// they do so densely and have the wide type, else in `block`.
const void* etx_axis_line_read(const etx_axis_elements* from, size_t line,
                               size_t start, size_t count,
                               etx_compute_type wide, etx_block* block);
const void* etx_axis_across_read(const etx_axis_elements* from, size_t b,
                                 size_t at, size_t count, etx_compute_type wide,
                                 etx_block* block);

// Where such elements are to be written: in place or in `block`, which is then
// to be stored.
void* etx_axis_line_target(const etx_axis_elements* to, size_t line,
                           size_t start, etx_compute_type wide,
                           etx_block* block);
void* etx_axis_across_target(const etx_axis_elements* to, size_t b, size_t at,
                             etx_compute_type wide, etx_block* block);
// Stores what was written to `target`, unless it was in place.
void etx_axis_line_store(const etx_axis_elements* to, size_t line, size_t start,
                         size_t count, etx_compute_type wide,
                         const etx_block* block, const void* target);
void etx_axis_across_store(const etx_axis_elements* to, size_t b, size_t at,
                           size_t count, etx_compute_type wide,
                           const etx_block* block, const void* target);

#endif
