// Attention in float64.

#ifndef ETX_RUNTIME_KERNELS_ATTENTION_ATTENTION_F64_H
#define ETX_RUNTIME_KERNELS_ATTENTION_ATTENTION_F64_H

#include "runtime/kernels/attention/attention_args.h"

// Computes one query row. `batch` is the flat index over all batch dimensions.
// `sums` is workspace for value_width numbers.
void etx_attention_row_f64(const etx_attention* attention, size_t batch,
                           size_t row, double* sums);

#endif
