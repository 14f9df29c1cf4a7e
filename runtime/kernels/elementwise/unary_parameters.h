// How an operator with one operand reads the parameters p, q and r of its loop
// from its arguments: at every run, since numbers may change between runs.

#ifndef ETX_RUNTIME_KERNELS_ELEMENTWISE_UNARY_PARAMETERS_H
#define ETX_RUNTIME_KERNELS_ELEMENTWISE_UNARY_PARAMETERS_H

#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/simd/elementwise/unary_loops.h"

typedef enum etx_unary_reader {
  ETX_UNARY_READS_NOTHING,
  ETX_UNARY_READS_BOUNDS,        // p and q are arguments 1 and 2; None is far
  ETX_UNARY_READS_ZERO_SIX,      // p is 0, q is 6
  ETX_UNARY_READS_SLOPE,         // p is argument 1, q what p has no room for
  ETX_UNARY_READS_PAIR,          // p and q are arguments 1 and 2
  ETX_UNARY_READS_ELU,           // p scale, q alpha times scale, r input scale
  ETX_UNARY_READS_REPLACEMENTS,  // of NaN and the infinities, or None
  ETX_UNARY_READS_MARGIN,        // p is argument 1, q is 1 - p; None is far
  ETX_UNARY_READER_COUNT
} etx_unary_reader;

typedef void (*etx_unary_read)(const etx_call* call, etx_dtype common,
                               etx_scalar out[ETX_UNARY_PARAMETERS]);

// By reader.
extern const etx_unary_read etx_unary_readers[ETX_UNARY_READER_COUNT];

#endif
