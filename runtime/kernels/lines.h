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

#ifndef ETX_RUNTIME_KERNELS_LINES_H
#define ETX_RUNTIME_KERNELS_LINES_H

#include "runtime/kernels/operand.h"
#include "runtime/kernels/walk.h"

typedef struct etx_elements {
  char* data;
  ptrdiff_t stride;  // along a line, in elements
  ptrdiff_t step;    // from line to line, in elements
  etx_dtype dtype;
  etx_dtype cast;  // that elements become when loaded (etx_operand_load_as)
} etx_elements;

typedef struct etx_lines {
  etx_elements out;
  etx_elements in;  // may be the same memory
  size_t count;     // elements of each line, at least 1
  size_t width;     // lines, at least 1
} etx_lines;

// Calls `visit` for all lines along `dimension` (rank 0: the one element), in
// groups; those to be gone along together have at most ETX_BLOCK lines. Both
// tensors have the same sizes, but along `dimension` only out's counts.
// Elements are loaded as of out's type.
void etx_lines_visit(const etx_tensor* out, const etx_tensor* in,
                     size_t dimension,
                     void (*visit)(const etx_lines* lines, void* context),
                     void* context);

// True if the lines of a group are to be gone along together.
bool etx_lines_go_across(const etx_lines* lines);

// Loads and stores elements [start, start + count) of line `line`.
void etx_line_load(const etx_elements* from, size_t line, size_t start,
                   size_t count, etx_wide wide, etx_block* out);
void etx_line_store(const etx_elements* to, size_t line, size_t start,
                    size_t count, etx_wide wide, const etx_block* in);

// Loads and stores element `at` of `count` lines from the first on.
void etx_across_load(const etx_elements* from, size_t at, size_t count,
                     etx_wide wide, etx_block* out);
void etx_across_store(const etx_elements* to, size_t at, size_t count,
                      etx_wide wide, const etx_block* in);

#endif
