// Operators with two float operands on a few elements, where finding out what
// to do costs more than doing it.

#ifndef ETX_RUNTIME_KERNELS_ELEMENTWISE_BINARY_SMALL_H
#define ETX_RUNTIME_KERNELS_ELEMENTWISE_BINARY_SMALL_H

#include "runtime/kernel.h"
#include "runtime/kernels/simd/elementwise/binary_loops.h"

// Up to so many elements: from there on the loops of the widest registers gain
// more than the way to them costs.
enum { ETX_BINARY_SMALL = 96 };

// Where prepare leaves the number of elements, in etx_call.prepared, and for
// rows what etx_binary_rows_word gives.
enum { ETX_BINARY_SMALL_COUNT = 4, ETX_BINARY_SMALL_ROWS = 5 };

// What runs a row of binary_ops.def for two float32 tensors that lie densely
// and have the result's elements each, at most ETX_BINARY_SMALL, and a result
// that is the call's last argument; NULL: not that row. Same bits as the loops.
etx_kernel_function etx_binary_small_of(size_t row);

// How an operand lies beside a result of dense rows.
typedef enum etx_rows_kind {
  ETX_ROWS_DENSE,   // as the result
  ETX_ROWS_SAME,    // one row, met by each row of the result
  ETX_ROWS_COLUMN,  // an element for each row
} etx_rows_kind;

// Up to so many elements with operands that are rows or columns.
enum { ETX_BINARY_SMALL_BROADCAST = 256 };

// The rows of a result of at most ETX_BINARY_SMALL_BROADCAST elements.
int64_t etx_binary_rows_word(size_t row_elements, etx_rows_kind first,
                             etx_rows_kind second);

// As etx_binary_small_of for operands that are rows or columns.
etx_kernel_function etx_binary_small_rows_of(size_t row);

#endif
