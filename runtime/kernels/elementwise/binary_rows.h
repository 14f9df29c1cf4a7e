// An iteration over two operands and a result, row by row, with one of the
// loops of binary_ops.def. Rows whose operands have the wide type and lie
// densely go through the loop in one piece, others pass through blocks
// (convert.h).

#ifndef ETX_RUNTIME_KERNELS_ELEMENTWISE_BINARY_ROWS_H
#define ETX_RUNTIME_KERNELS_ELEMENTWISE_BINARY_ROWS_H

#include "runtime/kernels/simd/elementwise/binary_loops.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/core/strided_iterator.h"

// What all rows of a run share. Index 0 is the result, 1 and 2 the operands.
typedef struct etx_binary {
  size_t row;           // of binary_ops.def
  etx_dtype common;     // what is computed
  etx_dtype dtypes[3];  // in memory
  etx_dtype as[3];      // what an operand is cut to
  etx_scalar parameter;
  etx_binary_loop loop;
} etx_binary;

// The loop of a row; NULL: not for this type.
etx_binary_loop etx_binary_loop_of(size_t row, etx_compute_type wide);

// True if the result is a truth value.
bool etx_binary_is_comparison(size_t row);

// A run in which everything has the type `common`.
etx_binary etx_binary_of(size_t row, etx_dtype common);

// Runs over an iterator that has the result and both operands, not yet started.
void etx_binary_run(const etx_binary* binary, etx_strided_iterator* it);

#endif
