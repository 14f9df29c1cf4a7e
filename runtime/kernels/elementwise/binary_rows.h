// Runs one loop of binary_ops.def over two operands and a result, row by row.
// Rows whose operands have the compute type and are contiguous go through the
// loop in one call; others pass through blocks (convert.h).

#ifndef ETX_RUNTIME_KERNELS_ELEMENTWISE_BINARY_ROWS_H
#define ETX_RUNTIME_KERNELS_ELEMENTWISE_BINARY_ROWS_H

#include "runtime/kernels/simd/elementwise/binary_loops.h"
#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/core/strided_iterator.h"

// One run over all elements. Index 0 is the result, 1 and 2 are the operands.
typedef struct etx_binary {
  size_t function;      // etx_binary_function
  etx_dtype common;     // the type whose compute type is computed in
  etx_dtype dtypes[3];  // in memory
  etx_dtype as[3];      // the type that an operand is rounded to
  etx_scalar parameter;
  etx_binary_loop loop;
} etx_binary;

// The loop of a function; NULL if it has none for this type.
etx_binary_loop etx_binary_loop_of(size_t function, etx_compute_type compute);

// True if the result is bool.
bool etx_binary_is_comparison(size_t function);

// A run in which operands and result have the type `common`.
etx_binary etx_binary_of(size_t function, etx_dtype common);

// Runs over an iterator that has the result and both operands and is not
// started.
void etx_binary_run(const etx_binary* binary, etx_strided_iterator* it);

#endif
