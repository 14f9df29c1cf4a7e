// Reads the parameters p, q and r of a loop with one operand (unary_ops.def)
// from the arguments of a call. This is done at every run, since numbers may
// change between runs.

#ifndef ETX_RUNTIME_KERNELS_ELEMENTWISE_UNARY_PARAMETERS_H
#define ETX_RUNTIME_KERNELS_ELEMENTWISE_UNARY_PARAMETERS_H

#include "runtime/kernels/core/operand.h"
#include "runtime/kernels/simd/elementwise/unary_loops.h"

typedef enum etx_unary_reader {
  ETX_UNARY_READS_NOTHING,
  ETX_UNARY_READS_BOUNDS,        // p min, q max; None is infinite
  ETX_UNARY_READS_ZERO_SIX,      // p 0, q 6
  ETX_UNARY_READS_SLOPE,         // p slope, q its rounding error in float32
  ETX_UNARY_READS_SOFTPLUS,      // p beta, q threshold
  ETX_UNARY_READS_ELU,           // p scale, q alpha times scale, r input scale
  ETX_UNARY_READS_REPLACEMENTS,  // p of NaN, q and r of the infinities
  ETX_UNARY_READS_MARGIN,        // p eps, q 1 - eps; None is infinite
  ETX_UNARY_READER_COUNT
} etx_unary_reader;

typedef void (*etx_unary_read)(const etx_call* call, etx_dtype common,
                               etx_scalar out[ETX_UNARY_PARAMETERS]);

// Indexed by etx_unary_reader.
extern const etx_unary_read etx_unary_readers[ETX_UNARY_READER_COUNT];

#endif
