// Binary operators on a few float32 elements, or on one int64 element: what the
// compiler inlines into a run function, because the general path costs more
// than the arithmetic. Loops count in such integers.

#ifndef ETX_RUNTIME_KERNELS_ELEMENTWISE_BINARY_SMALL_H
#define ETX_RUNTIME_KERNELS_ELEMENTWISE_BINARY_SMALL_H

#include "runtime/kernel.h"
#include "runtime/kernels/simd/elementwise/binary_loops.h"

// The largest number of elements. With more, the loops of wider instruction
// sets gain more time than the general path costs.
enum { ETX_BINARY_SMALL = 96 };

// Indices in etx_call.prepared where prepare stores the number of elements, and
// for broadcast rows the number that etx_binary_rows_word returns.
enum { ETX_BINARY_SMALL_COUNT = 4, ETX_BINARY_SMALL_ROWS = 5 };

// The run function of an etx_binary_function for two contiguous float32 tensors
// that have as many elements as the result, at most ETX_BINARY_SMALL; NULL if
// there is none. The result is the call's last argument. The results are
// bit-equal to those of the loops.
etx_kernel_function etx_binary_small_of(size_t function);

// The run function for a result of one element whose operands are int64 tensors
// of one element or integers; NULL if there is none.
etx_kernel_function etx_binary_one_integer_of(size_t function);

// How an operand is broadcast to a result of contiguous rows.
typedef enum etx_rows_kind {
  ETX_ROWS_DENSE,   // not broadcast: it has a row for each row of the result
  ETX_ROWS_SAME,    // one row, used for each row of the result
  ETX_ROWS_COLUMN,  // an element for each row
} etx_rows_kind;

// The largest number of elements with operands that are rows or columns.
enum { ETX_BINARY_SMALL_BROADCAST = 256 };

// How the operands are broadcast to rows of `row_elements` elements, packed
// into one number for etx_call.prepared.
int64_t etx_binary_rows_word(size_t row_elements, etx_rows_kind first,
                             etx_rows_kind second);

// As etx_binary_small_of for operands that are rows or columns, at most
// ETX_BINARY_SMALL_BROADCAST elements.
etx_kernel_function etx_binary_small_rows_of(size_t function);

#endif
