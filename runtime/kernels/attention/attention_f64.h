// Attention in double, which no model waits for.

#ifndef ETX_RUNTIME_KERNELS_ATTENTION_ATTENTION_F64_H
#define ETX_RUNTIME_KERNELS_ATTENTION_ATTENTION_F64_H

#include "runtime/kernels/attention/attention_args.h"

// A row of double attention; `sums` has room for value_width numbers.
// Positions are of batches as etx_attention_at (attention_tile.h) counts
// them.
void etx_attention_row_f64(const etx_attention* attention, size_t batch,
                           size_t row, double* sums);

#endif
